"""Counters of the runtime: protocol compliance of the agent and overhead of the protocol."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


def _ratio(part: int, total: int) -> float | None:
    return round(part / total, 4) if total else None


@dataclass(slots=True)
class Counts:
    """Totals since the first turn of a conversation.

    Failures of the service are counted apart from omissions of the agent.
    """

    turns: int = 0
    drafts: int = 0
    redrafts: int = 0
    calls: Counter[str] = field(default_factory=Counter)  # of the service, by purpose
    failures: Counter[str] = field(default_factory=Counter)  # of those calls, by error code
    searches: int = 0
    turns_stopped: int = 0  # because their search failed
    turns_saved: int = 0
    turns_saved_late: int = 0  # saved in a later turn, because the service was unavailable
    valid_seals: int = 0  # first drafts that end with the correct seal
    line_faults: Counter[str] = field(default_factory=Counter)  # docs/reference/service-lines.md
    cubes_to_rate: int = 0
    cubes_rated: int = 0  # by the agent, including ratings of 0
    cubes_closed: int = 0  # by the runtime, because the agent rated them 0 or not at all
    cubes_made: int = 0
    cubes_refused: int = 0
    looks_passed: int = 0
    looks_failed: int = 0
    looks_missing: int = 0  # drafts for which no second look was available
    looks_not_needed: int = 0  # drafts that claim nothing from memory
    summaries_due: int = 0  # L1 and L2 summaries requested from the agent
    summaries_written: int = 0
    keys_caught: int = 0
    tokens_in: int = 0  # estimated tokens that the protocol adds to prompts
    tokens_out: int = 0  # estimated tokens that it adds to replies, plus all tokens of redrafts
    service_ms: float = 0.0
    draft_ms: float = 0.0

    def compliance(self) -> dict[str, float | None]:
        """Return shares from 0 to 1; None where nothing was due."""
        return {
            "searched": _ratio(self.searches, self.turns),
            "remembered": _ratio(self.turns_saved + self.turns_saved_late, self.turns),
            "sealed": _ratio(self.valid_seals, self.searches),
            "rated": _ratio(self.cubes_rated, self.cubes_to_rate),
            "second_look_passed": _ratio(self.looks_passed, self.looks_passed + self.looks_failed),
            "summaries": _ratio(self.summaries_written, self.summaries_due),
        }

    def overhead(self) -> dict[str, float | None]:
        """Return averages per turn: calls, milliseconds and estimated tokens."""
        averages = {
            "calls": (sum(self.calls.values()), 2),
            "service_ms": (self.service_ms, 2),
            "draft_ms": (self.draft_ms, 2),
            "tokens_in": (self.tokens_in, 1),
            "tokens_out": (self.tokens_out, 1),
        }
        if not self.turns:
            return dict.fromkeys(averages)
        return {
            name: round(total / self.turns, digits) for name, (total, digits) in averages.items()
        }
