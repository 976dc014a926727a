"""What is said when memory is searched and written: requests and answers, as both sides see them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from . import limits
from .text import Moment, Text

Id = Annotated[Text, Field(min_length=1, max_length=limits.ID_CHARACTERS_MAX)]
Topic = Annotated[Text, Field(max_length=limits.TOPIC_CHARACTERS_MAX)]


EventId = Annotated[str, Field(description="Identifier of the event, to cite and to get it whole.")]
Occurred = Annotated[str, Field(description="The time it belongs to (RFC 3339, UTC).")]
Created = Annotated[str, Field(description="When it was kept (RFC 3339, UTC).")]
Saved = Annotated[bool, Field(description="True once it is durable and the next search finds it.")]


class Message(BaseModel):
    """Strict types (the text "5" is no integer), unknown fields ignored, never changed after it was made."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


def _example(body: dict[str, Any], **rules: Any) -> ConfigDict:
    """A whole body for the documentation, which a test sends to the real service; `rules` go into the schema."""
    return ConfigDict(json_schema_extra={"examples": [body], **rules})


def _is_none(value: object) -> bool:
    return value is None


ABSENT_IF_NONE = Field(exclude_if=_is_none)  # for members of an answer that are there only when they say something


class MemoryQuery(Message):
    """Body of `POST /api/v7/memory`."""

    model_config = _example({"query_text": "When does the ferry leave?", "user_id": "ada", "focus_words": ["ferry"], "top_k": 3})

    query_text: Annotated[
        Text, Field(min_length=1, max_length=limits.QUERY_CHARACTERS_MAX, description="What to look for, in any language.")
    ]
    user_id: Annotated[Id, Field(description="Whose memory: a space inside the key's account.")]
    focus_words: Annotated[
        list[Annotated[Text, Field(min_length=1, max_length=limits.FOCUS_WORD_CHARACTERS_MAX)]],
        Field(max_length=limits.FOCUS_WORDS_MAX, description="Exact words or phrases that lift the events containing them."),
    ] = []
    top_k: Annotated[int, Field(ge=1, le=limits.TOP_K_MAX, description="How many hits at most.")] = limits.TOP_K_DEFAULT
    session_id: Annotated[Id, Field(description="The session that asks.")] = "default"
    interact: Annotated[bool, Field(description="True: this search is a turn and counts a step. False: only read.")] = True
    last_seal: Annotated[
        Annotated[Text, Field(max_length=limits.SEAL_CHARACTERS_MAX)] | None, Field(description="Seal of the previous turn.")
    ] = None
    after: Annotated[Moment | None, Field(description="Only what occurred at or after this time (RFC 3339).")] = None
    before: Annotated[Moment | None, Field(description="Only what occurred before this time (RFC 3339).")] = None
    max_tokens: Annotated[
        int | None, Field(ge=1, le=limits.TOKENS_MAX, description="A budget for the hits' text, in tokens of about 4 characters.")
    ] = None


class Signal(Message):
    """One reason why an event was found: where it stood in that ranking (1 = best) and its value there (0..1)."""

    signal: Annotated[str, Field(description="Which: dense, text, focus, session, neighbour, date, speaker.")]
    rank: Annotated[int | None, ABSENT_IF_NONE, Field(description="Its place in that ranking; absent where there is none.")] = None
    value: Annotated[float, Field(description="0..1, higher is better.")]


class Hit(Message):
    """One event found. `query` and `response` may be snippets; the event detail has the whole text."""

    event_id: EventId
    session_id: Annotated[str, Field(description="The session it was said in.")]
    topic: Annotated[str | None, Field(description="Its topic, when it was given one.")]
    query: Annotated[str, Field(description="The user's message, or the part of it that answers.")]
    response: Annotated[str, Field(description="The answer given then, or the part of it that answers.")]
    occurred_at: Occurred
    created_at: Created
    score: Annotated[float, Field(ge=0, le=1, description="0..1, higher is better.")]
    why: Annotated[list[Signal], Field(description="Which signals found it.")]


class MemoryAnswer(Message):
    """Answer of `POST /api/v7/memory`. Hits are best first; the first is the center hit."""

    hits: Annotated[list[Hit], Field(description="The events found, best first; the first is the center hit.")]
    shared_cubes: Annotated[list[dict[str, Any]], Field(description="Lessons that bear on the query.")] = []
    step: Annotated[int, Field(description="For the seal of this turn.")]
    total_hits: Annotated[int, Field(description="How many events matched, before the cut to `top_k`.")]
    focus_missing: Annotated[list[str] | None, ABSENT_IF_NONE, Field(description="Focus words that occur nowhere in this memory.")] = None


_ONE_SIDE = [{"properties": {side: {"pattern": r"\S"}}} for side in ("query", "response")]  # what `_says_something` checks


class TurnText(Message):
    """The two sides of a turn, which belong to a time. One side may be empty, not both."""

    query: Annotated[Text, Field(description="The user's message.")]
    response: Annotated[Text, Field(description="The clean answer shown to the user.")]
    topic: Annotated[Topic | None, Field(description="What it is about, in a word or a line.")] = None
    occurred_at: Annotated[Moment | None, Field(description="When it was said (RFC 3339). Default: now.")] = None

    @model_validator(mode="after")
    def _says_something(self) -> TurnText:
        if not self.query.strip() and not self.response.strip():
            raise ValueError("query and response are both empty: there is nothing to keep")
        return self


class Turn(TurnText):
    """Body of `POST /api/v7/remember`."""

    model_config = _example(
        {
            "query": "When does the ferry leave?",
            "response": "At 9:40 from Piombino, pier 3.",
            "session_id": "summer-trip",
            "topic": "travel",
            "occurred_at": "2026-03-01T09:30:00Z",
        },
        anyOf=_ONE_SIDE,
    )

    user_id: Annotated[Id | None, Field(description="Default: the key's pin, else the account's own name.")] = None
    session_id: Annotated[Id, Field(description="The session this turn belongs to.")] = "default"


class Remembered(Message):
    """Answer of `POST /api/v7/remember`: `saved` is true only once the event is durable and searchable."""

    saved: Saved
    event_id: EventId
    step: Annotated[int, Field(description="Of the last search in this session that counted.")]


class EventWrite(TurnText):
    """Body of `POST /api/v7/event/write`."""

    model_config = _example(
        {"query": "Where is the spare key?", "response": "Under the blue flower pot.", "user_id": "ada", "session_id": "house"},
        anyOf=_ONE_SIDE,
    )

    user_id: Annotated[Id, Field(description="Whose memory: a space inside the key's account.")]
    session_id: Annotated[Id, Field(description="The session this turn belongs to.")] = "default"


class EventWritten(Message):
    """Answer of `POST /api/v7/event/write`."""

    saved: Saved
    event_id: EventId


class Event(Message):
    """Answer of `GET /api/v7/event/{event_id}`: the turn as it was said."""

    event_id: EventId
    user_id: Annotated[str, Field(description="Whose memory it is in.")]
    session_id: Annotated[str, Field(description="The session it was said in.")]
    topic: Annotated[str | None, Field(description="Its topic, when it was given one.")]
    query: Annotated[str, Field(description="The user's message, whole.")]
    response: Annotated[str, Field(description="The answer given then, whole.")]
    raw_dialogue: Annotated[str, Field(description="Both sides word for word, each after who said it.")]
    occurred_at: Occurred
    created_at: Created
