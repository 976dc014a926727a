"""The linearizability checks: violations are detected, valid histories are accepted."""

from __future__ import annotations

import pytest

from .linear import CounterRead, SwitchRead, not_one_counter, not_one_switch

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
