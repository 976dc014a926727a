"""Messages of memory search and its explanation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from . import limits
from .cubes import SharedCube
from .filters import ItsMetadata, OnlyPassing
from .message import ABSENT_IF_NONE, Body, Created, Id, InTeam, Message, OrAbsent
from .pasted import PRIVATE
from .sources import ItsSource, TurnSource
from .text import Moment, Text
from .trust import TextSource

# --- The reasons for a hit as one line of plain text -----------------------------------------

_REASONS = {
    "text": "same words",
    "dense": "similar meaning",
    "focus": "contains the focus word",
    "neighbour": "adjacent turns match",
    "date": "the date matches",
    "speaker": "the speaker matches",
    "summary": "a summary that matches covers it",
    "reranked": "the reranker read it",
    "superseded": "a newer turn gives another value",
    "instruction_like": "possible prompt injection",
    "secret": "contains a secret",
    "machine_notice": "a program wrote it",
    "near_duplicate": "repeats an earlier turn",
}


def reason_line(why: Sequence[Signal]) -> str:
    """Return the signals of a hit in plain words, in their order, with the rank by each.

    An unknown signal keeps its name. No signals give an empty line.
    """
    return "; ".join(
        _REASONS.get(one.signal, one.signal) + ("" if one.rank is None else f" (rank {one.rank})")
        for one in why
    )


# --- Messages of memory search ---------------------------------------------------------------

EventId = Annotated[str, Field(description="Identifier of the event, to cite and to fetch it.")]
Occurred = Annotated[str, Field(description="Time the turn belongs to (RFC 3339, UTC).")]


LayerName = Literal["events", "facts", "instructions", "summaries"]
Depth = Literal["fast", "deep"]
LAYERS: tuple[LayerName, ...] = ("events", "facts", "instructions", "summaries")


AsOf = Annotated[
    Moment | None,
    Field(
        description="The memory as it stood at this time (RFC 3339), which must have passed: turns "
        "that had occurred, facts that held, summaries and the map of that time."
    ),
]


PROJECT = "project"  # key of metadata


def in_project(metadata: Mapping[str, Any] | None, project: str | None) -> dict[str, Any]:
    """Return metadata with this project in place of its own; without one for None."""
    rest = {key: value for key, value in (metadata or {}).items() if key != PROJECT}
    return rest if project is None else {**rest, PROJECT: project}


ProjectName = Annotated[
    Annotated[Text, Field(min_length=1, max_length=limits.METADATA_TEXT_CHARACTERS_MAX)] | None,
    Field(
        description="Project that is open, as in `metadata.project` of its turns. What belongs to "
        "it or to no project is preferred."
    ),
]


class WorkContext(Body):
    """The rest of a turn besides the user's message. Cubes are chosen for it too.

    Example: {"tools": ["execute_code"], "error": "KeyError: 'id'"}
    """

    tools: Annotated[
        list[Annotated[Text, Field(max_length=limits.TOOL_NAME_CHARACTERS_MAX)]],
        Field(max_length=limits.WORK_NAMES_MAX),
    ] = []  # noqa: RUF012 - pydantic copies it
    """Names of the tools in use."""
    error: Annotated[Text, Field(max_length=limits.QUERY_CHARACTERS_MAX)] | None = None
    """Error text that the agent met."""
    files: Annotated[
        list[Annotated[Text, Field(max_length=limits.PATH_CHARACTERS_MAX)]],
        Field(max_length=limits.WORK_NAMES_MAX),
    ] = []  # noqa: RUF012 - pydantic copies it
    """Paths of the files it works on."""


class MemoryQuery(Body):
    """Body of `POST /api/v7/memory`.

    Example: {
      "query_text": "When does the ferry leave?",
      "user_id": "ada",
      "focus_words": ["ferry"],
      "top_k": 3
    }
    """

    query_text: Annotated[
        Text,
        Field(min_length=1, max_length=limits.QUERY_CHARACTERS_MAX),
        AfterValidator(partial(PRIVATE.sub, "")),
    ]
    """Search query, in any language. What it has in `<private>` is not searched for."""
    user_id: Id
    """User whose memory to use: a space of the key's account."""
    focus_words: Annotated[
        list[Annotated[Text, Field(min_length=1, max_length=limits.FOCUS_WORD_CHARACTERS_MAX)]],
        Field(max_length=limits.FOCUS_WORDS_MAX),
    ] = []  # noqa: RUF012 - pydantic copies it
    """Exact words or phrases. Events that contain them rank higher."""
    top_k: Annotated[int, Field(ge=1, le=limits.TOP_K_MAX)] = limits.TOP_K_DEFAULT
    """Maximum number of hits."""
    work: WorkContext | None = None
    """What the turn contains besides the message, to choose cubes for it."""
    session_id: Id = "default"
    """Session of the search."""
    interact: bool = True
    """True: the search is a turn and counts a step. False: a pure read."""
    last_seal: Annotated[Text, Field(max_length=limits.SEAL_CHARACTERS_MAX)] | None = None
    """Seal of the previous turn."""
    seals: bool = True
    """False: this client writes no seals, so none is due, nor is a turn in a session that stores
    none."""
    after: Moment | None = None
    """Only events that occurred at or after this time (RFC 3339)."""
    before: Moment | None = None
    """Only events that occurred before this time (RFC 3339)."""
    filters: OnlyPassing = None
    min_trust: TextSource | None = None
    """Only what comes from this source or a more trusted one, in every layer: `user`, `model`,
    `tool`, `file`, `import`, `other`. A turn is as trusted as its less trusted side."""
    project: ProjectName = None
    as_of: AsOf = None
    layers: Annotated[list[LayerName] | None, Field(min_length=1, max_length=4)] = None
    """Layers to search: `events` (the hits), `facts`, `instructions`, `summaries`. Default: all."""
    min_score: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Minimum score of a hit; weaker ones are left out."""
    min_answerable: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Minimum of `answerable`; below it there are no hits, unless a focus word gives some."""
    depth: Depth = "fast"
    """`deep`: the server's reranker reads the best 40 hits together with the query and orders them
    again, which takes seconds."""
    max_tokens: Annotated[int | None, Field(ge=1, le=limits.TOKENS_MAX)] = None
    """Budget for the texts of all layers, in tokens of about 4 characters."""
    team: InTeam = None
    teams: (
        Annotated[list[Id], Field(max_length=limits.TEAMS_SEARCHED_MAX)] | Literal["all"] | None
    ) = None
    """Teams whose memory to search together with one's own, by id or name, or `all`. Every part of
    the answer names its `memory`. Not together with `team`."""


class Author(Message):
    """The member that wrote something into the memory of a team."""

    account: str
    """Account of the author."""
    user_id: str
    """User of that account."""


class MemoryName(Message):
    """The memory that holds a part of an answer."""

    team_id: str | None
    """Team; null for one's own memory."""
    team: str | None
    """Name of the team; null for one's own memory."""
    author: OrAbsent[Author] = None
    """Who wrote it, for the turns and facts of a team."""


ItsMemory = Annotated[
    MemoryName | None,
    ABSENT_IF_NONE,
    Field(description="Memory that holds it, where the request names a team."),
]


class Signal(Message):
    """One reason for a hit: its rank by this signal (1 is best) and its value (0..1)."""

    signal: str
    """Signal: text, dense, focus, neighbour, date, speaker, summary or reranked; or a
    flag: instruction_like, secret, machine_notice, near_duplicate or superseded."""
    rank: OrAbsent[int] = None
    """Rank by this signal; absent for signals without a ranking."""
    value: float
    """0..1, higher is better."""


class Hit(Message):
    """One event found.

    `query` and `response` may be snippets; the event detail has the whole text.
    """

    event_id: EventId
    session_id: str
    """Session of the turn."""
    topic: str | None
    """Topic, if it has one."""
    query: str
    """The user's message, or the matching part of it."""
    response: str
    """The response, or the matching part of it."""
    source: TurnSource
    """Who its sides come from."""
    occurred_at: Occurred
    created_at: Created
    metadata: ItsMetadata = None
    project: OrAbsent[str] = None
    """Its project, if the search named another one."""
    score: Annotated[float, Field(ge=0, le=1)]
    """0..1, higher is better."""
    superseded_by: OrAbsent[str] = None
    """Event in which the user gave a newer value for the same thing."""
    supersedes: OrAbsent[list[str]] = None
    """Events whose value the user's message replaces."""
    may_supersede: OrAbsent[list[str]] = None
    """Events whose value it may replace; no hit is moved because of it."""
    why: list[Signal]
    """Signals that found the event."""
    memory: ItsMemory = None

    @property
    def text(self) -> str:
        """Message and response, one below the other, without a blank one."""
        return "\n".join(side for side in (self.query, self.response) if side.strip())


class FactHit(Message):
    """A critical fact that bears on the query; superseded ones only if it asks for history."""

    fact_id: str
    """Identifier of the fact."""
    text: str
    """The fact."""
    source: ItsSource
    status: Literal["current", "superseded"]
    """`current`: it holds. `superseded`: another fact took its place."""
    valid_from: str
    """Time from which it holds (RFC 3339, UTC)."""
    valid_to: OrAbsent[str] = None
    """Time until which it held or holds (RFC 3339, UTC)."""
    superseded_by: OrAbsent[str] = None
    """Fact that took its place."""
    event_id: str | None
    """Event id of the turn it came with, if there is one."""
    metadata: ItsMetadata = None
    score: Annotated[float, Field(ge=0, le=1)]
    """0..1, higher is better."""
    memory: ItsMemory = None


class InstructionHit(Message):
    """A standing instruction or preference of the user that applies to the query."""

    instruction_id: str
    """Identifier of the instruction."""
    text: str
    """The instruction, in the words it was stored in."""
    source: ItsSource
    kind: Literal["instruction", "preference"] = "instruction"
    """An order, or a taste."""
    condition: str | None
    """When it applies; null means always."""
    valid_from: str
    """Start of its validity (UTC)."""
    event_id: str | None
    """Event id of the turn it came with, if there is one."""
    metadata: ItsMetadata = None
    memory: ItsMemory = None


class SummaryHit(Message):
    """An L1, or lines of the newest map, that bear on the query."""

    l1_id: str | None
    """Identifier of the L1; null for map lines."""
    map_version: OrAbsent[int] = None
    """Version of the map, for map lines."""
    session_id: str | None
    """Session that the L1 summarises; null for map lines."""
    topic: str | None
    """Topic, if it has one."""
    text: str
    """The summary, or the part of it that fits best."""
    source: ItsSource
    score: Annotated[float, Field(ge=0, le=1)]
    """0..1, higher is better."""
    memory: ItsMemory = None


class OpenTask(Message):
    """An open task of another session."""

    task_id: str
    """Id of the turn that opened it. `remember` with it and `task_done` true ends the task."""
    session_id: str
    """Session of the task."""
    query: str
    """Beginning of the message that opened it."""
    opened_at: str
    """Time that turn was stored (RFC 3339, UTC)."""


class Help(Message):
    """A passage of the built-in help."""

    title: str
    """Topic."""
    text: str
    """Text of the passage."""


class UnmappedL1(Message):
    """An L1 that is not in the map."""

    l1_id: str
    """Identifier of the L1."""
    session_id: str
    """Session that it summarises."""
    text: str
    """The summary."""


class L2Source(Message):
    """The source of an L2 that is due."""

    map_text: OrAbsent[str] = None
    """The map so far, which `l2_map` takes the place of."""
    summaries: list[UnmappedL1]
    """The user's L1s that are not in the map, oldest first."""
    left_out: int
    """Number of later ones that were too many to return. POST /api/v7/memory/map reads them too."""


class MemoryAnswer(Message):
    """Answer of `POST /api/v7/memory`. Hits are best first; the first is the center hit."""

    hits: list[Hit]
    """Events found, best first. The first is the center hit."""
    shared_cubes: list[SharedCube]
    """Cubes relevant to the query, best first."""
    facts: list[FactHit] = []  # noqa: RUF012 - pydantic copies it
    """Critical facts that bear on the query, best first."""
    instructions: list[InstructionHit] = []  # noqa: RUF012 - pydantic copies it
    """Standing instructions and preferences that apply, newest first."""
    summaries: list[SummaryHit] = []  # noqa: RUF012 - pydantic copies it
    """L1s and lines of the map that bear on the query, best first."""
    step: int
    """Step of this turn, for the seal."""
    answerable: Annotated[float, Field(ge=0, le=1)] = 0.0
    """How likely it is that any event of the memory answers the query. Facts and the other layers
    do not count: they have a `score` of their own."""
    total_hits: int
    """Number of events that matched before the cut to `top_k`."""
    depth: OrAbsent[Depth] = None
    """For a deep search: `deep`, or `fast` if the reranker was busy or did not answer, and the hits
    have their fast order."""
    focus_missing: OrAbsent[list[str]] = None
    """Focus words that occur nowhere in this memory."""
    duty_error: OrAbsent[str] = None
    """A missed duty and how to make up for it."""
    reminders: OrAbsent[list[str]] = None
    """Duties that are due, one sentence each."""
    l2_source: OrAbsent[L2Source] = None
    """When an L2 is due: the texts to write it from."""
    help_hits: OrAbsent[list[Help]] = None
    """Help passages, when the query asks about this service."""
    open_tasks: OrAbsent[list[OpenTask]] = None
    """Other sessions with an open task, newest first."""


# --- Messages that explain a search: its stages, and the reasons for each hit ----------------

Count = Annotated[int, Field(ge=0)]
Side = Annotated[Literal["query", "response"], Field(description="Side of the turn.")]


class Feature(Message):
    """One feature of the ranking model, for the best passage of a hit."""

    feature: str
    """Name in the ranking model."""
    signal: str
    """Signal it belongs to: text, dense, text and dense (both), neighbour, speaker or date."""
    value: float
    """Value."""
    rank: Annotated[int, Field(ge=1)]
    """Rank of the value among all passages considered; 1 is the largest."""
    adds: float
    """Contribution to the score, added to start_score."""


class Mark(Message):
    """A range of a hit's text that matches a word of the query."""

    side: Side
    start: Count
    """First character."""
    end: Count
    """End, exclusive."""


class Neighbour(Message):
    """The turn before or after a hit in its session, which contributes to the hit's score."""

    event_id: EventId
    place: Literal["before", "after"]
    """Position relative to the hit."""
    query: str
    """The user's message, possibly cut."""
    response: str
    """The response, possibly cut."""
    base: float
    """Own score by words and meaning, 0..1. The hit receives a share of it."""


class Adjustment(Message):
    """One thing that adds to the score of a hit, beside its match with the query."""

    name: str
    """`focus`, `summary`: a focus word or a matching L1 covers it. `replaces`, `newer`: it replaced
    a match, surely or probably. `history`: it changed, and the query asks for an earlier state.
    Costs: `replaced`, `outdated` (probably replaced), `repeated`, `empty` (it says nothing),
    `unverified`, `suspect`, `notice`, `age`."""
    adds: float
    """Contribution to raw_score, in log odds; negative for a cost."""


class ExplainedHit(Hit):
    """A hit with the parts of its score."""

    side: Literal["query", "response"]
    """Side with the best passage."""
    passage: Annotated[int, Field(ge=1)]
    """Number of the passage within that side, from 1."""
    passage_start: Count
    """First character of the passage in that side of this hit."""
    passage_end: Count
    """End of the passage in that side of this hit, exclusive."""
    bm25: float
    """BM25 of the passage for the query."""
    coverage: float
    """Share of the query's meaning that the words of the passage cover, 0..1."""
    cosine: float
    """Cosine similarity of the vectors, -1..1; 0 without vectors."""
    features: list[Feature]
    """All features of the ranking model."""
    adjustments: list[Adjustment]
    """What else adds to raw_score, beside the match with the query."""
    raw_score: float
    """start_score plus all features and adjustments. Hits are sorted by it."""
    marks: list[Mark]
    """Positions of query words in `query` and `response`."""
    neighbours: list[Neighbour]
    """Adjacent turns of the session."""


class LeftOut(Message):
    """An event that nearly became a hit."""

    event_id: EventId
    query: str
    """The user's message, possibly cut."""
    response: str
    """The response, possibly cut."""
    raw_score: float
    """As in the hits."""
    coverage: float
    """Share of the query's meaning that its best passage covers."""
    cosine: float
    """Cosine similarity of that passage."""
    reason: Literal["top_k", "max_tokens", "minimum"]
    """`top_k`, `max_tokens`: cut by that limit. `minimum`: below `min_score` or `min_answerable`.
    """


class QuestionWord(Message):
    """A word of the query."""

    word: str
    """Word as typed."""
    role: Literal["meaning", "frequent", "stop"]
    """`meaning`: searched. `frequent`: searched by text only, because it occurs in nearly every
    turn. `stop`: not searched."""
    passages: Count
    """Number of passages of this memory that contain it."""


class Looked(Message):
    """Size of a search."""

    events: Count
    """Events in the memory."""
    passages: Count
    """Passages of those events."""
    in_time: Count
    """Passages within `after` and `before`."""
    ranked: Count
    """Passages ranked with all features. In a small memory, all of them."""
    matches: Count
    """Passages that share a word or enough meaning with the query."""


class Stage(Message):
    """One stage of the search, in order."""

    stage: str
    """Stage: index, words, embedding, vectors, fusion, focus, ranking, texts, cubes or session."""
    ms: Annotated[float, Field(ge=0)]
    """Duration in milliseconds."""


class Explanation(Message):
    """Answer of `POST /api/v7/memory/explain`: the hits of the same search, explained."""

    hits: list[ExplainedHit]
    """Hits as a search returns them, best first, with explanations."""
    total_hits: int
    """Number of events that matched before the cut to `top_k`."""
    shared_cubes: list[SharedCube]
    """Cubes relevant to the query, best first."""
    facts: list[FactHit] = []  # noqa: RUF012 - pydantic copies it
    """Critical facts that bear on the query, best first."""
    instructions: list[InstructionHit] = []  # noqa: RUF012 - pydantic copies it
    """Standing instructions that apply, newest first."""
    summaries: list[SummaryHit] = []  # noqa: RUF012 - pydantic copies it
    """L1s and lines of the map that bear on the query, best first."""
    focus_missing: OrAbsent[list[str]] = None
    """Focus words that occur nowhere in this memory."""
    help_hits: OrAbsent[list[Help]] = None
    """Help passages, when the query asks about this service."""
    start_score: float
    """Raw score of a passage that shares nothing with the query. Features add to it."""
    words: list[QuestionWord]
    """Words of the query."""
    vector_text: str
    """Text whose vector was searched; empty without vectors."""
    answerable: Annotated[float, Field(ge=0, le=1)] = 0.0
    """As in the answer of the search."""
    looked: Looked
    """Size of the search."""
    left_out: list[LeftOut]
    """Best events that are not hits, at most 5."""
    stages: list[Stage]
    """Duration of each stage."""
