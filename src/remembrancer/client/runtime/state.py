"""State of one turn: everything the state machine in `turn.py` reads and changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...protocol.cubes import SharedCube
from ...protocol.lines import LineFault, Lines, Rate
from ...protocol.search import MemoryAnswer
from ..errors import ClientError
from .counts import Counts
from .prompts import ChatMessage
from .session import RuntimeOptions, SessionState
from .steps import ServiceCall, Step, TurnReply


@dataclass(slots=True)
class DraftAttempt:
    """One draft with its checks and its event."""

    text: str
    lines: Lines
    faults: list[LineFault]  # faults of form that require a new draft
    failed_checks: list[str] = field(default_factory=list)
    passed: bool | None = None  # result of the second look; None: there was none
    event_id: str | None = None
    is_saved: bool = False

    @property
    def has_problems(self) -> bool:
        """True if a new draft is needed."""
        return bool(self.failed_checks or self.faults)

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """Sort key: the best draft has the lowest rank."""
        problems = len(self.failed_checks) + len(self.faults)
        return not self.lines.answer, not self.is_saved, problems


@dataclass(slots=True)
class TurnState:
    """State of one turn in progress."""

    session: SessionState
    message: str
    recalled: MemoryAnswer | None = None  # None: memory could not be searched
    messages: list[ChatMessage] = field(default_factory=list)  # the prompt
    attempts: list[DraftAttempt] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # for the user
    remarks: list[str] = field(default_factory=list)  # for the operator
    failures: list[ClientError] = field(default_factory=list)
    rates: dict[str, Rate] = field(default_factory=dict)  # by cube
    votes_to_send: list[Rate] = field(default_factory=list)
    wants_l1: bool = False
    l2_source: str | None = None  # not None: an L2 of this text is wanted
    sent_parts: set[str] = field(default_factory=set)  # parts the service received in this turn
    event_id: str | None = None  # of the latest draft that was saved
    is_saved: bool = False
    tool_results: list[str] = field(default_factory=list)  # of the model's tools
    postponed_keys: set[str] = field(default_factory=set)  # of drafts queued as unsaved

    @property
    def options(self) -> RuntimeOptions:
        """Options of the conversation."""
        return self.session.options

    @property
    def counts(self) -> Counts:
        """Counters of the conversation."""
        return self.session.counts

    @property
    def shared_cubes(self) -> list[SharedCube]:
        """Cubes that the search returned."""
        return list(self.recalled.shared_cubes) if self.recalled else []

    @property
    def new_cube_ids(self) -> list[str]:
        """Ids of cubes that await a rating."""
        return [cube.cube_id for cube in self.shared_cubes if cube.note.startswith("new")]

    @property
    def best(self) -> DraftAttempt:
        """The draft with the fewest problems; of equal ones, the latest."""
        return min(reversed(self.attempts), key=lambda attempt: attempt.rank)

    def report(self, remark: str) -> None:
        """Add a remark for the operator and a notice for the agent's next prompt."""
        if remark not in self.remarks:
            self.remarks.append(remark)
            self.session.notices.append(remark)


@dataclass(frozen=True, slots=True)
class PendingStep:
    """A step and the function that handles its answer."""

    step: Step
    resume: Callable[[TurnState, Any], PendingStep | TurnReply]


Progress = PendingStep | TurnReply


def call(
    turn: TurnState,
    purpose: str,
    body: Any,
    resume: Callable[[TurnState, Any], Progress],
    idempotency_key: str | None = None,
) -> PendingStep:
    """Request a call of the service. `resume` receives None if it fails."""
    turn.counts.calls[purpose] += 1
    return PendingStep(ServiceCall(purpose, body, idempotency_key), resume)
