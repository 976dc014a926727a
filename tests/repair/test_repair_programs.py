"""Broken programs as users send them, repaired by rule in the real sandbox."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remembrancer.protocol.execution import Execution
from remembrancer.repair.programs import run_program
from remembrancer.repair.rules import repair as mend
from remembrancer.sandbox.sandbox import Sandbox

BROKEN = json.loads((Path(__file__).parent / "broken-programs.json").read_text("utf-8"))


@pytest.mark.parametrize("one", BROKEN, ids=lambda one: one["what"])
def test_broken_program_is_repaired_and_prints_the_expected_output(
    box: Sandbox, one: dict[str, str]
) -> None:
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
    families = {
        name
        for name, _ in (
            *mend.COPIED_TEXT_RULES,
            *mend.INDENTATION_RULES,
            *mend.SYNTAX_RULES,
            *mend.NAME_RULES,
        )
    }

    assert families - {part for one in BROKEN for part in one["repairs"].split(", ")} == set()
