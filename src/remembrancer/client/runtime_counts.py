"""What the runtime counts: how well the agent keeps to the protocol, and what the protocol costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


@dataclass(slots=True)
class Counts:
    """Counted from the first turn on. What could not be done for want of a service is counted apart from what the agent left out."""

    turns: int = 0
    drafts: int = 0
    redrafts: int = 0
    calls: Counter[str] = field(default_factory=Counter)  # of the service, by what they were for
    failures: Counter[str] = field(default_factory=Counter)  # of those calls, by the word of the error
    searched: int = 0
    remembered: int = 0
    remembered_late: int = 0  # turns kept in a later turn, because the service was away
    sealed: int = 0  # first drafts that ended with the right seal
    line_faults: Counter[str] = field(default_factory=Counter)  # by code (docs/reference/service-lines.md)
    cubes_to_rate: int = 0
    cubes_rated: int = 0  # by the agent, 0 included
    cubes_closed: int = 0  # by the runtime, because the agent rated them 0 or not at all
    cubes_made: int = 0
    cubes_refused: int = 0
    looks_passed: int = 0
    looks_failed: int = 0
    looks_missing: int = 0  # drafts that nobody could look at
    summaries_asked: int = 0  # L1s and L2s
    summaries_given: int = 0
    keys_caught: int = 0
    tokens_in: int = 0  # estimated: what the protocol added to the prompts
    tokens_out: int = 0  # estimated: what it added to the replies, and all of what was drafted again
    service_ms: float = 0.0
    draft_ms: float = 0.0

    def compliance(self) -> dict[str, float | None]:
        """Shares from 0 to 1; None while there was nothing to do."""
        return {
            "searched": _share(self.searched, self.turns),
            "remembered": _share(self.remembered + self.remembered_late, self.turns),
            "sealed": _share(self.sealed, self.searched),
            "rated": _share(self.cubes_rated, self.cubes_to_rate),
            "second_look_passed": _share(self.looks_passed, self.looks_passed + self.looks_failed),
            "summaries": _share(self.summaries_given, self.summaries_asked),
        }

    def overhead(self) -> dict[str, float | None]:
        """What a turn costs on average: calls of the service, milliseconds in them, estimated tokens."""
        calls = sum(self.calls.values())
        return {
            "calls": round(calls / self.turns, 2) if self.turns else None,
            "service_ms": round(self.service_ms / self.turns, 2) if self.turns else None,
            "draft_ms": round(self.draft_ms / self.turns, 2) if self.turns else None,
            "tokens_in": round(self.tokens_in / self.turns, 1) if self.turns else None,
            "tokens_out": round(self.tokens_out / self.turns, 1) if self.turns else None,
        }
