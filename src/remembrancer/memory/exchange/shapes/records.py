"""Records that a shape reads from a source: turns, facts, and notes on what is not imported."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

from pydantic import Field, ValidationError

from ....protocol import limits
from ....protocol.memory import TurnText
from ....protocol.message import Id, Message
from ....protocol.text import Moment, Telling, Text

ORIGIN_CHARACTERS_MAX = 256
TURN_BYTES_MAX = limits.BODY_BYTES_MAX  # both sides in UTF-8, as in a request
DETAIL_CHARACTERS_MAX = 300  # of the description of an invalid record
_DIGEST_DIGITS = 16


class ImportRefused(ValueError):
    """The file cannot be imported. The message says where and why; nothing was stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeTurn:
    """One turn. `origin` identifies it in its source; `place` says where it stands there.

    With `has_given_id` the origin is an id that a person or a program chose: different turns may
    share it, for example if it counts the turns of each session.
    """

    place: str
    query: str
    response: str
    origin: str
    session_id: str = "default"
    user_id: str | None = None
    topic: str | None = None
    occurred_at: datetime | None = None
    has_given_id: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeFact:
    """One statement that holds from `valid_from` (None: import time) to `valid_to` (None: open)."""

    place: str
    text: str
    origin: str
    user_id: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutRecord:
    """Content that is not imported, with the reason."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidRecord:
    """A record that cannot be imported although it should be."""

    place: str
    detail: str

    def __str__(self) -> str:
        return f"{self.place}: {self.detail}"


Record = ShapeTurn | ShapeFact | LeftOutRecord | InvalidRecord


class ImportLine(TurnText):
    """One line of our own import format: an event, with an optional `id` of its own."""

    id: Annotated[Text, Field(min_length=1, max_length=ORIGIN_CHARACTERS_MAX)] | None = None
    user_id: Id | None = None
    session_id: Id = "default"


class _Statement(Message):
    text: Annotated[Telling, Field(max_length=limits.CRITICAL_CHARACTERS_MAX)]
    user_id: Id | None = None
    valid_from: Moment | None = None
    valid_to: Moment | None = None


def checked(records: Iterable[Record]) -> Iterator[Record]:
    """Yield records; turns and facts that the service would refuse become invalid records."""
    for record in records:
        detail = None
        if isinstance(record, ShapeTurn):
            detail = _turn_error(record)
        elif isinstance(record, ShapeFact):
            detail = _fact_error(record)
        yield record if detail is None else InvalidRecord(place=record.place, detail=detail)


def _turn_error(turn: ShapeTurn) -> str | None:
    try:
        ImportLine(
            id=turn.origin,
            user_id=turn.user_id,
            session_id=turn.session_id,
            query=turn.query,
            response=turn.response,
            topic=turn.topic,
            occurred_at=turn.occurred_at,
        )
    except ValidationError as error:
        return describe(error)
    size = len(turn.query.encode()) + len(turn.response.encode())
    if size > TURN_BYTES_MAX:
        return f"the turn has {size:,} bytes; at most {TURN_BYTES_MAX:,} are stored"
    return None


def _fact_error(fact: ShapeFact) -> str | None:
    try:
        _Statement(
            text=fact.text,
            user_id=fact.user_id,
            valid_from=fact.valid_from,
            valid_to=fact.valid_to,
        )
    except ValidationError as error:
        return describe(error)
    if fact.valid_from and fact.valid_to and fact.valid_to <= fact.valid_from:
        return "it ends (valid_to) before it begins (valid_from)"
    return None


def describe(error: ValidationError) -> str:
    """Return the first validation error with its location, on one line."""
    details = error.errors(include_input=False, include_url=False)[0]
    location = ".".join(str(step) for step in details["loc"])
    # The message already names the line of the file.
    message = re.sub(r" at line 1 column (\d+)", r", at character \1", details["msg"])
    return f"{location}: {message}" if location else message


def digest(*parts: str) -> str:
    """Return an origin made of texts: equal texts in the same order have the same origin."""
    # NUL separates the parts because no event text contains it
    joined = "\x00".join(parts).encode(errors="surrogatepass")
    return "sha256:" + hashlib.sha256(joined).hexdigest()


def readable_id(name: str) -> str | None:
    """Return an id of the service for a name of another product; None for an empty one.

    Control characters become spaces. A name that is too long is cut and ends in a part of its
    digest, so that two long names stay apart.
    """
    plain = "".join(" " if unicodedata.category(c) in ("Cc", "Cs") else c for c in name).strip()
    if len(plain) <= limits.ID_CHARACTERS_MAX:
        return plain or None
    ending = "-" + digest(name).removeprefix("sha256:")[:_DIGEST_DIGITS]
    return plain[: limits.ID_CHARACTERS_MAX - len(ending)] + ending


def readable_topic(title: object) -> str | None:
    """Return a topic for a title of another product, on one line; None for an empty one."""
    if not isinstance(title, str):
        return None
    line = " ".join(
        "".join(" " if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in title).split()
    )
    if len(line) > limits.TOPIC_CHARACTERS_MAX:
        line = line[: limits.TOPIC_CHARACTERS_MAX - 1].rstrip() + "…"
    return line or None


def statement(fact: ShapeFact, *, session_id: str, topic: str | None = None) -> Record:
    """Return a fact, or a turn with its text as the response if it is too long for a fact."""
    if len(fact.text.strip()) <= limits.CRITICAL_CHARACTERS_MAX:
        return replace(fact, text=fact.text.strip())
    return ShapeTurn(
        place=fact.place,
        query="",
        response=fact.text,
        origin=fact.origin,
        session_id=readable_id(session_id) or "default",
        user_id=fact.user_id,
        topic=topic,
        occurred_at=fact.valid_from,
    )


def one_line(text: object, most: int = DETAIL_CHARACTERS_MAX) -> str:
    """Return a text of unknown origin on one printable line, at most `most` characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)[: 4 * most]).split())
    return line if len(line) <= most else line[: most - 1] + "…"
