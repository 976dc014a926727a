"""Broken programs as users send them, repaired by rule in the real sandbox."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remembrancer.protocol.execution import Execution
from remembrancer.repair.programs import run_program
from remembrancer.repair.rules import repair as mend
from remembrancer.sandbox.sandbox import Sandbox

BROKEN = json.loads(Path(__file__).with_name("broken-programs.json").read_text("utf-8"))


@pytest.mark.parametrize("one", BROKEN, ids=lambda one: one["what"])
def test_broken_program_is_repaired_and_prints_the_expected_output(
    box: Sandbox, one: dict[str, str]
) -> None:
    """Errors of pasted programs are repaired (specification.md#repair-by-rule)."""
    outcome = run_program(box, Execution(code=one["code"]))[0]

    assert (outcome.status, outcome.fixed, outcome.stdout) == ("fixed", True, one["prints"]), (
        outcome.error
    )
    assert {
        part for attempt in outcome.attempts if attempt.repair for part in [attempt.repair]
    } >= set(one["repairs"].split(", "))
    assert outcome.diff
    assert outcome.attempts[-1].outcome == "ok"


def test_every_rule_repairs_some_program() -> None:
    families = {name for name, _ in (*mend.SYNTAX_RULES, *mend.RUN_TIME_RULES)}

    assert families - {part for one in BROKEN for part in one["repairs"].split(", ")} == set()


AMBIGUOUS = {
    "two values may be meant": "a, b = 3, 4\nprint('Sum: ' + a + b)\n",
    "decimals may be a number": "n = 3\nprint('2.5' + n)\n",
    "digits may be a number": "n = 3\nprint('2' + n)\n",
    "block may end at two lines": "x = 1\nif x:\nprint('yes')\nprint('end')\n",
    "bracket may belong inside": "print(round(2.567, 1)\n",
    "tuple may be the argument": "print(1, 2))\n",
    "call may be missing": "import io\nprint(io.StringIO('a').read))\n",
    "colon may be missing": "print({'a' 1})\n",
    "quote may end in two places": "name = 'Ada'\nprint('Hello, + name)\n",
    "sum may be of attributes": "size = '2'\nprint(size - 1)\n",
    "value is missing": "ages = {'Ada': 36, 'Alan':}\nprint(ages)\n",
    "condition is missing": "if :\n    print('yes')\n",
    "name is unknown": "print(total)\n",
    "index is unknown": "items = [1]\nprint(items[3])\n",
}


@pytest.mark.parametrize("code", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_program_that_can_mean_two_things_is_left_alone(box: Sandbox, code: str) -> None:
    """Among several changes none is made (specification.md#repair-by-rule)."""
    outcome = run_program(box, Execution(code=code))[0]

    assert (outcome.status, outcome.fixed, outcome.code) == ("failed", False, code)


def test_repair_that_changes_earlier_output_is_refused(box: Sandbox) -> None:
    """Earlier output stays (specification.md#repair-keeps-output)."""
    code = "print('math' in globals())\nprint(math.pi)\n"
    outcome = run_program(box, Execution(code=code))[0]

    assert (outcome.status, outcome.code, outcome.stdout) == ("failed", code, "False\n")
    assert [(one.repair, one.outcome, one.guard) for one in outcome.attempts[1:]] == [
        ("imports", "refused", "drops_output")
    ]


def test_program_whose_output_varies_is_repaired(box: Sandbox) -> None:
    """Only output that never varies must stay (specification.md#repair-keeps-output)."""
    outcome = run_program(
        box, Execution(code="import time\nprint(time.time_ns())\npritn('end')\n")
    )[0]

    assert (outcome.status, outcome.stdout.splitlines()[-1]) == ("fixed", "end")
