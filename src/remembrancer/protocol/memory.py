"""What is said when memory is searched and written: requests and answers, as both sides see them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from . import limits
from .text import Moment, Text

Id = Annotated[Text, Field(min_length=1, max_length=limits.ID_CHARACTERS_MAX)]
Topic = Annotated[Text, Field(max_length=limits.TOPIC_CHARACTERS_MAX)]


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

    signal: str  # dense, text, focus, session, neighbour, date, speaker
    rank: Annotated[int | None, ABSENT_IF_NONE] = None
    value: float


class Hit(Message):
    """One event found. `query` and `response` may be snippets; the event detail has the whole text."""

    event_id: str
    session_id: str
    topic: str | None
    query: str
    response: str
    occurred_at: str
    created_at: str
    score: Annotated[float, Field(ge=0, le=1)]
    why: list[Signal]


class MemoryAnswer(Message):
    """Answer of `POST /api/v7/memory`. Hits are best first; the first is the center hit."""

    hits: list[Hit]
    shared_cubes: list[dict[str, Any]] = []
    step: int
    total_hits: int
    focus_missing: Annotated[list[str] | None, ABSENT_IF_NONE, Field(description="Focus words that occur nowhere in this memory.")] = None


_ONE_SIDE = [{"properties": {side: {"pattern": r"\S"}}} for side in ("query", "response")]  # what `_says_something` checks


class TurnText(Message):
    """The two sides of a turn, which belong to a time. One side may be empty, not both."""

    query: Annotated[Text, Field(description="The user's message.")]
    response: Annotated[Text, Field(description="The clean answer shown to the user.")]
    topic: Topic | None = None
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

    saved: bool
    event_id: str
    step: int


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

    saved: bool
    event_id: str


class Event(Message):
    """Answer of `GET /api/v7/event/{event_id}`: the turn as it was said."""

    event_id: str
    user_id: str
    session_id: str
    topic: str | None
    query: str
    response: str
    raw_dialogue: str
    occurred_at: str
    created_at: str
