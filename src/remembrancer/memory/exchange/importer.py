"""Import what was said elsewhere: JSON lines of our own, or conversations in the shape of LoCoMo.

Every imported event has an origin; an origin a space already holds is passed over. So an import
that was stopped is simply run again, and one that is run twice changes nothing.
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
from ..spaces import SQL, milliseconds, space_of
from ..write.turns import Intake, SessionAddress, store_turn

BATCH = 64  # events embedded and written together
ORIGIN_CHARACTERS_MAX = 256
_BOM = b"\xef\xbb\xbf"
_WHEN = "%I:%M %p on %d %B, %Y"  # 1:56 pm on 8 May, 2023


class ImportRefused(ValueError):
    """The file cannot be imported; the message says where and why. Nothing of it was stored."""


class ImportLine(TurnText):
    """One line of our own import format: an event, with an `id` of its own if it has one."""

    id: Annotated[Text, Field(min_length=1, max_length=ORIGIN_CHARACTERS_MAX)] | None = None
    user_id: Id | None = None
    session_id: Id = "default"


class LocomoTurn(Message):
    """One turn of a conversation in the shape of LoCoMo."""

    speaker: Text
    text: Text
    blip_caption: Text | None = None

    def __str__(self) -> str:
        return f"{self.speaker}: {self.text}" + (
            f" [image: {self.blip_caption}]" if self.blip_caption else ""
        )


_SPOKEN = TypeAdapter(list[LocomoTurn])


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """What an import did."""

    stored: int
    known: int  # were there already


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTurn:
    """One event on its way in."""

    origin: str
    user_id: str
    session_id: str
    said: EventText
    flags: tuple[str, ...]  # what was noticed in it


class ImportSource:
    """A file that was checked from end to end:

    `len` events, in order, as often as it is iterated.
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
    """Check a whole file before anything is stored. `user_id` overrides what the file says.

    JSON lines are read twice, now and when they are iterated, so that a long file need not fit into
    memory. Raises ImportRefused naming the line or the place in the conversation, Forbidden for a
    pinned key with another user_id.
    """
    now_ms = context.clock()

    def take(line: ImportLine) -> ImportedTurn:
        return _incoming(
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
    """Store events batch by batch; `progress` is told how many were dealt with. May be stopped and
    run again at any time.

    Raises Forbidden for a read-only key, StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    stored = known = 0
    rest = iter(events)
    while batch := list(islice(rest, BATCH)):
        new = context.store.read(partial(_unknown, caller, batch), account_id=caller.account_id)
        kept = 0
        if new:
            derived = [
                replace(one, flags=one.flags + event.flags)
                for one, event in zip(
                    index_entries(context.embedder, [event.said for event in new]), new, strict=True
                )
            ]
            kept = context.store.write(
                partial(_write, context, caller, new, derived), account_id=caller.account_id
            )
        stored, known = stored + kept, known + len(batch) - kept
        progress(len(batch))
    return ImportResult(stored=stored, known=known)


def _unknown(caller: Caller, batch: list[ImportedTurn], tx: Transaction) -> list[ImportedTurn]:
    return [event for event in batch if not _known(tx, caller, event)]


def _known(tx: Transaction, caller: Caller, event: ImportedTurn) -> bool:
    space = tx.one_or_none(SQL.space_of, account_id=caller.account_id, user_id=event.user_id)
    return (
        space is not None
        and tx.one_or_none(SQL.origin_known, space_id=space.id, origin=event.origin) is not None
    )


def _write(
    context: Context,
    caller: Caller,
    new: list[ImportedTurn],
    derived: list[IndexEntry],
    tx: Transaction,
) -> int:
    kept_events = 0
    for event, found in zip(new, derived, strict=True):
        if _known(tx, caller, event):  # twice in one file, or another import beside this one
            continue
        address = SessionAddress(
            account_id=caller.account_id, user_id=event.user_id, session_id=event.session_id
        )
        kept = store_turn(context, tx, address, event.said, found)
        tx.run(SQL.add_origin, space_id=space_of(kept.row), origin=event.origin, event=kept.row)
        kept_events += 1
    return kept_events


def _incoming(line: ImportLine, user_id: str, now_ms: int, settings: Settings) -> ImportedTurn:
    occurred_ms = milliseconds(line.occurred_at, now_ms)
    intake = Intake(settings=settings)
    said = EventText(
        query=intake.screen(line.query),
        response=intake.screen(line.response),
        topic=line.topic,
        occurred_ms=occurred_ms,
    )
    when = "" if line.occurred_at is None else str(occurred_ms)
    origin = line.id or _digest(line.session_id, line.query, line.response, line.topic or "", when)
    return ImportedTurn(
        origin=origin, user_id=user_id, session_id=line.session_id, said=said, flags=intake.flags
    )


def _digest(*told: str) -> str:
    return (
        "sha256:" + hashlib.sha256("\x00".join(told).encode()).hexdigest()
    )  # no text of an event holds a NUL


def _is_lines(path: Path) -> bool:
    """Whether the first line that says something is a whole JSON object and no conversation.

    Raises ImportRefused, OSError.
    """
    if not path.is_file():
        raise ImportRefused(
            f"{path}: {'it is no regular file' if path.exists() else 'there is no such file'}"
        )
    with path.open("rb") as file:
        for raw in file:
            if first := raw.removeprefix(_BOM).strip():
                try:
                    said = json.loads(first)
                except (ValueError, RecursionError):
                    return False
                return isinstance(said, dict) and "conversation" not in said
    return True


def _samples(path: Path) -> list[Any] | None:
    """The conversations of a file that is one JSON text; None when it is none, so that its lines
    are to be told what is wrong.
    """
    try:
        whole = json.loads(path.read_bytes().decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        if not re.match(r"\s*(\[|\{\s*\n)", error.doc):  # a line that should have been an event
            return None
        raise ImportRefused(f"{path}, line {error.lineno}: {error.msg}") from error
    except (UnicodeDecodeError, RecursionError):
        return None
    samples = whole if isinstance(whole, list) else [whole]
    if samples and all(isinstance(sample, dict) and "conversation" in sample for sample in samples):
        return samples
    raise ImportRefused(
        f"{path}, line 1: neither JSON lines (one event a line) nor conversations (objects with a `conversation`)"
    )


def _json_lines(path: Path) -> Iterator[ImportLine]:
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(
                file, 1
            ):  # at line feeds only: other line separators may stand inside a JSON text
                if said := raw.removeprefix(_BOM if number == 1 else b"").strip():
                    try:
                        yield ImportLine.model_validate_json(said)
                    except ValidationError as error:
                        raise ImportRefused(f"{path}, line {number}: {_first(error)}") from error
    except OSError as error:
        raise ImportRefused(f"{path}: {error.strerror or error}") from error


def _first(error: ValidationError) -> str:
    """What is wrong first, and where."""
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(step) for step in first["loc"])
    what = re.sub(
        r" at line 1 column (\d+)", r", at character \1", first["msg"]
    )  # the line is told already, counted in the file
    return f"{where}: {what}" if where else what


def _conversation(
    sample: dict[str, Any], path: Path, place: int, *, alone: bool
) -> Iterator[ImportLine]:
    """A LoCoMo sample: each two consecutive turns of a session are one event, the speakers' names
    before what they said.

    With `alone` it has a space to itself; else its name stands before its sessions' names, which
    all samples share.
    """
    said, where = sample["conversation"], f"{path}, conversation {place}"
    name = str(sample.get("sample_id") or f"{path.stem}-{place}")
    keys = (
        [key for key in said if re.fullmatch(r"session_\d+", key)] if isinstance(said, dict) else []
    )
    if not keys:
        raise ImportRefused(f"{where}: there is no session_1, session_2, ... in it")
    for key in sorted(keys, key=lambda key: int(key[8:])):
        try:
            start = datetime.strptime(str(said.get(f"{key}_date_time")), _WHEN).replace(tzinfo=UTC)
            texts = [str(spoken) for spoken in _SPOKEN.validate_python(said[key])]
            for turn in range(0, len(texts), 2):
                query, response = texts[turn], texts[turn + 1] if turn + 1 < len(texts) else ""
                session_id = key if alone else f"{name}/{key}"
                origin, when = (
                    _digest(name, key, str(turn), query, response),
                    start + timedelta(milliseconds=turn),
                )
                yield ImportLine(
                    id=origin,
                    user_id=name,
                    session_id=session_id,
                    query=query,
                    response=response,
                    occurred_at=when,
                )
        except ValidationError as error:
            raise ImportRefused(f"{where}, {key}: {_first(error)}") from error
        except ValueError as error:
            raise ImportRefused(f"{where}, {key}_date_time: {error}") from error
