"""Import conversations: JSON lines in our own format, or JSON in the format of LoCoMo.

Every imported event has an origin, and an origin that a space already holds is skipped. An
interrupted import can therefore be run again, and running one twice changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from ...accounts import require_write, space_user_id
from ...context import Caller, Context
from ...protocol.memory import TurnText
from ...protocol.message import Id, Message
from ...protocol.text import Text
from ...search import EventText, IndexEntry, index_entries
from ...settings import Settings
from ...store import Transaction
from ..spaces import SQL, milliseconds, offset_minutes, space_of
from ..write.turns import Intake, SessionAddress, TurnTimes, store_turn

BATCH = 64  # events embedded and written together
ORIGIN_CHARACTERS_MAX = 256
_BOM = b"\xef\xbb\xbf"
_DATE_FORMAT = "%I:%M %p on %d %B, %Y"  # 1:56 pm on 8 May, 2023


class ImportRefused(ValueError):
    """The file cannot be imported. The message says where and why; nothing was stored."""


class ImportLine(TurnText):
    """One line of our own import format: an event, with an optional `id` of its own."""

    id: Annotated[Text, Field(min_length=1, max_length=ORIGIN_CHARACTERS_MAX)] | None = None
    user_id: Id | None = None
    session_id: Id = "default"


class LocomoTurn(Message):
    """One turn of a conversation in LoCoMo format."""

    speaker: Text
    text: Text
    blip_caption: Text | None = None

    def __str__(self) -> str:
        return f"{self.speaker}: {self.text}" + (
            f" [image: {self.blip_caption}]" if self.blip_caption else ""
        )


_TURNS = TypeAdapter(list[LocomoTurn])


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """Counts of an import."""

    stored: int
    duplicates: int  # stored by an earlier import


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTurn:
    """One event to import."""

    origin: str
    user_id: str
    session_id: str
    text: EventText
    occurred_offset: int  # minutes east of UTC
    flags: tuple[str, ...]  # set while screening its texts


class ImportSource:
    """A file that was checked from end to end.

    Iterates over `len` events, in order, as often as needed.
    """

    def __init__(
        self, lines: Callable[[], Iterable[ImportLine]], take: Callable[[ImportLine], ImportedTurn]
    ) -> None:
        self._lines, self._take = lines, take
        self._count = sum(1 for _ in self)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[ImportedTurn]:
        return map(self._take, self._lines())


def read(
    context: Context, caller: Caller, path: Path, *, user_id: str | None = None
) -> ImportSource:
    """Check a whole file before anything is stored. `user_id` overrides the one in the file.

    JSON lines are read twice, now and during iteration, so that a long file need not fit into
    memory. Raises ImportRefused naming the line or the place in the conversation, and
    PinnedToOtherUser for a pinned key with another user_id.
    """
    now_ms = context.clock()

    def take(line: ImportLine) -> ImportedTurn:
        return _imported_turn(
            line,
            space_user_id(caller, user_id if user_id is not None else line.user_id),
            now_ms,
            context.settings,
        )

    try:
        samples = None if _is_lines(path) else _samples(path)
    except OSError as error:
        raise ImportRefused(f"{path}: {error.strerror or error}") from error
    if samples is None:
        return ImportSource(partial(_json_lines, path), take)
    lines = [
        line
        for place, sample in enumerate(samples, 1)
        for line in _conversation(sample, path, place, alone=user_id is None)
    ]
    return ImportSource(lambda: lines, take)


def store(
    context: Context,
    caller: Caller,
    events: Iterable[ImportedTurn],
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> ImportResult:
    """Store events in batches. Call `progress` with the size of each batch.

    An interrupted call can be repeated at any time. Raises KeyIsReadOnly, StoreUnavailable,
    EmbedderUnavailable.
    """
    require_write(caller)
    stored = duplicates = 0
    remaining = iter(events)
    while batch := list(islice(remaining, BATCH)):
        new = context.store.read(partial(_not_imported, batch), account_id=caller.account_id)
        stored_now = 0
        if new:
            entries = [
                replace(entry, flags=entry.flags + event.flags)
                for entry, event in zip(
                    index_entries(context.embedder, [event.text for event in new]), new, strict=True
                )
            ]
            stored_now = context.store.write(
                partial(_write, context, caller, new, entries), account_id=caller.account_id
            )
        stored, duplicates = stored + stored_now, duplicates + len(batch) - stored_now
        progress(len(batch))
    return ImportResult(stored=stored, duplicates=duplicates)


def _not_imported(batch: list[ImportedTurn], tx: Transaction) -> list[ImportedTurn]:
    return [event for event in batch if not _is_imported(tx, event)]


def _is_imported(tx: Transaction, event: ImportedTurn) -> bool:
    space = tx.one_or_none(SQL.space_of, user_id=event.user_id)
    return (
        space is not None
        and tx.one_or_none(SQL.event_of_origin, space_id=space.id, origin=event.origin) is not None
    )


def _write(
    context: Context,
    caller: Caller,
    new: list[ImportedTurn],
    entries: list[IndexEntry],
    tx: Transaction,
) -> int:
    stored = 0
    for event, entry in zip(new, entries, strict=True):
        if _is_imported(tx, event):  # repeated in the file, or stored by a concurrent import
            continue
        address = SessionAddress(
            account_id=caller.account_id, user_id=event.user_id, session_id=event.session_id
        )
        turn = store_turn(
            context, tx, address, event.text, entry, times=TurnTimes(event.occurred_offset)
        )
        tx.run(SQL.add_origin, space_id=space_of(turn.row), origin=event.origin, event=turn.row)
        stored += 1
    return stored


def _imported_turn(line: ImportLine, user_id: str, now_ms: int, settings: Settings) -> ImportedTurn:
    occurred_ms = milliseconds(line.occurred_at, now_ms)
    intake = Intake(settings=settings)
    text = EventText(
        query=intake.screen(line.query),
        response=intake.screen(line.response),
        topic=None if line.topic is None else intake.screen(line.topic),
        occurred_ms=occurred_ms,
    )
    occurred = "" if line.occurred_at is None else str(occurred_ms)
    origin = line.id or _digest(
        line.session_id, line.query, line.response, line.topic or "", occurred
    )
    return ImportedTurn(
        origin=origin,
        user_id=user_id,
        session_id=line.session_id,
        text=text,
        occurred_offset=offset_minutes(line.occurred_at),
        flags=intake.flags,
    )


def _digest(*parts: str) -> str:
    # NUL separates the parts because no event text contains it
    return "sha256:" + hashlib.sha256("\x00".join(parts).encode()).hexdigest()


def _is_lines(path: Path) -> bool:
    """Return True if the first non-blank line is a complete JSON object and not a conversation.

    Raises ImportRefused, OSError.
    """
    if not path.is_file():
        raise ImportRefused(f"{path}: {'not a regular file' if path.exists() else 'no such file'}")
    with path.open("rb") as file:
        for raw in file:
            if first := raw.removeprefix(_BOM).strip():
                try:
                    parsed = json.loads(first)
                except (ValueError, RecursionError):
                    return False
                return isinstance(parsed, dict) and "conversation" not in parsed
    return True


def _samples(path: Path) -> list[Any] | None:
    """Return the conversations of a file that is one JSON text, or None if it is not one.

    None leaves it to the line reader to report the invalid line. Raises ImportRefused.
    """
    try:
        whole = json.loads(path.read_bytes().decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        if not re.match(
            r"\s*(\[|\{\s*\n)", error.doc
        ):  # presumably JSON lines with an invalid event
            return None
        raise ImportRefused(f"{path}, line {error.lineno}: {error.msg}") from error
    except (UnicodeDecodeError, RecursionError):
        return None
    samples = whole if isinstance(whole, list) else [whole]
    if samples and all(isinstance(sample, dict) and "conversation" in sample for sample in samples):
        return samples
    raise ImportRefused(
        f"{path}, line 1: expected JSON lines (one event per line) or conversations (objects "
        "with a `conversation`)"
    )


def _json_lines(path: Path) -> Iterator[ImportLine]:
    try:
        with path.open("rb") as file:
            # Split at line feeds only: JSON strings may contain other line separators.
            for number, raw in enumerate(file, 1):
                if line := raw.removeprefix(_BOM if number == 1 else b"").strip():
                    try:
                        yield ImportLine.model_validate_json(line)
                    except ValidationError as error:
                        raise ImportRefused(f"{path}, line {number}: {_describe(error)}") from error
    except OSError as error:
        raise ImportRefused(f"{path}: {error.strerror or error}") from error


def _describe(error: ValidationError) -> str:
    """Return the first validation error with its location."""
    details = error.errors(include_input=False, include_url=False)[0]
    location = ".".join(str(step) for step in details["loc"])
    # The message already names the line of the file.
    message = re.sub(r" at line 1 column (\d+)", r", at character \1", details["msg"])
    return f"{location}: {message}" if location else message


def _conversation(
    sample: dict[str, Any], path: Path, place: int, *, alone: bool
) -> Iterator[ImportLine]:
    """Yield the events of one LoCoMo sample.

    Every two consecutive turns of a session form one event; each text begins with the speaker's
    name. With `alone` the sample has a space of its own. Otherwise all samples share one space, and
    session ids are prefixed with the name of the sample.
    """
    conversation, location = sample["conversation"], f"{path}, conversation {place}"
    name = str(sample.get("sample_id") or f"{path.stem}-{place}")
    keys = (
        [key for key in conversation if re.fullmatch(r"session_\d+", key)]
        if isinstance(conversation, dict)
        else []
    )
    if not keys:
        raise ImportRefused(f"{location}: it has no session_1, session_2, ...")
    for key in sorted(keys, key=lambda key: int(key[8:])):
        try:
            start = datetime.strptime(
                str(conversation.get(f"{key}_date_time")), _DATE_FORMAT
            ).replace(tzinfo=UTC)
            texts = [str(spoken) for spoken in _TURNS.validate_python(conversation[key])]
            for turn in range(0, len(texts), 2):
                query, response = texts[turn], texts[turn + 1] if turn + 1 < len(texts) else ""
                session_id = key if alone else f"{name}/{key}"
                origin, occurred_at = (
                    _digest(name, key, str(turn), query, response),
                    start + timedelta(milliseconds=turn),
                )
                yield ImportLine(
                    id=origin,
                    user_id=name,
                    session_id=session_id,
                    query=query,
                    response=response,
                    occurred_at=occurred_at,
                )
        except ValidationError as error:
            raise ImportRefused(f"{location}, {key}: {_describe(error)}") from error
        except ValueError as error:
            raise ImportRefused(f"{location}, {key}_date_time: {error}") from error
