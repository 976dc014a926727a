"""The tasks of the lesson benchmark: only the right idiom passes, and only the right rules lead to
it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sandboxes import SharedSandbox

from bench.lesson_programs import NAIVE, RIGHT, Advice, Family, families
from bench.lessons import arms
from remembrancer.cubes import publishing
from remembrancer.sandbox.sandbox import Sandbox
from remembrancer.settings import Settings

FAMILIES = families()
# Runs programs one after the other, each with names of its own.
_ALL = """
import json
passed = {}
for name, program in json.loads(PROGRAMS):
    try:
        exec(program, {"__name__": "program"})
        passed[name] = True
    except Exception as error:
        passed[name] = False
print(json.dumps(passed))
"""
each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.family)


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    """Return a sandbox that other tests of this process share."""
    folder: Path = tmp_path_factory.mktemp("programs")
    return SharedSandbox(Settings(data=folder))


def texts(advice: Advice) -> dict[str, str]:
    """Return the texts that publication checks."""
    return {"topic": advice.topic, "essence": advice.essence, "rules": advice.rules}


@each_family
def test_only_the_right_idiom_passes_every_task(sandbox: Sandbox, family: Family) -> None:
    programs = [
        (f"{idiom.name}: {task.name}", family.program(task, idiom.name))
        for idiom in family.idioms
        for task in family.tasks
    ]
    run = sandbox.run(f"PROGRAMS = {json.dumps(programs)!r}\n{_ALL}", seconds=20)

    passed = json.loads(run.stdout)
    assert [name for name, _ in programs if passed[name] != name.startswith(f"{RIGHT}:")] == []


def test_failing_program_fails_in_a_run_of_its_own(sandbox: Sandbox) -> None:
    """The programs of a batch share a process; these do not."""
    family = FAMILIES[0]
    exit_codes = [
        sandbox.run(family.program(family.tasks[0], idiom)).exit_code for idiom in (NAIVE, RIGHT)
    ]

    assert exit_codes == [1, 0]


@each_family
def test_rules_lead_to_their_idiom_only(family: Family) -> None:
    assert family.choose([family.lesson.rules]) == RIGHT
    assert family.choose([family.harmful.rules]) not in {NAIVE, RIGHT, None}
    assert family.choose([]) is None


@each_family
def test_rules_of_other_families_lead_nowhere(family: Family) -> None:
    others = [
        advice.rules
        for other in FAMILIES
        for advice in (other.lesson, other.harmful)
        if other.family != family.family
    ]

    assert family.choose(others) is None


@each_family
def test_lessons_may_be_published(family: Family) -> None:
    assert [publishing.refusal(texts(one)) for one in (family.lesson, family.harmful)] == [
        None,
        None,
    ]


@each_family
def test_family_begins_with_the_naive_idiom_and_has_six_tasks(family: Family) -> None:
    names = [idiom.name for idiom in family.idioms]

    assert names[0] == NAIVE
    assert names[-1] == RIGHT
    assert len(names) >= 3
    assert len({task.name for task in family.tasks}) >= 6
    assert 0.1 <= family.guess <= 0.4


def test_there_are_enough_families_and_tasks() -> None:
    assert len({family.family for family in FAMILIES}) >= 12
    assert sum(len(family.tasks) for family in FAMILIES) >= 72


def test_shuffled_lessons_leave_no_task_its_own_rules() -> None:
    """The control arm of bench/lessons.py."""
    servers = arms(FAMILIES)["shuffled"]

    assert sorted(name for lessons in servers for name in lessons) == sorted(
        family.family for family in FAMILIES
    )
    for lessons in servers:
        rules = [advice.rules for advice in lessons.values()]
        own = [family for family in FAMILIES if family.family in lessons]
        assert [family.family for family in own if family.choose(rules)] == []
