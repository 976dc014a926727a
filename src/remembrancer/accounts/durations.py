"""Durations as people write them: `30d`, `12h`, `45m`, `90s`."""

from __future__ import annotations

import re

_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
DURATION_MS_MAX = 36_500 * _UNIT_MS["d"]  # a century; anything longer is probably a typo


def duration(text: str) -> int:
    """Convert a whole number with a unit to milliseconds.

    Raises ValueError for other texts, zero, and more than a century.
    """
    match = re.fullmatch(r"([0-9]{1,12})([smhd])", text)
    if match is None:
        raise ValueError(
            f"{text!r} is not a duration; write a whole number and s, m, h or d, such as 30d"
        )
    length_ms = int(match[1]) * _UNIT_MS[match[2]]
    if not 0 < length_ms <= DURATION_MS_MAX:
        raise ValueError(f"{text!r} is out of range; a duration is 1s to 36500d")
    return length_ms
