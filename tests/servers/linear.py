"""Check that the answers of several servers could have come from one, by the start and end of each
call.

A call takes effect at one moment between the two (Herlihy, Wing, "Linearizability", ACM TOPLAS
1990). For a counter, and for a switch that changes once, sorting decides this without a search.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CounterRead:
    """A call that incremented a counter:

    its start and end on one clock, and its answer; None = the answer was lost.
    """

    began: float
    ended: float
    value: int | None


@dataclass(frozen=True, slots=True)
class SwitchRead:
    """A call that read a switch: its start and end on one clock, and whether it was on."""

    began: float
    ended: float
    was_on: bool


def not_one_counter(calls: Sequence[CounterRead], first: int = 1) -> list[str]:
    """Return one line per answer that a single counter starting at `first` could not have given.

    A call without an answer may have counted, at any time after its start, or not.
    """
    answered = [(call.value, call) for call in calls if call.value is not None]
    values = [value for value, _ in answered]
    errors = [
        f"{value} was given {values.count(value)} times"
        for value in sorted(set(values))
        if values.count(value) > 1
    ]
    last = max(values, default=first - 1)
    missing = set(range(first, last + 1)) - set(values)
    lost = sum(call.value is None for call in calls)
    if len(missing) > lost:
        errors.append(
            f"{len(missing)} numbers are missing, {lost} answers were lost: {sorted(missing)[:5]}"
        )
    errors += [
        f"{value} is not counted from {first}" for value in sorted(set(values)) if value < first
    ]
    return errors + _out_of_order(answered)


def _out_of_order(answered: Iterable[tuple[int, CounterRead]]) -> list[str]:
    """Return the numbers that were given after a greater one was known:

    one sweep, which knows the greatest number known at the start of each call.
    """
    by_beginning = sorted(answered, key=lambda one: one[1].began)
    by_end = sorted(by_beginning, key=lambda one: one[1].ended)
    errors, greatest, ended = [], None, 0
    for value, call in by_beginning:
        while ended < len(by_end) and by_end[ended][1].ended < call.began:
            before = by_end[ended][0]
            greatest = before if greatest is None else max(greatest, before)
            ended += 1
        if greatest is not None and value < greatest:
            errors.append(f"{value} was asked for after {greatest} had been given")
    return errors


def not_one_switch(reads: Iterable[SwitchRead], *, turned_off: tuple[float, float]) -> list[str]:
    """Return one line per read that a single switch, turned off at a moment in that interval, could
    not have answered.

    The switch must be off from the end of the interval; and once one read saw it off, every later
    read must.
    """
    known_off = turned_off[1]
    reads = list(reads)
    errors = [
        f"off at {read.ended:.6f}, turned off from {turned_off[0]:.6f} on"
        for read in reads
        if not read.was_on and read.ended < turned_off[0]
    ]
    known_off = min(
        [
            known_off,
            *(read.ended for read in reads if not read.was_on and read.ended >= turned_off[0]),
        ]
    )
    return errors + [
        f"on at {read.began:.6f}, known to be off from {known_off:.6f} on"
        for read in reads
        if read.was_on and read.began > known_off
    ]
