"""Ranges of events that are erased together."""

from __future__ import annotations

from dataclasses import dataclass

ALL_TIME_MS = (-(1 << 62), 1 << 62)


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseRange:
    """A set of events of a space.

    Rows from `low` up to but not including `high`, of one session or all, that occurred in a
    period.
    """

    space_id: int
    low: int
    high: int
    session: int | None = None
    after_ms: int = ALL_TIME_MS[0]
    before_ms: int = ALL_TIME_MS[1]

    @property
    def values(self) -> dict[str, int | None]:
        """The values for the statements."""
        rows = {"low": self.low, "high": self.high, "session": self.session}
        return {**rows, "after_ms": self.after_ms, "before_ms": self.before_ms}
