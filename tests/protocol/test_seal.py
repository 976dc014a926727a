"""The seal: `REM | #<step> | READ | VERIFY | CORRECT | OUTPUT` (specification.md#seal-format)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.protocol.seal import Seal, read_seal, render


@given(st.integers(0, 999_999_999), st.from_regex(r"[^\s|#]{1,32}", fullmatch=True))
def test_seals_round_trip(step: int, name: str) -> None:
    assert read_seal(render(step, name)) == Seal(name, step)


def test_seal_has_the_specified_format() -> None:
    assert render(7) == "REM | #7 | READ | VERIFY | CORRECT | OUTPUT"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "REM",
        "REM | 7 | READ | VERIFY | CORRECT | OUTPUT",
        "REM | #-7 | READ | VERIFY | CORRECT | OUTPUT",
        "REM | #٧ | READ | VERIFY | CORRECT | OUTPUT",
        "REM | #7 | read | verify | correct | output",
        "REM | #7 | READ | VERIFY | OUTPUT | CORRECT",
        "REM | #7 | READ | VERIFY | CORRECT | OUTPUT | MORE",
        "I sealed it: REM | #7 | READ | VERIFY | CORRECT | OUTPUT",
        "REM | #7 | READ | VERIFY | CORRECT | OUTPUT\nREM | #8 | READ | VERIFY | CORRECT | OUTPUT",
        "REM | #9999999999 | READ | VERIFY | CORRECT | OUTPUT",
        "# | #7 | READ | VERIFY | CORRECT | OUTPUT",
    ],
)
def test_malformed_seals_are_rejected(text: str) -> None:
    assert read_seal(text) is None
