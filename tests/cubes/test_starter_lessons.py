"""The lessons of the service hold: without them a program fails, with them it succeeds."""

from __future__ import annotations

import importlib.util
import json
import re
from typing import get_args

import pytest
from sandboxes import SharedSandbox

from remembrancer.cubes.publishing import refusal
from remembrancer.cubes.starter import StarterLesson, load_starter
from remembrancer.protocol.line import CubeKind
from remembrancer.settings import Settings

LESSONS = load_starter()
RULES_MAX = 3
WITH_PANDAS = [one for one in LESSONS if "import pandas" in one.fails]
PLAIN = [one for one in LESSONS if one not in WITH_PANDAS]
RUN_EACH = """
import json

outcomes = []
for code in PROGRAMS:
    try:
        exec(compile(code, "<program>", "exec"), {})
    except Exception as error:
        outcomes.append(f"{type(error).__name__}: {error}")
    else:
        outcomes.append("ok")
print(json.dumps(outcomes))
"""
_RULE = re.compile(r"- .*\b(?:MUST|SHALL)\b.*")

each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=[one.name for one in LESSONS])


@pytest.fixture(scope="module")
def sandbox() -> SharedSandbox:
    """Return a sandbox of default settings."""
    return SharedSandbox(Settings())


@pytest.mark.parametrize("lesson", PLAIN, ids=[one.name for one in PLAIN])
def test_program_fails_until_it_follows_the_lesson(
    sandbox: SharedSandbox, lesson: StarterLesson
) -> None:
    before, after = sandbox.run(lesson.fails), sandbox.run(lesson.passes)

    assert before.error is not None
    assert re.search(lesson.error, f"{before.error['type']}: {before.error['message']}")
    assert (after.exit_code, after.error) == (0, None)


@pytest.mark.skipif(
    not importlib.util.find_spec("pandas"), reason="needs pandas: the extra `sandbox`"
)
def test_programs_with_pandas_fail_until_they_follow_the_lesson(sandbox: SharedSandbox) -> None:
    """All in one run, because pandas takes more than a second to import."""
    programs = [code for one in WITH_PANDAS for code in (one.fails, one.passes)]
    run = sandbox.run(RUN_EACH.replace("PROGRAMS", repr(programs)), seconds=60)
    assert run.error is None, run.error
    outcomes = json.loads(run.stdout)

    assert [
        lesson.name
        for lesson, before, after in zip(WITH_PANDAS, outcomes[::2], outcomes[1::2], strict=True)
        if after != "ok" or not re.search(lesson.error, before)
    ] == []


@each_lesson
def test_lesson_may_be_published_and_its_programs_end_alike(lesson: StarterLesson) -> None:
    """It meets the rules for lessons of others. The program that passes must not expect less."""
    texts = {name: getattr(lesson, name) for name in ("topic", "essence", "rules", "evidence")}
    rules, assertion = lesson.rules.splitlines(), lesson.fails.splitlines()[-1]

    assert refusal(texts) is None
    assert lesson.kind in get_args(CubeKind)
    assert 1 <= len(rules) <= RULES_MAX
    assert [rule for rule in rules if not _RULE.fullmatch(rule)] == []
    assert assertion.startswith("assert ")
    assert lesson.passes.splitlines()[-1] == assertion
