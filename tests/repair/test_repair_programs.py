"""Programs as they are really sent:

broken by where they came from. Each is run, mended, and run again in the sandbox.
"""

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
def test_a_broken_program_is_mended_and_prints_what_it_was_to_print(
    box: Sandbox, one: dict[str, str]
) -> None:
    told = run_program(box, Execution(code=one["code"]))[0]

    assert (told.status, told.fixed, told.stdout) == ("fixed", True, one["prints"]), told.error
    assert {
        part for attempt in told.attempts if attempt.repair for part in [attempt.repair]
    } >= set(one["repairs"].split(", "))
    assert told.diff
    assert told.attempts[-1].outcome == "ok"


def test_every_family_mends_some_program() -> None:
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
