"""Messages that explain a search: its stages, and the reasons for each hit."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .cubes import SharedCube
from .message import ABSENT_IF_NONE, Message
from .search import EventId, FactHit, Help, Hit, InstructionHit, SummaryHit

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
