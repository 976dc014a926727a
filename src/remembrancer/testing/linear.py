"""Whether answers of many servers could have come from one, by when each call began and when its
answer was there.

A call takes effect at one moment between the two (Herlihy, Wing, "Linearizability", ACM TOPLAS
1990). For a counter and for a switch that is turned once this can be decided by sorting, without a
search.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CounterRead:
    """A call that raised a counter by one:

    from when to when, on one clock, and what it gave; None = its answer was lost.
    """

    began: float
    ended: float
    value: int | None


@dataclass(frozen=True, slots=True)
class SwitchRead:
    """A call that looked at a switch: from when to when, on one clock, and whether it was on."""

    began: float
    ended: float
    was_on: bool


def not_one_counter(calls: Sequence[CounterRead], first: int = 1) -> list[str]:
    """What no counter from `first` on could have answered, one line each; empty where one could.

    A call without an answer may have counted, at any time after it began, or not.
    """
    answered = [(call.value, call) for call in calls if call.value is not None]
    values = [value for value, _ in answered]
    found = [
        f"{value} was given {values.count(value)} times"
        for value in sorted(set(values))
        if values.count(value) > 1
    ]
    last = max(values, default=first - 1)
    missing = set(range(first, last + 1)) - set(values)
    lost = sum(call.value is None for call in calls)
    if len(missing) > lost:
        found.append(
            f"{len(missing)} numbers are missing, {lost} answers were lost: {sorted(missing)[:5]}"
        )
    found += [
        f"{value} is not counted from {first}" for value in sorted(set(values)) if value < first
    ]
    return found + _out_of_order(answered)


def _out_of_order(answered: Iterable[tuple[int, CounterRead]]) -> list[str]:
    """Numbers that were given after a greater one had been:

    one sweep, which knows the greatest that was there when each call began.
    """
    by_beginning = sorted(answered, key=lambda one: one[1].began)
    by_end = sorted(by_beginning, key=lambda one: one[1].ended)
    found, greatest, ended = [], None, 0
    for value, call in by_beginning:
        while ended < len(by_end) and by_end[ended][1].ended < call.began:
            before = by_end[ended][0]
            greatest = before if greatest is None else max(greatest, before)
            ended += 1
        if greatest is not None and value < greatest:
            found.append(f"{value} was asked for after {greatest} had been given")
    return found


def not_one_switch(looks: Iterable[SwitchRead], *, turned_off: tuple[float, float]) -> list[str]:
    """Looks at a switch, which was on until it was turned off at some moment of that time, that
    cannot be; one line each.

    Off must be off from the end of that time on; and once somebody saw it off, whoever looks
    afterwards must.
    """
    known_off = turned_off[1]
    looks = list(looks)
    found = [
        f"off at {look.ended:.6f}, turned off from {turned_off[0]:.6f} on"
        for look in looks
        if not look.was_on and look.ended < turned_off[0]
    ]
    known_off = min(
        [
            known_off,
            *(look.ended for look in looks if not look.was_on and look.ended >= turned_off[0]),
        ]
    )
    return found + [
        f"on at {look.began:.6f}, known to be off from {known_off:.6f} on"
        for look in looks
        if look.was_on and look.began > known_off
    ]
