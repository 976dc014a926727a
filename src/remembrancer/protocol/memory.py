"""Messages of remember, of batches and of lists: turns, events, sessions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from . import limits
from .cubes import AnyKind, CubeMade, Unpublished, same_kind
from .filters import ItsMetadata, OfTurn, OnlyPassing, ReplacedMetadata
from .message import Body, Created, ExactBody, Id, InTeam, Message, Misfit, OrAbsent, Saved, Topic
from .search import Author, EventId, Occurred
from .sources import OfSides, TurnSource
from .text import UNLABELLED, Moment, Text, is_placeholder, says_nothing

# --- Messages of remember and events ---------------------------------------------------------

Expires = Annotated[
    Moment | None,
    Field(
        description="Time at which the turn and its critical fact are erased (RFC 3339), in the "
        "future. Default: never."
    ),
]


class TurnText(Body):
    """The two sides of a turn and its time. At most one side may be empty."""

    query: Text
    """The user's message."""
    response: Text
    """The clean answer shown to the user."""
    topic: Topic | None = None
    """Topic: a word or a line."""
    occurred_at: Moment | None = None
    """Time the turn belongs to (RFC 3339). Default: now."""
    source: OfSides = None
    metadata: OfTurn = None

    @model_validator(mode="after")
    def _has_text(self) -> TurnText:
        if not self.query.strip() and not self.response.strip():
            raise ValueError("query and response are both empty")
        return self


_CUBE = ("cube_topic", "cube_essence", "cube_rules")  # required fields of a cube


class Turn(Body):
    """Body of `POST /api/v7/remember`: a turn and what the agent learned from it.

    Each part may be sent alone; at least one is required.

    Example: {
      "query": "When does the ferry leave?",
      "response": "At 9:40 from Piombino, pier 3.",
      "session_id": "summer-trip",
      "topic": "travel",
      "occurred_at": "2026-03-01T09:30:00Z",
      "critical": "The family gets seasick in the afternoon wind.",
      "cube_topic": "ferry times",
      "cube_essence": "Summer timetables change in the first week of June.",
      "cube_rules": "- MUST check the date of a timetable before quoting it",
      "cube_type": "warning"
    }
    """

    query: Text | None = None
    """The user's message. Required with `response`; one of them may be empty."""
    response: Text | None = None
    """The clean answer shown to the user."""
    topic: Topic | None = None
    """Topic of the turn: a word or a line."""
    occurred_at: Moment | None = None
    """Time the turn belongs to (RFC 3339). Default: now."""
    source: OfSides = None
    metadata: OfTurn = None
    expires_at: Expires = None
    user_id: Id | None = None
    """User whose memory to use. Default: the key's pin, else the user_id that this key last named
    with this session, else the account's name."""
    session_id: Id = "default"
    """Session of the turn."""
    l1_summary: Annotated[Text, Field(max_length=limits.L1_CHARACTERS_MAX)] | None = None
    """Summary of the session's turns since its last L1. Send it when an L1 is due."""
    l2_map: Annotated[Text, Field(max_length=limits.MAP_CHARACTERS_MAX)] | None = None
    """Map of the user. Send it when an L2 is due."""
    critical: Annotated[Text, Field(max_length=limits.CRITICAL_CHARACTERS_MAX)] | None = None
    """A lasting fact, if there is one."""
    critical_replaces: Id | None = None
    """`fact_id` of the fact of this user whose place `critical` takes. Facts with another value for
    the same thing are replaced without it."""
    replaces: Id | None = None
    """Event id of the session's latest turn, a draft the user never saw. It is erased; what was
    stored with it stays."""
    task_done: bool | None = None
    """True: the task of the session is finished. False: it is open, and searches of other sessions
    list it."""
    task_id: Id | None = None
    """With `task_done` true: a task of another session that is finished, from `open_tasks`."""
    cube_topic: (
        Annotated[Text, UNLABELLED, Field(max_length=limits.CUBE_TOPIC_CHARACTERS_MAX)] | None
    ) = None
    """Topic of a proposed cube."""
    cube_essence: (
        Annotated[Text, UNLABELLED, Field(max_length=limits.CUBE_ESSENCE_CHARACTERS_MAX)] | None
    ) = None
    """The lesson, in one line."""
    cube_rules: (
        Annotated[Text, UNLABELLED, Field(max_length=limits.CUBE_RULES_CHARACTERS_MAX)] | None
    ) = None
    """Rules: a Markdown list of lines with MUST or SHALL."""
    cube_type: AnyKind = None
    """Kind of cube, in any case. Default: fact."""
    kind: AnyKind = None
    """Another name of `cube_type`."""
    cube_evidence: (
        Annotated[Text, UNLABELLED, Field(max_length=limits.CUBE_EVIDENCE_CHARACTERS_MAX)] | None
    ) = None
    """An event_id or a label. Default: the event of this turn."""
    cube_expires_at: Moment | None = None
    """Time at which the cube is erased (RFC 3339), in the future."""
    cube_improves: Id | None = None
    """Own cube that this one improves: it takes its place and is rated anew."""
    cube_publish: bool = False
    """Publish the cube. It must be in English, short and free of secrets."""
    cube_visibility: Unpublished = "private"
    """Readers of a cube that is not published. `private`: its user. `account`: all users of the
    account."""
    model: Annotated[Text, Field(max_length=limits.CUBE_MODEL_CHARACTERS_MAX)] | None = None
    """Model that wrote the cube."""
    duty: Literal["cube_nothing", "vote_nothing"] | None = None
    """Duty to close without doing it."""
    duty_reason: Annotated[Text, Field(max_length=limits.DUTY_REASON_CHARACTERS_MAX)] | None = None
    """Reason. Required with `duty`."""
    team: InTeam = None

    @property
    def has_turn(self) -> bool:
        """True if there is a turn to store."""
        return not (says_nothing(self.query) and says_nothing(self.response))

    @property
    def cube_texts(self) -> tuple[str | None, ...]:
        """Topic, essence and rules of the cube, as sent."""
        return self.cube_topic, self.cube_essence, self.cube_rules

    @property
    def has_cube(self) -> bool:
        """True if a cube is proposed."""
        return not all(map(is_placeholder, self.cube_texts))

    @model_validator(mode="after")
    def _is_complete(self) -> Turn:
        if (self.query is None) != (self.response is None):
            name = "query" if self.query is None else "response"
            raise Misfit(name, "Field required: a turn needs both sides; one of them may be empty")
        if self.query is not None and not self.has_turn:
            raise ValueError("query and response are both empty")
        if self.has_cube and (
            missing := [name for name in _CUBE if is_placeholder(getattr(self, name))]
        ):
            raise Misfit(
                missing[0],
                f"a cube needs a topic, an essence and rules; blank: {', '.join(missing)}",
            )
        same_kind(self.kind, self.cube_type)
        if self.task_id is not None and not self.task_done:
            raise Misfit("task_id", "task_id needs task_done: true")
        if self.cube_publish and not self.has_cube:
            raise Misfit("cube_publish", "cube_publish needs a cube")
        if self.duty == "cube_nothing" and self.has_cube:
            raise Misfit("duty", "duty cube_nothing contradicts the proposed cube")
        if self.duty is not None and says_nothing(self.duty_reason):
            raise Misfit("duty_reason", "a duty needs a duty_reason")
        parts = (self.l1_summary, self.l2_map, self.critical, self.duty)
        if not (
            self.has_turn
            or self.has_cube
            or self.task_done
            or any(not is_placeholder(part) for part in parts)
        ):
            raise ValueError(
                "the request is empty: it has no turn, summary, map, fact, cube or duty"
            )
        return self


class Receipt(Message):
    """The outcome of one part of a request."""

    part: Literal[
        "turn", "replaces", "l1_summary", "l2_map", "critical", "cube", "task_done", "duty"
    ]
    """Part of the request."""
    outcome: Literal["stored", "known", "skipped", "erased"]
    """Outcome. `known`: it was stored before and is kept once."""
    id: OrAbsent[str] = None
    """Id of what was stored, if it has one."""
    detail: OrAbsent[str] = None
    """Details: why it was skipped, or which flags were set."""


class Remembered(Message):
    """Answer of `POST /api/v7/remember`.

    `saved` is true only when everything stored is durable and the turn searchable.
    """

    saved: Saved
    event_id: OrAbsent[str] = None
    """Event id of the turn, if one was stored."""
    user_id: str
    """User whose memory it was stored in."""
    step: int
    """Step of the last interacting search of this session."""
    cube: CubeMade | str
    """The cube that was created, or why none was."""
    l1_due: bool
    """True if the session needs an L1 summary."""
    l2_due: bool
    """True if the user's map needs an update."""
    receipts: list[Receipt]
    """Outcome of each part of the request."""
    reminders: OrAbsent[list[str]] = None
    """Reminders, one sentence each."""


class EventWrite(TurnText):
    """Body of `POST /api/v7/event/write`.

    Example: {
      "query": "Where is the spare key?",
      "response": "Under the blue flower pot.",
      "user_id": "ada",
      "session_id": "house"
    }
    """

    user_id: Id
    """User whose memory to use: a space of the key's account."""
    session_id: Id = "default"
    """Session of the turn."""
    expires_at: Expires = None
    team: InTeam = None


class EventWritten(Message):
    """Answer of `POST /api/v7/event/write`."""

    saved: Saved
    event_id: EventId
    detail: OrAbsent[str] = None
    """Notes on storing the turn, if any."""


class LookRecord(Message):
    """The second looks at a turn."""

    status: Literal["pass", "fail"]
    """Result of the last one."""
    passed: Annotated[int, Field(ge=0)]
    """Number of second looks that passed."""
    failed: Annotated[int, Field(ge=0)]
    """Number of second looks that failed."""
    looked_at: str
    """Time of the last one (RFC 3339, UTC)."""


class ListedEvent(Message):
    """One turn, complete."""

    event_id: EventId
    session_id: str
    """Session of the turn."""
    topic: str | None
    """Topic, if it has one."""
    query: str
    """The user's message, complete."""
    response: str
    """The response, complete."""
    source: TurnSource
    """Who its sides come from."""
    flags: list[str]
    """Flags: `instruction_like`, `secret`, `machine_notice`, `near_duplicate`. Usually empty."""
    occurred_at: Occurred
    created_at: Created
    metadata: ItsMetadata = None
    author: OrAbsent[Author] = None
    """Who wrote it into the memory of a team; absent for one's own."""


class Event(ListedEvent):
    """Answer of `GET /api/v7/event/{event_id}`: the complete turn."""

    user_id: str
    """User whose memory holds it."""
    raw_dialogue: str
    """Both sides of the turn, word for word, each with its role."""
    expires_at: OrAbsent[str] = None
    """Time at which it is erased (RFC 3339, UTC), if it expires."""
    pinned: bool = False
    """True: retention rules leave the turn."""
    withdrawn_by: OrAbsent[str] = None
    """Event id of the turn in which the user took this one back (it may be the turn itself).
    Searches and summaries leave it out."""
    superseded_by: OrAbsent[str] = None
    """Event id of the revision that took the place of this draft, which searches and summaries
    leave out; or of the turn in which the user gave a newer value for the same thing."""
    supersedes: OrAbsent[list[str]] = None
    """Events whose value the user's message replaces."""
    may_supersede: OrAbsent[list[str]] = None
    """Events whose value it may replace; nothing is moved because of it."""
    near_duplicate_of: OrAbsent[str] = None
    """Event id of the first turn with the same words, apart from timestamps, ids and numbers of
    runs. Searches return that one first."""
    second_look: OrAbsent[LookRecord] = None
    """The second looks at this turn, if there were any."""


class EventChange(ExactBody):
    """Body of `PATCH /api/v7/event/{event_id}`: only the fields that are to change.

    Example: {"pinned": true}
    """

    expires_at: Moment | None = None
    """Time at which the turn is erased (RFC 3339), in the future."""
    pinned: bool | None = None
    """True: retention rules leave the turn."""
    withdrawn: bool | None = None
    """True: searches and summaries leave the turn out. False: they find it again."""
    metadata: ReplacedMetadata = None
    clear: Annotated[list[Literal["expires_at"]], Field(max_length=1)] = []  # noqa: RUF012 - pydantic copies it
    """Times to remove."""
    team: InTeam = None

    @model_validator(mode="after")
    def _consistent(self) -> EventChange:
        if self.clear and self.expires_at is not None:
            raise Misfit("expires_at", "expires_at is both set and cleared")
        return self


# --- Messages of a batch of turns ------------------------------------------------------------


class BatchTurn(TurnText):
    """One turn of a batch.

    Example: {"query": "Tea?", "response": "Green."}
    """

    user_id: Id | None = None
    """User whose memory to use. Default: that of the batch."""
    session_id: Id | None = None
    """Session of the turn. Default: that of the batch."""
    expires_at: Expires = None


class TurnBatch(Body):
    """Body of `POST /api/v7/memory/batch`: turns to store together, the oldest first.

    Example: {
      "user_id": "ada",
      "session_id": "garden",
      "turns": [
        {
          "query": "How deep do I plant garlic?",
          "response": "About 5 cm, tip up.",
          "occurred_at": "2025-10-12T16:20:00Z"
        },
        {
          "query": "And how far apart?",
          "response": "15 cm within the row."
        }
      ]
    }
    """

    turns: Annotated[list[BatchTurn], Field(min_length=1, max_length=limits.BATCH_TURNS_MAX)]
    """Turns in the order in which they were said."""
    user_id: Id | None = None
    """User of the turns that name none. Default: the key's pin, else the user_id that this key last
    named with the session, else the account's name."""
    session_id: Id = "default"
    """Session of the turns that name none."""
    team: InTeam = None

    def session_of(self, turn: BatchTurn) -> str:
        """Return the session of one of the turns."""
        return turn.session_id or self.session_id


class BatchReceipt(Message):
    """The outcome of one turn of a batch."""

    event_id: EventId
    user_id: str
    """User whose memory it was stored in."""
    detail: OrAbsent[str] = None
    """Notes on storing the turn, if any."""


class BatchWritten(Message):
    """Answer of `POST /api/v7/memory/batch`."""

    saved: Saved
    receipts: list[BatchReceipt]
    """One receipt per turn, in the order of the request."""


# --- Messages of the list of events ----------------------------------------------------------

CURSOR_PATTERN = r"^-?[0-9]{1,16}_[0-9]{1,10}$"  # a time in ms and a number in the space


class EventsQuery(Message):
    """Parameters of `GET /api/v7/events`.

    Example: {"user_id": "ada", "limit": 20}
    """

    user_id: Id | None = None
    """User whose events to list. Default: the user of the key or the session."""
    session_id: Id | None = None
    """Only turns of this session."""
    after: Moment | None = None
    """Only events that occurred at or after this time (RFC 3339)."""
    before: Moment | None = None
    """Only events that occurred before this time (RFC 3339)."""
    filters: OnlyPassing = None
    order: Literal["newest", "oldest"] = "newest"
    """Which events come first."""
    limit: Annotated[int, Field(ge=1, le=limits.EVENTS_PAGE_MAX)] = 50
    """Most events on a page."""
    cursor: Annotated[str | None, Field(pattern=CURSOR_PATTERN)] = None
    """`next` of the page before: where this one begins."""
    team: InTeam = None


class EventList(Message):
    """Answer of `GET /api/v7/events`: one page, in the order of `occurred_at`."""

    user_id: str
    """User whose events these are."""
    events: list[ListedEvent]
    """Events, complete."""
    next: str | None
    """`cursor` of the next page; null on the last page."""


# --- Messages of the list of sessions --------------------------------------------------------

# the time of the latest turn in ms, and a row number
SESSION_CURSOR_PATTERN = r"^[0-9]{1,16}_[0-9]{1,18}$"


class SessionsQuery(Message):
    """Parameters of `GET /api/v7/sessions`.

    Example: {"user_id": "ada", "limit": 20}
    """

    user_id: Id | None = None
    """User whose sessions to list. Default: the key's pin, else the account's name."""
    limit: Annotated[int, Field(ge=1, le=limits.SESSIONS_PAGE_MAX)] = 50
    """Most sessions on a page."""
    cursor: Annotated[str | None, Field(pattern=SESSION_CURSOR_PATTERN)] = None
    """`next` of the page before: where this one begins."""
    team: InTeam = None


class UsersQuery(Message):
    """Parameters of `GET /api/v7/users`."""

    limit: Annotated[int, Field(ge=1, le=limits.SESSIONS_PAGE_MAX)] = 50
    """Most users on a page."""
    cursor: Id | None = None
    """`next` of the page before: where this one begins."""


class UserList(Message):
    """Answer of `GET /api/v7/users`: one page, by name."""

    users: list[str]
    """The user_ids of the account that have a memory; with a pinned key its own alone."""
    next: str | None
    """`cursor` of the next page; null on the last page."""


class ListedSession(Message):
    """One session of a list."""

    session_id: str
    """Identifier of the session."""
    turns: int
    """Number of turns."""
    summaries: int
    """Number of L1 summaries."""
    steps: int
    """Number of searches that counted a step."""
    topic: str | None
    """Topic of the latest turn, if it has one."""
    query: str
    """Beginning of the latest user message."""
    task_open: bool
    """True if a task was opened and is not done."""
    created_at: str
    """Time the session began (RFC 3339, UTC)."""
    last_turn_at: str
    """Time the latest turn was stored (RFC 3339, UTC)."""


class SessionList(Message):
    """Answer of `GET /api/v7/sessions`: one page, the latest turn first."""

    user_id: str
    """User whose sessions these are."""
    sessions: list[ListedSession]
    """Sessions, latest turn first."""
    next: str | None
    """`cursor` of the next page; null on the last page."""
