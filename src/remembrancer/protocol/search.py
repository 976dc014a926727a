"""Messages of memory search and its explanation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from . import limits
from .cubes import SharedCube
from .message import ABSENT_IF_NONE, Body, Created, Id, InTeam, Message, example
from .text import Moment, Text

# --- The reasons for a hit as one line of plain text -----------------------------------------

_REASONS = {
    "text": "same words",
    "dense": "similar meaning",
    "focus": "contains the focus word",
    "session": "other hits in its session",
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


class WorkContext(Body):
    """The rest of a turn besides the user's message. Cubes are chosen for it too."""

    model_config = example({"tools": ["execute_code"], "error": "KeyError: 'id'"})

    tools: Annotated[
        list[Annotated[Text, Field(max_length=limits.TOOL_NAME_CHARACTERS_MAX)]],
        Field(max_length=limits.WORK_NAMES_MAX, description="Names of the tools in use."),
    ] = []  # noqa: RUF012 - pydantic copies it
    error: Annotated[
        Annotated[Text, Field(max_length=limits.QUERY_CHARACTERS_MAX)] | None,
        Field(description="Error text that the agent met."),
    ] = None
    files: Annotated[
        list[Annotated[Text, Field(max_length=limits.PATH_CHARACTERS_MAX)]],
        Field(max_length=limits.WORK_NAMES_MAX, description="Paths of the files it works on."),
    ] = []  # noqa: RUF012 - pydantic copies it


class MemoryQuery(Body):
    """Body of `POST /api/v7/memory`."""

    model_config = example(
        {
            "query_text": "When does the ferry leave?",
            "user_id": "ada",
            "focus_words": ["ferry"],
            "top_k": 3,
        }
    )

    query_text: Annotated[
        Text,
        Field(
            min_length=1,
            max_length=limits.QUERY_CHARACTERS_MAX,
            description="Search query, in any language.",
        ),
    ]
    user_id: Annotated[
        Id, Field(description="User whose memory to use: a space of the key's account.")
    ]
    focus_words: Annotated[
        list[Annotated[Text, Field(min_length=1, max_length=limits.FOCUS_WORD_CHARACTERS_MAX)]],
        Field(
            max_length=limits.FOCUS_WORDS_MAX,
            description="Exact words or phrases. Events that contain them rank higher.",
        ),
    ] = []  # noqa: RUF012 - pydantic copies it
    top_k: Annotated[
        int, Field(ge=1, le=limits.TOP_K_MAX, description="Maximum number of hits.")
    ] = limits.TOP_K_DEFAULT
    work: Annotated[
        WorkContext | None,
        Field(description="What the turn contains besides the message, to choose cubes for it."),
    ] = None
    session_id: Annotated[Id, Field(description="Session of the search.")] = "default"
    interact: Annotated[
        bool, Field(description="True: the search is a turn and counts a step. False: a pure read.")
    ] = True
    last_seal: Annotated[
        Annotated[Text, Field(max_length=limits.SEAL_CHARACTERS_MAX)] | None,
        Field(description="Seal of the previous turn."),
    ] = None
    seals: Annotated[
        bool,
        Field(
            description="False: this client writes no seals, so none is due, nor is a turn in a "
            "session that stores none."
        ),
    ] = True
    after: Annotated[
        Moment | None,
        Field(description="Only events that occurred at or after this time (RFC 3339)."),
    ] = None
    before: Annotated[
        Moment | None, Field(description="Only events that occurred before this time (RFC 3339).")
    ] = None
    as_of: AsOf = None
    layers: Annotated[
        list[LayerName] | None,
        Field(
            min_length=1,
            max_length=4,
            description="Layers to search: `events` (the hits), `facts`, `instructions`, "
            "`summaries`. Default: all.",
        ),
    ] = None
    min_score: Annotated[
        float, Field(ge=0, le=1, description="Minimum score of a hit; weaker ones are left out.")
    ] = 0.0
    min_answerable: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="Minimum of `answerable`; below it there are no hits, unless a focus word "
            "gives some.",
        ),
    ] = 0.0
    depth: Annotated[
        Depth,
        Field(
            description="`deep`: the server's reranker reads the best 40 hits together with the "
            "query and orders them again, which takes seconds."
        ),
    ] = "fast"
    max_tokens: Annotated[
        int | None,
        Field(
            ge=1,
            le=limits.TOKENS_MAX,
            description="Budget for the texts of all layers, in tokens of about 4 characters.",
        ),
    ] = None
    team: InTeam = None
    teams: Annotated[
        Annotated[list[Id], Field(max_length=limits.TEAMS_SEARCHED_MAX)] | Literal["all"] | None,
        Field(
            description="Teams whose memory to search together with one's own, by id or name, or "
            "`all`. Every part of the answer has its `source`. Not together with `team`."
        ),
    ] = None


class Author(Message):
    """The member that wrote something into the memory of a team."""

    account: Annotated[str, Field(description="Account of the author.")]
    user_id: Annotated[str, Field(description="User of that account.")]


class MemorySource(Message):
    """The memory that holds a part of an answer."""

    team_id: Annotated[str | None, Field(description="Team; null for one's own memory.")]
    team: Annotated[str | None, Field(description="Name of the team; null for one's own memory.")]
    author: Annotated[
        Author | None,
        ABSENT_IF_NONE,
        Field(description="Who wrote it, for the turns and facts of a team."),
    ] = None


ItsSource = Annotated[
    MemorySource | None,
    ABSENT_IF_NONE,
    Field(description="Memory that holds it, where the request names a team."),
]


class Signal(Message):
    """One reason for a hit: its rank by this signal (1 is best) and its value (0..1)."""

    signal: Annotated[
        str,
        Field(
            description="Signal: text, dense, focus, session, neighbour, date, speaker, summary or "
            "reranked; or a flag: instruction_like, secret, machine_notice, near_duplicate or "
            "superseded."
        ),
    ]
    rank: Annotated[
        int | None,
        ABSENT_IF_NONE,
        Field(description="Rank by this signal; absent for signals without a ranking."),
    ] = None
    value: Annotated[float, Field(description="0..1, higher is better.")]


class Hit(Message):
    """One event found.

    `query` and `response` may be snippets; the event detail has the whole text.
    """

    event_id: EventId
    session_id: Annotated[str, Field(description="Session of the turn.")]
    topic: Annotated[str | None, Field(description="Topic, if it has one.")]
    query: Annotated[str, Field(description="The user's message, or the matching part of it.")]
    response: Annotated[str, Field(description="The response, or the matching part of it.")]
    occurred_at: Occurred
    created_at: Created
    score: Annotated[float, Field(ge=0, le=1, description="0..1, higher is better.")]
    superseded_by: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Event in which the user gave a newer value for the same thing."),
    ] = None
    supersedes: Annotated[
        list[str] | None,
        ABSENT_IF_NONE,
        Field(description="Events whose value the user's message replaces."),
    ] = None
    may_supersede: Annotated[
        list[str] | None,
        ABSENT_IF_NONE,
        Field(description="Events whose value it may replace; no hit is moved because of it."),
    ] = None
    why: Annotated[list[Signal], Field(description="Signals that found the event.")]
    source: ItsSource = None


class FactHit(Message):
    """A critical fact that bears on the query; superseded ones only if it asks for history."""

    fact_id: Annotated[str, Field(description="Identifier of the fact.")]
    text: Annotated[str, Field(description="The fact.")]
    status: Annotated[
        Literal["current", "superseded"],
        Field(description="`current`: it holds. `superseded`: another fact took its place."),
    ]
    valid_from: Annotated[str, Field(description="Time from which it holds (RFC 3339, UTC).")]
    valid_to: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Time until which it held or holds (RFC 3339, UTC)."),
    ] = None
    superseded_by: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Fact that took its place.")
    ] = None
    event_id: Annotated[
        str | None, Field(description="Event id of the turn it came with, if there is one.")
    ]
    score: Annotated[float, Field(ge=0, le=1, description="0..1, higher is better.")]
    source: ItsSource = None


class InstructionHit(Message):
    """A standing instruction or preference of the user that applies to the query."""

    instruction_id: Annotated[str, Field(description="Identifier of the instruction.")]
    text: Annotated[str, Field(description="The instruction, in the words it was stored in.")]
    kind: Annotated[
        Literal["instruction", "preference"], Field(description="An order, or a taste.")
    ] = "instruction"
    condition: Annotated[str | None, Field(description="When it applies; null means always.")]
    event_id: Annotated[
        str | None, Field(description="Event id of the turn it came with, if there is one.")
    ]
    source: ItsSource = None


class SummaryHit(Message):
    """An L1, or lines of the newest map, that bear on the query."""

    l1_id: Annotated[str | None, Field(description="Identifier of the L1; null for map lines.")]
    map_version: Annotated[
        int | None, ABSENT_IF_NONE, Field(description="Version of the map, for map lines.")
    ] = None
    session_id: Annotated[
        str | None, Field(description="Session that the L1 summarises; null for map lines.")
    ]
    topic: Annotated[str | None, Field(description="Topic, if it has one.")]
    text: Annotated[str, Field(description="The summary, or the part of it that fits best.")]
    score: Annotated[float, Field(ge=0, le=1, description="0..1, higher is better.")]
    source: ItsSource = None


class OpenTask(Message):
    """A session with an open task."""

    session_id: Annotated[str, Field(description="Session to continue.")]
    topic: Annotated[str | None, Field(description="Topic of the latest turn, if it has one.")]
    query: Annotated[str, Field(description="Beginning of the latest user message.")]
    turns: Annotated[int, Field(description="Number of turns.")]
    last_turn_at: Annotated[
        str, Field(description="Time the latest turn was stored (RFC 3339, UTC).")
    ]


class Help(Message):
    """A passage of the built-in help."""

    title: Annotated[str, Field(description="Topic.")]
    text: Annotated[str, Field(description="Text of the passage.")]


class MemoryAnswer(Message):
    """Answer of `POST /api/v7/memory`. Hits are best first; the first is the center hit."""

    hits: Annotated[
        list[Hit], Field(description="Events found, best first. The first is the center hit.")
    ]
    shared_cubes: Annotated[
        list[SharedCube], Field(description="Cubes relevant to the query, best first.")
    ]
    facts: Annotated[
        list[FactHit], Field(description="Critical facts that bear on the query, best first.")
    ] = []  # noqa: RUF012 - pydantic copies it
    instructions: Annotated[
        list[InstructionHit],
        Field(description="Standing instructions and preferences that apply, newest first."),
    ] = []  # noqa: RUF012 - pydantic copies it
    summaries: Annotated[
        list[SummaryHit],
        Field(description="L1s and lines of the map that bear on the query, best first."),
    ] = []  # noqa: RUF012 - pydantic copies it
    step: Annotated[int, Field(description="Step of this turn, for the seal.")]
    answerable: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="How likely it is that any event of the memory answers the query. Facts "
            "and the other layers do not count: they have a `score` of their own.",
        ),
    ] = 0.0
    total_hits: Annotated[
        int, Field(description="Number of events that matched before the cut to `top_k`.")
    ]
    depth: Annotated[
        Depth | None,
        ABSENT_IF_NONE,
        Field(
            description="For a deep search: `deep`, or `fast` if the reranker was busy or did not "
            "answer, and the hits have their fast order."
        ),
    ] = None
    focus_missing: Annotated[
        list[str] | None,
        ABSENT_IF_NONE,
        Field(description="Focus words that occur nowhere in this memory."),
    ] = None
    duty_error: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="A missed duty and how to make up for it.")
    ] = None
    reminders: Annotated[
        list[str] | None,
        ABSENT_IF_NONE,
        Field(description="Duties that are due, one sentence each."),
    ] = None
    help_hits: Annotated[
        list[Help] | None,
        ABSENT_IF_NONE,
        Field(description="Help passages, when the query asks about this service."),
    ] = None
    open_tasks: Annotated[
        list[OpenTask] | None,
        ABSENT_IF_NONE,
        Field(description="Other sessions with an open task, newest first."),
    ] = None


# --- Messages that explain a search: its stages, and the reasons for each hit ----------------

Count = Annotated[int, Field(ge=0)]
Side = Annotated[Literal["query", "response"], Field(description="Side of the turn.")]


class Feature(Message):
    """One feature of the ranking model, for the best passage of a hit."""

    feature: Annotated[str, Field(description="Name in the ranking model.")]
    signal: Annotated[
        str,
        Field(
            description="Signal it belongs to: text, dense, neighbour, session, speaker, date or "
            "form."
        ),
    ]
    value: Annotated[float, Field(description="Value.")]
    rank: Annotated[
        int,
        Field(
            ge=1, description="Rank of the value among all passages considered; 1 is the largest."
        ),
    ]
    adds: Annotated[float, Field(description="Contribution to the score, added to start_score.")]


class Mark(Message):
    """A range of a hit's text that matches a word of the query."""

    side: Side
    start: Annotated[Count, Field(description="First character.")]
    end: Annotated[Count, Field(description="End, exclusive.")]


class Neighbour(Message):
    """The turn before or after a hit in its session, which contributes to the hit's score."""

    event_id: EventId
    place: Annotated[Literal["before", "after"], Field(description="Position relative to the hit.")]
    query: Annotated[str, Field(description="The user's message, possibly cut.")]
    response: Annotated[str, Field(description="The response, possibly cut.")]
    base: Annotated[
        float,
        Field(description="Own score by words and meaning, 0..1. The hit receives a share of it."),
    ]


class ExplainedHit(Hit):
    """A hit with the parts of its score."""

    side: Annotated[Literal["query", "response"], Field(description="Side with the best passage.")]
    passage: Annotated[
        int, Field(ge=1, description="Number of the passage within that side, from 1.")
    ]
    passage_start: Annotated[
        Count, Field(description="First character of the passage in that side of this hit.")
    ]
    passage_end: Annotated[
        Count, Field(description="End of the passage in that side of this hit, exclusive.")
    ]
    bm25: Annotated[float, Field(description="BM25 of the passage for the query.")]
    coverage: Annotated[
        float,
        Field(
            description="Share of the query's meaning that the words of the passage cover, 0..1."
        ),
    ]
    cosine: Annotated[
        float,
        Field(description="Cosine similarity of the vectors, -1..1; 0 without vectors."),
    ]
    features: Annotated[list[Feature], Field(description="All features of the ranking model.")]
    focus_lift: Annotated[float, Field(description="Contribution of focus words to raw_score.")]
    summary_lift: Annotated[
        float, Field(description="Contribution of a matching L1 that covers the turn.")
    ]
    history_lift: Annotated[
        float,
        Field(
            description="Contribution of a change that the question about an earlier time may be "
            "about."
        ),
    ]
    age_cost: Annotated[
        float, Field(description="Penalty for age, if the setting `decay_days` is not 0.")
    ]
    order_cost: Annotated[
        float,
        Field(description="Penalty because the turn looks like an instruction to its reader."),
    ]
    raw_score: Annotated[
        float,
        Field(
            description="start_score plus all features and lifts, minus the costs. Hits "
            "are sorted by it."
        ),
    ]
    marks: Annotated[
        list[Mark],
        Field(description="Positions of query words in `query` and `response`."),
    ]
    neighbours: Annotated[list[Neighbour], Field(description="Adjacent turns of the session.")]


class LeftOut(Message):
    """An event that nearly became a hit."""

    event_id: EventId
    query: Annotated[str, Field(description="The user's message, possibly cut.")]
    response: Annotated[str, Field(description="The response, possibly cut.")]
    raw_score: Annotated[float, Field(description="As in the hits.")]
    coverage: Annotated[
        float, Field(description="Share of the query's meaning that its best passage covers.")
    ]
    cosine: Annotated[float, Field(description="Cosine similarity of that passage.")]
    reason: Annotated[
        Literal["top_k", "max_tokens", "minimum"],
        Field(
            description="`top_k`, `max_tokens`: cut by that limit. `minimum`: below `min_score` or "
            "`min_answerable`."
        ),
    ]


class QuestionWord(Message):
    """A word of the query."""

    word: Annotated[str, Field(description="Word as typed.")]
    role: Annotated[
        Literal["meaning", "frequent", "stop"],
        Field(
            description="`meaning`: searched. `frequent`: searched by text only, because it "
            "occurs in nearly every turn. `stop`: not searched."
        ),
    ]
    passages: Annotated[
        Count, Field(description="Number of passages of this memory that contain it.")
    ]


class Looked(Message):
    """Size of a search."""

    events: Annotated[Count, Field(description="Events in the memory.")]
    passages: Annotated[Count, Field(description="Passages of those events.")]
    in_time: Annotated[Count, Field(description="Passages within `after` and `before`.")]
    ranked: Annotated[
        Count,
        Field(description="Passages ranked with all features. In a small memory, all of them."),
    ]
    matches: Annotated[
        Count, Field(description="Passages that share a word or enough meaning with the query.")
    ]


class Stage(Message):
    """One stage of the search, in order."""

    stage: Annotated[
        str,
        Field(
            description="Stage: index, words, embedding, vectors, fusion, focus, ranking, texts, "
            "cubes or session."
        ),
    ]
    ms: Annotated[float, Field(ge=0, description="Duration in milliseconds.")]


class Explanation(Message):
    """Answer of `POST /api/v7/memory/explain`: the hits of the same search, explained."""

    hits: Annotated[
        list[ExplainedHit],
        Field(description="Hits as a search returns them, best first, with explanations."),
    ]
    total_hits: Annotated[
        int, Field(description="Number of events that matched before the cut to `top_k`.")
    ]
    shared_cubes: Annotated[
        list[SharedCube], Field(description="Cubes relevant to the query, best first.")
    ]
    facts: Annotated[
        list[FactHit], Field(description="Critical facts that bear on the query, best first.")
    ] = []  # noqa: RUF012 - pydantic copies it
    instructions: Annotated[
        list[InstructionHit], Field(description="Standing instructions that apply, newest first.")
    ] = []  # noqa: RUF012 - pydantic copies it
    summaries: Annotated[
        list[SummaryHit],
        Field(description="L1s and lines of the map that bear on the query, best first."),
    ] = []  # noqa: RUF012 - pydantic copies it
    focus_missing: Annotated[
        list[str] | None,
        ABSENT_IF_NONE,
        Field(description="Focus words that occur nowhere in this memory."),
    ] = None
    help_hits: Annotated[
        list[Help] | None,
        ABSENT_IF_NONE,
        Field(description="Help passages, when the query asks about this service."),
    ] = None
    start_score: Annotated[
        float,
        Field(
            description="Raw score of a passage that shares nothing with the query. Features add "
            "to it."
        ),
    ]
    words: Annotated[list[QuestionWord], Field(description="Words of the query.")]
    vector_text: Annotated[
        str, Field(description="Text whose vector was searched; empty without vectors.")
    ]
    answerable: Annotated[
        float, Field(ge=0, le=1, description="As in the answer of the search.")
    ] = 0.0
    looked: Annotated[Looked, Field(description="Size of the search.")]
    left_out: Annotated[
        list[LeftOut], Field(description="Best events that are not hits, at most 5.")
    ]
    stages: Annotated[list[Stage], Field(description="Duration of each stage.")]
