"""What is said about a search:

every stage of it, and why each event was found where it was, or was not.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .cubes import SharedCube
from .memory import EventId, Help, Hit
from .message import ABSENT_IF_NONE, Message

Count = Annotated[int, Field(ge=0)]
Side = Annotated[Literal["query", "response"], Field(description="The side of the turn.")]
Best = Annotated[float, Field(description="The best value of this memory.")]
Needed = Annotated[
    float, Field(description="What one of its parts must reach, unless another measure is reached.")
]


class Feature(Message):
    """One thing that the ranking weighs, for the passage of the hit that answers best."""

    feature: Annotated[str, Field(description="Its name in the ranking model.")]
    signal: Annotated[
        str,
        Field(
            description="The signal it belongs to: text, dense, neighbour, session, speaker, date, or form."
        ),
    ]
    value: Annotated[float, Field(description="Its value.")]
    rank: Annotated[
        int,
        Field(ge=1, description="Where that stands among all passages looked at; 1 = the largest."),
    ]
    adds: Annotated[float, Field(description="What it adds to start_score.")]


class Mark(Message):
    """Characters of a hit's snippet that a word of the question stands in."""

    side: Side
    start: Annotated[Count, Field(description="The first character.")]
    end: Annotated[Count, Field(description="The one after the last.")]


class Neighbour(Message):
    """The turn before or after a hit in its session, which lends it some of its own score."""

    event_id: EventId
    place: Annotated[
        Literal["before", "after"], Field(description="On which side of the hit it was said.")
    ]
    query: Annotated[str, Field(description="The user's message, or its beginning.")]
    response: Annotated[str, Field(description="The answer given then, or its beginning.")]
    base: Annotated[
        float,
        Field(
            description="How well it fits by itself, by words and meaning: 0..1. The hit takes a share of that."
        ),
    ]


class ExplainedHit(Hit):
    """A hit as the search gives it, with what put it at its place."""

    side: Annotated[Literal["query", "response"], Field(description="The side that answers best.")]
    passage: Annotated[int, Field(ge=1, description="Which passage of that side, from 1.")]
    bm25: Annotated[float, Field(description="BM25 of that passage for the words of the question.")]
    coverage: Annotated[
        float, Field(description="The share of the question's meaning that its words hold: 0..1.")
    ]
    cosine: Annotated[
        float,
        Field(description="How near its vector is to the question's: -1..1; 0 without vectors."),
    ]
    features: Annotated[list[Feature], Field(description="All that the ranking weighs.")]
    focus_lift: Annotated[float, Field(description="What focus words add to raw_score.")]
    order_cost: Annotated[
        float,
        Field(
            description="What is taken from it because the turn seems to give orders to its reader."
        ),
    ]
    raw_score: Annotated[
        float,
        Field(
            description="start_score and what all features and focus words add, less order_cost: hits are sorted by it."
        ),
    ]
    marks: Annotated[
        list[Mark],
        Field(description="Where words of the question stand in `query` and `response`."),
    ]
    neighbours: Annotated[list[Neighbour], Field(description="The turns beside it in its session.")]


class LeftOut(Message):
    """An event that came near and is no hit."""

    event_id: EventId
    query: Annotated[str, Field(description="The user's message, or its beginning.")]
    response: Annotated[str, Field(description="The answer given then, or its beginning.")]
    raw_score: Annotated[float, Field(description="As that of the hits.")]
    coverage: Annotated[
        float, Field(description="The share of the question's meaning that its best passage holds.")
    ]
    cosine: Annotated[float, Field(description="How near that passage is to the question.")]
    reason: Annotated[
        Literal["weak", "top_k", "max_tokens"],
        Field(
            description="`weak`: neither words nor meaning reach the floor; `top_k`, `max_tokens`: there was no room for it."
        ),
    ]


class QuestionWord(Message):
    """A word of the question."""

    word: Annotated[str, Field(description="As it was typed.")]
    role: Annotated[
        Literal["meaning", "frequent", "stop"],
        Field(
            description="`meaning`: searched for; `frequent`: by words alone, it is in nearly every turn here; `stop`: not searched for."
        ),
    ]
    passages: Annotated[Count, Field(description="How many passages of this memory hold it.")]


class Threshold(Message):
    """What a memory's best passage reaches, and what is needed."""

    best: Best
    needed: Needed


class Gate(Message):
    """Whether the memory knows anything about the question at all:

    one of its passages must reach one of the two.
    """

    open: Annotated[
        bool,
        Field(
            description="False: nothing fits well enough, and there are no hits but by focus words."
        ),
    ]
    coverage: Annotated[
        Threshold, Field(description="The share of the question's meaning that a passage holds.")
    ]
    cosine: Annotated[Threshold, Field(description="How near a passage's vector is.")]


class Looked(Message):
    """How much was looked at."""

    events: Annotated[Count, Field(description="Events of the memory.")]
    passages: Annotated[Count, Field(description="Their passages.")]
    in_time: Annotated[Count, Field(description="Those within `after` and `before`.")]
    ranked: Annotated[
        Count, Field(description="Those that were ranked with all features; in a small memory all.")
    ]
    strong: Annotated[Count, Field(description="Those strong enough to be returned.")]


class Stage(Message):
    """One stage of the search, in the order they were gone through."""

    stage: Annotated[
        str,
        Field(
            description="index, words, embedding, vectors, fusion, focus, ranking, texts, cubes, session."
        ),
    ]
    ms: Annotated[float, Field(ge=0, description="How long it took, in milliseconds.")]


class Explanation(Message):
    """Answer of `POST /api/v7/memory/explain`. Its hits are those that the same search gives."""

    hits: Annotated[
        list[ExplainedHit],
        Field(description="The events found, best first, as a search gives them, and why."),
    ]
    total_hits: Annotated[
        int, Field(description="How many events matched, before the cut to `top_k`.")
    ]
    shared_cubes: Annotated[
        list[SharedCube], Field(description="Lessons that bear on the query, best first.")
    ]
    focus_missing: Annotated[
        list[str] | None,
        ABSENT_IF_NONE,
        Field(description="Focus words that occur nowhere in this memory."),
    ] = None
    help_hits: Annotated[
        list[Help] | None,
        ABSENT_IF_NONE,
        Field(description="Help, when the query asks about this service."),
    ] = None
    start_score: Annotated[
        float,
        Field(
            description="The raw score of a passage with nothing of the question in or around it. Features add to it."
        ),
    ]
    words: Annotated[list[QuestionWord], Field(description="The question, word by word.")]
    vector_text: Annotated[
        str, Field(description="The text whose vector was looked for; empty without vectors.")
    ]
    gate: Annotated[
        Gate | None, ABSENT_IF_NONE, Field(description="Absent where there is no memory yet.")
    ] = None
    looked: Annotated[Looked, Field(description="How much of the memory was looked at.")]
    left_out: Annotated[
        list[LeftOut], Field(description="The events that came nearest to being hits, at most 5.")
    ]
    stages: Annotated[list[Stage], Field(description="How long each stage took.")]
