"""Options, counters and state of a session and of its turn, and the steps that a turn requests."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypedDict

from ...protocol import limits
from ...protocol.agent import SecondLook
from ...protocol.cubes import CubeVote, SharedCube
from ...protocol.line import Rate
from ...protocol.lines import LineFault, Lines
from ...protocol.memory import Turn
from ...protocol.operation import AnyOperation
from ...protocol.operations import Operations
from ...protocol.recalled import answer_items, fenced_items, session_fact_item
from ...protocol.search import Hit, MemoryAnswer, MemoryQuery
from ...protocol.summaries import MapRequest, StartQuery
from ..api_request import ApiRequest, request_of
from ..errors import ClientError

# --- Counters of the runtime: protocol compliance of the agent and overhead of the protocol --


def _ratio(part: int, total: int) -> float | None:
    return round(part / total, 4) if total else None


@dataclass(slots=True)
class Counts:
    """Totals since the first turn of a conversation.

    Failures of the service are counted apart from omissions of the agent.
    """

    turns: int = 0
    drafts: int = 0
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


# --- Options and state of one session, carried from turn to turn -----------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeOptions:
    """Options of a conversation."""

    user_id: str
    session_id: str = "default"
    project: str | None = None  # that is open: stored with turns and preferred by searches
    name: str = "REM"  # the service's short name, used in seals
    instructions: str = ""  # the agent's own system prompt
    redrafts_max: int = 2  # docs/reference/specification.md#turn-recheck
    # "recalled": check answers that cite or repeat memory. "always": check all, every claim.
    second_look: Literal["recalled", "always"] = "recalled"
    full_protocol: bool = False  # require the sections DRAFT, SECOND LOOK and FINAL
    top_k: int = limits.TOP_K_DEFAULT
    memory_tokens_max: int | None = 2_000  # tokens of search results in a prompt; None: unlimited
    history_turns: int = 20  # earlier turns included in the prompt
    # "stop": a turn whose search fails ends with an error. "continue": the model answers without
    # memory, and the turn is saved later (docs/reference/specification.md#turn-search-failed).
    without_memory: Literal["stop", "continue"] = "stop"

    def query(self, message: str, last_seal: str | None) -> MemoryQuery:
        """Return the search of a turn. Raises ValueError for invalid ids and numbers."""
        return MemoryQuery(
            query_text=message[: limits.QUERY_CHARACTERS_MAX],
            user_id=self.user_id,
            session_id=self.session_id,
            project=self.project,
            top_k=self.top_k,
            min_answerable=limits.UNASKED_ANSWERABLE_MIN,
            max_tokens=self.memory_tokens_max,
            last_seal=last_seal,
        )


@dataclass(slots=True)
class SessionState:
    """State of one session of one agent between turns."""

    options: RuntimeOptions
    # the clock and the source of idempotency keys, which tests replace
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    new_key: Callable[[], str] = lambda: secrets.token_hex(16)
    counts: Counts = field(default_factory=Counts)
    last_seal: str | None = None
    l1_due: bool = False
    start_facts: list[str] | None = None  # critical facts; None: not loaded yet
    has_second_look: bool = True  # False once the service has answered that it has none
    turns_saved: int = 0
    last_cube_turn: int | None = None  # value of `turns_saved` when the last cube was made
    characters_since_l1: int = 0
    history: list[ChatMessage] = field(default_factory=list)
    unsaved: list[tuple[Turn, str]] = field(default_factory=list)  # with their idempotency keys
    notices: list[str] = field(default_factory=list)  # for the agent's next prompt
    unreasoned: list[str] = field(default_factory=list)  # cubes rated -1 without a reason

    def __post_init__(self) -> None:
        """Validate the options. Raises ValueError."""
        if self.options.second_look not in ("recalled", "always"):
            raise ValueError('second_look must be "recalled" or "always"')
        if self.options.without_memory not in ("stop", "continue"):
            raise ValueError('without_memory must be "stop" or "continue"')
        self.options.query("?", None)


# --- Steps that the state machine of a turn requests, and the reply at its end ---------------

_OPERATIONS: dict[type, AnyOperation] = {
    MemoryQuery: Operations.search_memory,
    Turn: Operations.remember_turn,
    CubeVote: Operations.vote_on_cube,
    StartQuery: Operations.get_start_pack,
    MapRequest: Operations.make_map,
    SecondLook: Operations.look_again,
}


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """A call of the service: send `request` with a client; answer with its result or CallFailed.

    `purpose` is search, remember, second look, vote, duty, start pack or map.
    """

    purpose: str
    body: Any
    idempotency_key: str | None = None

    @property
    def request(self) -> ApiRequest[Any]:
        """The request to send."""
        operation = _OPERATIONS[type(self.body)]
        return request_of(operation, self.body, idempotency_key=self.idempotency_key)


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """A request for a draft: pass `messages` to the model; answer with its text or a Draft."""

    messages: list[ChatMessage]


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft whose model used tools. Values of their results need no ref in the answer."""

    text: str
    tool_results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallFailed:
    """Answer to a ServiceCall that failed."""

    error: ClientError


Step = ServiceCall | DraftRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReply:
    """Result of a turn. Show the user only `text`."""

    answer: str  # without service lines
    notes: tuple[str, ...] = ()  # for the user
    remarks: tuple[str, ...] = ()  # for the operator: what was cut, refused or not saved
    # Result of the second look; None: there was none, or the answer claims nothing from memory.
    passed: bool | None = None
    failed_checks: tuple[str, ...] = ()
    drafts: int = 0
    event_id: str | None = None  # of the saved turn
    step: int | None = None
    seal: str | None = None  # None: the turn was not saved
    hits: tuple[Hit, ...] = ()
    cubes: tuple[SharedCube, ...] = ()
    lines: Lines | None = None  # service lines of the chosen draft
    failures: tuple[ClientError, ...] = ()

    @property
    def text(self) -> str:
        """The answer followed by its notes."""
        return "\n\n".join([self.answer, *(f"({note})" for note in self.notes)])


# --- State of one turn: everything the state machine in `turn.py` reads and changes ----------


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


# --- Texts for the model ---------------------------------------------------------------------

FULL_PROTOCOL = (
    "Reply in three sections, each under a heading on its own line: DRAFT, SECOND LOOK, FINAL. "
    "SECOND LOOK checks what DRAFT really says, claim by claim. FINAL is what the user sees; put "
    "the service lines and the seal at its end."
)
NOTHING_RECALLED = (
    "Memory has nothing on this. Say so if it matters, and mark what you know from other sources."
)
NO_MEMORY = (
    "Memory cannot be reached in this turn: mark every number, date, name and URL with [general], "
    "[unverified] or [assumption]."
)


class ChatMessage(TypedDict):
    """One message in the format of language model APIs."""

    role: Literal["system", "user", "assistant"]
    content: str


def recalled_text(recalled: MemoryAnswer, facts: Sequence[str] = ()) -> str:
    """Return fenced search results for a model: all layers, cubes, help passages, open tasks.

    They follow those of the critical `facts` of the session that are not among them.
    """
    served = {fact.text for fact in recalled.facts}
    served |= {instruction.text for instruction in recalled.instructions}
    items = [session_fact_item(fact) for fact in facts if fact not in served]
    return (
        fenced_items([*items, *answer_items(recalled.model_dump(mode="json"))]) or NOTHING_RECALLED
    )
