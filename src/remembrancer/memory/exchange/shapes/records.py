"""Records that a shape reads from a source, and how readers make them.

Turns, facts, and notes on what is not imported; times as other products write them; the turns of a
dialogue: a user's message with the assistant's answers that follow it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from ....protocol import limits
from ....protocol.filters import Metadata
from ....protocol.imports import ImportFact, ImportTurn
from ....protocol.message import first_fault
from ....protocol.sources import USUAL

TURN_BYTES_MAX = limits.BODY_BYTES_MAX  # both sides in UTF-8, as in a request
DETAIL_CHARACTERS_MAX = 300  # of the description of an invalid record
_DIGEST_DIGITS = 16


class ImportRefused(ValueError):
    """The file cannot be imported. The message says where and why; nothing was stored."""


class EntryLeftOut(Exception):
    """An entry that is not imported. The message is the reason."""


class EntryInvalid(ValueError):
    """An entry that cannot be imported although it should be. The message says what is wrong."""


class Reason(StrEnum):
    """Why something is not imported."""

    SYSTEM = "system prompt"
    THINKING = "thinking"
    TOOL_CALL = "tool call"
    TOOL_RESULT = "tool result"
    MACHINE = "notice of the program"
    MEDIA = "image, audio or file"
    BRANCH = "other branch"
    EMPTY = "no text"
    SUBAGENT = "subagent"
    RELATION = "relation derived from memories"
    DERIVED = "summary derived from facts"
    TEMPLATE = "template"
    SESSION = "session without text of its own"
    OTHER_FILE = "file of another kind"
    OTHER_PART = "part of another kind"
    METADATA = "metadata that is no text, number, boolean or list of texts, or too much"
    LINK = "symbolic link"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutRecord:
    """Content that is not imported, with the reason."""

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


class InvalidRecord(LeftOutRecord):
    """A record that cannot be imported although it should be."""


Record = ImportTurn | ImportFact | LeftOutRecord
Part = TypeVar("Part")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An object of a document. `key` is the member of the top object whose list it is in."""

    place: str
    value: dict[str, Any]
    key: str | None = None

    def invalid(self, reason: str) -> InvalidRecord:
        """Return the record that says what is wrong with it."""
        return InvalidRecord(place=self.place, reason=reason)

    def left_out(self, reason: str) -> LeftOutRecord:
        """Return the record that says why it is not imported."""
        return LeftOutRecord(place=self.place, reason=reason)

    def inside(self, where: str) -> Entry:
        """Return the entry with a more exact place."""
        return replace(self, place=f"{self.place}, {where}")

    def other(self) -> Iterator[LeftOutRecord]:
        """Yield that no reader knows the list that it is in. A single value is no list."""
        if self.value.keys() != {"value"}:
            yield self.left_out(Reason.OTHER_PART)


MaybeEntry = Entry | InvalidRecord


def object_at(place: str, value: object, key: str | None = None) -> MaybeEntry:
    """Return the entry of an object, or the invalid record of anything else."""
    if isinstance(value, dict):
        return Entry(place=place, value=value, key=key)
    return InvalidRecord(place=place, reason="expected an object")


def each(
    entries: Iterable[MaybeEntry], read: Callable[[Entry], Iterator[Part]]
) -> Iterator[Part | LeftOutRecord]:
    """Yield what a function reads from each entry; what is invalid already is passed through.

    The function raises EntryLeftOut or EntryInvalid to read no more of an entry.
    """
    for entry in entries:
        if isinstance(entry, InvalidRecord):
            yield entry
            continue
        try:
            yield from read(entry)
        except EntryLeftOut as error:
            yield entry.left_out(str(error))
        except EntryInvalid as error:
            yield entry.invalid(str(error))


def turn_record(place: str, *, session: str, **fields: Any) -> ImportTurn | InvalidRecord:
    """Return a turn that alone has its id, or what the service would refuse as invalid.

    `session` names its session in the other product.
    """
    try:
        return ImportTurn(is_unique=True, session_id=readable_id(session) or "default", **fields)
    except ValidationError as error:
        return InvalidRecord(place=place, reason=describe(error))


def describe(error: ValidationError) -> str:
    """Return the first validation error with its location, on one line."""
    # The message already names the line of the file.
    return re.sub(r" at line 1 column (\d+)", r", at character \1", first_fault(error))


def digest(*parts: str) -> str:
    """Return an origin made of texts: equal texts in the same order have the same origin."""
    # NUL separates the parts because no event text contains it
    joined = "\x00".join(parts).encode(errors="surrogatepass")
    return "sha256:" + hashlib.sha256(joined).hexdigest()


_metadata: TypeAdapter[dict[str, Any]] = TypeAdapter(Metadata)


def fitting_metadata(
    entry: Entry, found: Mapping[str, Any]
) -> tuple[dict[str, Any] | None, list[LeftOutRecord]]:
    """Return what the service can keep of another product's metadata, and what is left out.

    Values of None and empty lists say nothing and are in neither.
    """
    kept: dict[str, Any] = {}
    left_out = []
    for key, value in found.items():
        if value is None or value == []:
            continue
        try:
            _metadata.validate_python({**kept, key: value})
        except ValidationError:
            left_out.append(entry.inside(f"metadata {one_line(key, 60)}").left_out(Reason.METADATA))
        else:
            kept[key] = value
    return kept or None, left_out


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


def statement(
    place: str, text: str, *, session: str, topic: str | None = None, **fields: Any
) -> Record:
    """Return a fact with these fields, or a turn with its text as the response if it is too long
    for a fact.
    """
    try:
        if len(text.strip()) <= limits.CRITICAL_CHARACTERS_MAX:
            return ImportFact(text=text.strip(), **fields)
    except ValidationError as error:
        return InvalidRecord(place=place, reason=describe(error))
    starts = fields.pop("valid_from", None)
    fields.pop("valid_to", None)
    sides = {"query": "", "response": text, "topic": topic, "occurred_at": starts}
    return turn_record(place, session=session, **sides, **fields)


def one_line(text: object, most: int = DETAIL_CHARACTERS_MAX) -> str:
    """Return a text of unknown origin on one printable line, at most `most` characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)[: 4 * most]).split())
    return line if len(line) <= most else line[: most - 1] + "…"


# --- Times -------------------------------------------------------------------------------------

MS_FROM = 100_000_000_000  # a larger number is in ms: as seconds it would be after the year 5138
YEAR_FIRST, YEAR_LAST = 2, 9998  # the first and last year overflow in other time zones
_FRACTION = re.compile(r"(\.\d{6})\d+")  # more digits than microseconds


class TimeUnknown(EntryInvalid):
    """A time that cannot be read. The message quotes its beginning."""


def moment(value: object) -> datetime | None:
    """Return a time in UTC or with its own offset; None for an absent or empty value.

    Reads ISO 8601 with any number of fractional digits, a date alone, and seconds or milliseconds
    since 1970 as a number or as digits. A time without an offset is in UTC. Raises TimeUnknown.
    """
    if value is None or value == "":
        return None
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        raise TimeUnknown(f"cannot read a time of type {type(value).__name__}")
    try:
        when = _written(value.strip()) if isinstance(value, str) else _since_1970(float(value))
    except (ValueError, OverflowError, OSError) as error:
        quoted = repr(value[:40]) if isinstance(value, str) else "of this number"
        raise TimeUnknown(f"cannot read the time {quoted}") from error
    if not YEAR_FIRST <= when.year <= YEAR_LAST:
        raise TimeUnknown(f"the year {when.year} is out of range")
    return when


def start_before(start: datetime | None, end: datetime | None) -> datetime | None:
    """Return the start of a period, 1 ms before its end if it is the time of a later record."""
    if start is None or end is None or start < end:
        return start
    return end - timedelta(milliseconds=1)


def _since_1970(number: float) -> datetime:
    seconds = number / 1000 if abs(number) > MS_FROM else number
    return datetime.fromtimestamp(seconds, UTC)


def _written(text: str) -> datetime:
    if re.fullmatch(r"-?\d{9,14}(\.\d{1,9})?", text, re.ASCII):
        return _since_1970(float(text))
    parsed = datetime.fromisoformat(_FRACTION.sub(r"\1", text).replace(" UTC", "+00:00"))
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


# --- Dialogues ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueMessage:
    """One message of the dialogue. `role` is "user" or "assistant"."""

    place: str
    role: str
    text: str
    id: str = ""
    at: datetime | None = None


DialoguePart = DialogueMessage | LeftOutRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueSession:
    """The conversation that messages belong to. `key` identifies it in its product.

    `has_unique_ids`: ids of messages are unique beyond the conversation, and copies keep them.
    """

    shape: str
    key: str
    user_id: str | None = None
    topic: str | None = None
    started_at: datetime | None = None
    has_unique_ids: bool = False


def conversation(
    entry: Entry,
    name: str,
    read: Callable[[Entry], Iterator[DialoguePart]],
    session: DialogueSession,
    created: str = "created_at",
) -> Iterator[Record]:
    """Yield the turns of one conversation.

    `name` is the member that lists its messages, which `read` reads; `created` that of its time.
    Raises EntryInvalid.
    """
    messages = entry.value.get(name)
    if not isinstance(messages, list):
        raise EntryInvalid(f"it has no list `{name}`")
    try:
        session = replace(session, started_at=moment(entry.value.get(created)))
    except TimeUnknown as error:
        yield entry.invalid(str(error))
    yield from turns(each(numbered(messages, entry.place), read), session)


def numbered(messages: Iterable[object], place: str) -> Iterator[MaybeEntry]:
    """Yield the messages of a conversation at a place; an invalid record for one that is none."""
    for number, message in enumerate(messages, 1):
        yield object_at(f"{place}, message {number}", message)


def turns(messages: Iterable[DialoguePart], session: DialogueSession) -> Iterator[Record]:
    """Yield the turns of one conversation, in order; pass other records through.

    Answers up to the next message of the user are joined by a blank line. A message without an
    answer is a turn of its own, as is an answer without a message. The turn has the time of its
    first message.
    """
    current: list[DialogueMessage] = []
    size = 0
    for message in messages:
        if not isinstance(message, DialogueMessage):
            yield message
            continue
        if not message.text.strip():
            yield LeftOutRecord(place=message.place, reason=Reason.EMPTY)
            continue
        if current and message.role == "user":
            yield _turn(current, session)
            current, size = [], 0
        # A turn above the limit is refused anyway: its further text need not be held in memory.
        if size <= TURN_BYTES_MAX:
            current.append(message)
            size += len(message.text)
    if current:
        yield _turn(current, session)


def _turn(messages: Sequence[DialogueMessage], session: DialogueSession) -> Record:
    first = messages[0]
    if sum(len(one.text) for one in messages) > TURN_BYTES_MAX:
        reason = f"the turn has more than {TURN_BYTES_MAX:,} bytes"
        return InvalidRecord(place=first.place, reason=reason)
    query, response = (
        "\n\n".join(one.text for one in messages if one.role == role)
        for role in ("user", "assistant")
    )
    key = "" if session.has_unique_ids and first.id else session.key
    return turn_record(
        first.place,
        query=query,
        response=response,
        # With the texts: a conversation that grew after an import has more to say in this turn.
        id=digest(session.shape, key, first.id, query, response),
        session=session.key,
        source=USUAL,  # by the roles of its messages
        user_id=session.user_id,
        topic=session.topic,
        occurred_at=first.at or session.started_at,
    )


def spoken(
    entry: Entry,
    role: str,
    text: str,
    left_out: Sequence[LeftOutRecord] = (),
    *,
    key: str = "",
    at: object = None,
) -> Iterator[DialoguePart]:
    """Yield what is left out of a message, and the message if it has text or nothing else.

    Raises TimeUnknown if `at`, the product's time, cannot be read.
    """
    yield from left_out
    if text.strip() or not left_out:
        yield DialogueMessage(place=entry.place, role=role, text=text, id=key, at=moment(at))


def content_texts(entry: Entry, content: object) -> tuple[str, list[LeftOutRecord]]:
    """Return the text of a message's content: a string, or a list of parts with a `type`.

    Parts of type text, input_text and output_text are joined by line feeds. Others are left out,
    with the reason that PART_REASONS has for their type (default: an image, audio or file).
    """
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    left_out: list[LeftOutRecord] = []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            texts.append(part)
            continue
        kind = part.get("type") if isinstance(part, dict) else None
        text = part.get("text") if isinstance(part, dict) else None
        if kind in ("text", "input_text", "output_text") and isinstance(text, str):
            texts.append(text)
        else:
            left_out.append(entry.left_out(PART_REASONS.get(str(kind), Reason.MEDIA)))
    return "\n".join(texts), left_out


PART_REASONS = {
    "thinking": Reason.THINKING,
    "redacted_thinking": Reason.THINKING,
    "reasoning": Reason.THINKING,
    "omitted_reasoning": Reason.THINKING,
    "tool_use": Reason.TOOL_CALL,
    "tool_call": Reason.TOOL_CALL,
    "function_call": Reason.TOOL_CALL,
    "server_tool_use": Reason.TOOL_CALL,
    "tool_result": Reason.TOOL_RESULT,
    "tool_return": Reason.TOOL_RESULT,
    "web_search_tool_result": Reason.TOOL_RESULT,
    "token_budget": Reason.MACHINE,
    "flag": Reason.MACHINE,
}


def text_of(record: dict[str, Any], *keys: str) -> str:
    """Return the first of these members that is a string with text, or an empty string."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list; an empty list for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
