"""Import what was said elsewhere: JSON lines of our own, or conversations in the shape of LoCoMo.

Every imported event has an origin; an origin a space already holds is passed over. So an import that was stopped is
simply run again, and one that is run twice changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from ..accounts import space_user_id
from ..context import Caller, Context
from ..protocol.memory import Id, TurnText
from ..protocol.text import Text
from ..store import Transaction
from .keep import Derived, Said, derive, keep
from .spaces import SQL, milliseconds, space_of

BATCH = 64  # events embedded and written together
ORIGIN_CHARACTERS_MAX = 256


class ImportRefused(ValueError):
    """The file cannot be imported; the message says where and why. Nothing of it was stored."""


class Line(TurnText):
    """One line of our own import format: an event, with an `id` of its own if it has one."""

    id: Annotated[Text, Field(min_length=1, max_length=ORIGIN_CHARACTERS_MAX)] | None = None
    user_id: Id | None = None
    session_id: Id = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import did."""

    stored: int
    known: int  # were there already


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """One event on its way in."""

    origin: str
    user_id: str
    session_id: str
    said: Said


def read(context: Context, caller: Caller, path: Path, *, user_id: str | None = None) -> list[Incoming]:
    """Read and check a whole file before anything is stored. `user_id` overrides what the file says.

    Raises ImportRefused naming the line or the place in the conversation, Forbidden for a pinned key with another user_id.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ImportRefused(f"{path}: {error}") from error
    try:
        whole = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        whole = None
    samples = whole if isinstance(whole, list) else [whole]
    if samples and all(isinstance(sample, dict) and "conversation" in sample for sample in samples):
        lines = [line for place, sample in enumerate(samples) for line in _conversation(sample, f"{path}: conversation {place + 1}")]
    else:
        lines = list(_json_lines(text, path))
    now_ms = context.clock()
    return [_incoming(line, space_user_id(caller, user_id or line.user_id), now_ms) for line in lines]


def store(context: Context, caller: Caller, events: Iterable[Incoming], *, progress: Callable[[int], None] = lambda _: None) -> Imported:
    """Store events batch by batch; `progress` is told how many were dealt with. May be stopped and run again at any time."""
    stored = known = 0
    rest = iter(events)
    while batch := list(islice(rest, BATCH)):
        new = context.store.read(partial(_unknown, caller, batch))
        if new:
            derived = derive(context.embedder, [event.said for event in new])
            kept = context.store.write(partial(_write, context, caller, new, derived))
        else:
            kept = 0
        stored, known = stored + kept, known + len(batch) - kept
        progress(len(batch))
    return Imported(stored=stored, known=known)


def _unknown(caller: Caller, events: list[Incoming], tx: Transaction) -> list[Incoming]:
    return [event for event in events if not _known(tx, caller, event)]


def _known(tx: Transaction, caller: Caller, event: Incoming) -> bool:
    space = tx.one(SQL.space_of, account_id=caller.account_id, user_id=event.user_id)
    return space is not None and tx.one(SQL.origin_known, space_id=space.id, origin=event.origin) is not None


def _write(context: Context, caller: Caller, new: list[Incoming], derived: list[Derived], tx: Transaction) -> int:
    kept_events = 0
    for event, found in zip(new, derived, strict=True):
        if _known(tx, caller, event):  # twice in one file, or another import beside this one
            continue
        place: dict[str, Any] = {"account_id": caller.account_id, "user_id": event.user_id, "session_id": event.session_id}
        kept = keep(context, tx, **place, said=event.said, derived=found)
        tx.run(SQL.add_origin, space_id=space_of(kept.row), origin=event.origin, event=kept.row)
        kept_events += 1
    return kept_events


def _incoming(line: Line, user_id: str, now_ms: int) -> Incoming:
    occurred_ms = milliseconds(line.occurred_at, now_ms)
    said = Said(query=line.query, response=line.response, topic=line.topic, occurred_ms=occurred_ms)
    told = [line.session_id, line.query, line.response, line.topic or "", str(line.occurred_at)]
    origin = line.id or "sha256:" + hashlib.sha256("\x00".join(told).encode()).hexdigest()
    return Incoming(origin=origin, user_id=user_id, session_id=line.session_id, said=said)


def _json_lines(text: str, path: Path) -> Iterator[Line]:
    for number, raw in enumerate(text.splitlines(), 1):
        if raw.strip():
            try:
                yield Line.model_validate_json(raw)
            except ValidationError as error:
                first = error.errors(include_input=False, include_url=False)[0]
                where = ".".join(str(step) for step in first["loc"]) or "the line"
                raise ImportRefused(f"{path}, line {number}: {where}: {first['msg']}") from error


def _conversation(sample: dict[str, Any], where: str) -> Iterator[Line]:
    """A LoCoMo sample: each two consecutive turns of a session are one event, the speakers' names before what they said."""
    said = sample["conversation"]
    name = str(sample.get("sample_id", where.rpartition(" ")[2]))
    keys = [key for key in said if re.fullmatch(r"session_\d+", key)] if isinstance(said, dict) else []
    if not keys:
        raise ImportRefused(f"{where}: no session_1, session_2, ... in it")
    for key in sorted(keys, key=lambda key: int(key[8:])):
        try:
            when = datetime.strptime(said[f"{key}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
            texts = [f"{turn['speaker']}: {turn['text']}{_caption(turn)}" for turn in said[key]]
            for place in range(0, len(texts), 2):
                query, response = texts[place], texts[place + 1] if place + 1 < len(texts) else ""
                origin = f"{name}/{key}/{place}"
                yield Line(id=origin, user_id=name, session_id=key, query=query, response=response, occurred_at=when)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ImportRefused(f"{where}, {key}: {error!r}") from error


def _caption(turn: dict[str, Any]) -> str:
    return f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
