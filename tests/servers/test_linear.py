"""The linearizability checks: violations are detected, valid histories are accepted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.testing.linear import CounterRead, SwitchRead, not_one_counter, not_one_switch

COUNTED: dict[str, tuple[list[tuple[float, float, int | None]], list[str]]] = {
    "sequential calls count up": ([(0, 1, 1), (2, 3, 2)], []),
    "concurrent calls can be counted in any order": ([(0, 3, 2), (1, 2, 1)], []),
    "a lost response can explain a missing number": ([(0, 1, 1), (0, 9, None), (2, 3, 3)], []),
    "a duplicate number": ([(0, 1, 1), (0, 1, 1)], ["1 was given 2 times"]),
    "a missing number": (
        [(0, 1, 1), (2, 3, 3)],
        ["1 numbers are missing, 0 answers were lost: [2]"],
    ),
    "a number smaller than an earlier one": (
        [(0, 1, 2), (2, 3, 1)],
        ["1 was asked for after 2 had been given"],
    ),
    "a count that does not start at 1": ([(0, 1, 0), (2, 3, 1)], ["0 is not counted from 1"]),
}
SWITCHED: dict[str, tuple[list[tuple[float, float, bool]], int]] = {
    "on or off while it changes": ([(0, 1, True), (2, 5, True), (2, 5, False), (6, 7, False)], 0),
    "on after it was turned off": ([(5, 6, True)], 1),
    "off before it was turned off": ([(0, 1, False)], 1),
    "on after it was seen off": ([(3, 3.2, False), (3.5, 3.8, True)], 1),
}


@pytest.mark.parametrize(("reads", "wrong"), COUNTED.values(), ids=COUNTED)
def test_violations_of_one_counter_are_detected(
    reads: list[tuple[float, float, int | None]], wrong: list[str]
) -> None:
    assert not_one_counter([CounterRead(*read) for read in reads]) == wrong


@pytest.mark.parametrize(("reads", "violations"), SWITCHED.values(), ids=SWITCHED)
def test_violations_of_a_switch_turned_off_between_3_and_4_are_detected(
    reads: list[tuple[float, float, bool]], violations: int
) -> None:
    wrong = not_one_switch([SwitchRead(*read) for read in reads], turned_off=(3, 4))

    assert len(wrong) == violations


@given(
    st.lists(
        st.tuples(st.floats(0, 100), st.floats(0, 5), st.floats(0, 5), st.booleans()), max_size=60
    )
)
def test_responses_of_one_counter_are_accepted(
    moments: list[tuple[float, float, float, bool]],
) -> None:
    """Each call takes effect between its start and end; some responses are lost."""
    calls = [
        CounterRead(at - before, at + after, None if is_lost else value)
        for value, (at, before, after, is_lost) in enumerate(sorted(moments), start=1)
    ]

    assert not_one_counter(calls) == []


@given(st.lists(st.floats(0, 100), min_size=2, max_size=30, unique=True), st.data())
def test_swapped_responses_of_sequential_calls_are_detected(
    moments: list[float], data: st.DataObject
) -> None:
    calls = [CounterRead(at, at, value) for value, at in enumerate(sorted(moments), start=1)]
    one, other = sorted(
        data.draw(st.lists(st.sampled_from(range(len(calls))), min_size=2, max_size=2, unique=True))
    )
    values = [call.value for call in calls]
    values[one], values[other] = values[other], values[one]

    swapped = [replace(call, value=value) for call, value in zip(calls, values, strict=True)]
    assert not_one_counter(swapped)
