"""Parsing of durations such as `30d`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.accounts.durations import DURATION_MS_MAX, duration

UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


READ = {"90s": 90_000, "45m": 2_700_000, "12h": 43_200_000, "30d": 2_592_000_000, "007s": 7_000}
WRONG = ["", "30", "d", "30 d", " 30d", "30d\n", "1.5h", "-1d", "+1d", "30D", "1h30m", "٣d", "30w",
         "0d", "36501d", "9" * 5000 + "d"]  # fmt: skip


@given(st.integers(1, 36_500), st.sampled_from(sorted(UNITS)))
def test_durations_up_to_a_century_are_accepted(number: int, unit: str) -> None:
    assert duration(f"{number}{unit}") == number * UNITS[unit]


def test_number_with_a_unit_is_a_duration_and_nothing_else() -> None:
    assert {text: duration(text) for text in READ} == READ
    for text in WRONG:
        with pytest.raises(ValueError, match="duration"):
            duration(text)


@given(st.text())
def test_any_text_is_a_bounded_duration_or_rejected(text: str) -> None:
    try:
        length_ms = duration(text)
    except ValueError:
        return
    assert 0 < length_ms <= DURATION_MS_MAX
