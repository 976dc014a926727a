"""claude-mem: its export (JSON) and its database (SQLite).

The shape was read from thedotmack/claude-mem, scripts/export-memories.ts, src/types/database.ts,
src/services/sqlite/types.ts and src/services/sqlite/SessionStore.ts (tables).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw

from ....protocol.sources import USUAL
from .documents import Sample, SourceDocument, entries
from .json_stream import parse
from .records import (
    ImportRefused,
    InvalidRecord,
    LeftOutRecord,
    Record,
    ShapeFact,
    ShapeTurn,
    digest,
    objects,
    one_line,
    readable_id,
    readable_topic,
    statement,
    text_of,
    time_of,
)

SESSION = "session without text of its own"
_KINDS = {  # tables and members of the export: kind of their records
    "observations": "observation",
    "summaries": "summary",
    "session_summaries": "summary",
    "prompts": "prompt",
    "user_prompts": "prompt",
}
_PARTS = ("investigated", "learned", "completed", "next_steps", "notes")
_VALUE_BYTES_MAX = 64 << 20  # of one value in the database


def matches(sample: Sample) -> bool:
    """Return True for an export with `observations` or `prompts` and sessions."""
    return any(
        "memory_session_id" in one or "content_session_id" in one
        for item in sample.items
        for key in ("observations", "summaries", "prompts", "sessions")
        for one in objects(item.get(key))
    )


def matches_database(document: SourceDocument) -> bool:
    """Return True if a SQLite file has claude-mem's tables."""
    return document.path is not None and {"observations", "sdk_sessions"} <= set(
        _tables(_open(document))
    )


def read(document: SourceDocument) -> Iterator[Record]:
    """Yield the facts of observations as facts; narratives, summaries and prompts as turns."""
    is_database = document.sample().layout == "sqlite"
    for row in _rows(document) if is_database else _exported(document):
        if isinstance(row, InvalidRecord | LeftOutRecord):
            yield row
        else:
            kind, place, record = row
            _, invalid = time_of(record.get("created_at_epoch") or record.get("created_at"), place)
            if invalid:
                yield invalid
            elif kind == "observation":
                yield from _observation(record, place)
            elif kind == "summary":
                yield _summary(record, place)
            else:
                yield _prompt(record, place)


Row = tuple[str, str, dict[str, Any]]


def _exported(document: SourceDocument) -> Iterator[Row | InvalidRecord | LeftOutRecord]:
    for entry in entries(document):
        if isinstance(entry, InvalidRecord):
            yield entry
        elif entry.key in _KINDS:
            yield _KINDS[entry.key], entry.place, entry.value
        elif entry.key == "sessions":
            yield LeftOutRecord(place=entry.place, reason=SESSION)


def _observation(record: dict[str, Any], place: str) -> Iterator[Record]:
    title, session = text_of(record, "title"), text_of(record, "memory_session_id")
    key = digest(session, str(record.get("created_at_epoch")), title)
    at, _ = time_of(record.get("created_at_epoch") or record.get("created_at"), place)
    facts = _strings(record.get("facts"))
    prose = text_of(record, "narrative", "text")
    if not facts and not prose:
        facts = [" — ".join(filter(None, (title, text_of(record, "subtitle"))))]
    for number, text in enumerate(facts, 1):
        where = f"{place}, fact {number}"
        if text.strip():
            yield statement(
                ShapeFact(
                    place=where,
                    text=text,
                    origin=digest("claude-mem", key, text),
                    valid_from=at,
                ),
                session_id=session,
                topic=readable_topic(title),
            )
        elif len(facts) == 1 and not prose:
            yield InvalidRecord(place=place, detail="the observation has no text")
    if prose:
        yield ShapeTurn(
            place=place,
            query="",
            response=f"{title}\n\n{prose}" if title else prose,
            origin=digest("claude-mem", key, prose),
            session_id=readable_id(session) or "default",
            topic=readable_topic(title) or readable_topic(record.get("project")),
            occurred_at=at,
        )


def _strings(value: object) -> list[str]:
    """Return the strings of a list, which the database holds as JSON text."""
    if isinstance(value, str):
        try:
            value = parse(value)
        except ValueError:
            return []
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _summary(record: dict[str, Any], place: str) -> Record:
    session, request = text_of(record, "memory_session_id"), text_of(record, "request")
    at, _ = time_of(record.get("created_at_epoch") or record.get("created_at"), place)
    parts = [
        f"{name.replace('_', ' ').capitalize()}: {text}"
        for name in _PARTS
        if (text := text_of(record, name))
    ]
    if not parts and not request:
        return LeftOutRecord(place=place, reason="empty summary")
    response = "\n\n".join(parts)
    return ShapeTurn(
        place=place,
        query=request,
        response=response,
        origin=digest("claude-mem", session, "summary", request, response),
        session_id=readable_id(session) or "default",
        topic=readable_topic(record.get("project")),
        occurred_at=at,
    )


def _prompt(record: dict[str, Any], place: str) -> Record:
    session, text = text_of(record, "content_session_id"), text_of(record, "prompt_text")
    at, _ = time_of(record.get("created_at_epoch") or record.get("created_at"), place)
    if not text:
        return InvalidRecord(place=place, detail="`prompt_text` is not a text")
    return ShapeTurn(
        place=place,
        query=text,
        response="",
        source=USUAL,
        origin=digest("claude-mem", session, str(record.get("prompt_number")), text),
        session_id=readable_id(session) or "default",
        topic=readable_topic(record.get("project")),
        occurred_at=at,
    )


def _open(document: SourceDocument) -> apsw.Connection:
    """Open a database read-only. Its schema is not trusted: it may come from anywhere."""
    path = document.path
    assert path is not None  # `matches_database` refuses members of archives
    # Without a log nobody writes to it: "immutable" reads it without making files beside it.
    mode = "mode=ro" if path.with_name(path.name + "-wal").exists() else "immutable=1"
    try:
        database = apsw.Connection(
            f"{path.absolute().as_uri()}?{mode}",
            flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
        )
        database.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        database.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        database.limit(apsw.SQLITE_LIMIT_LENGTH, _VALUE_BYTES_MAX)
    except apsw.Error as error:
        raise ImportRefused(f"{document.place}: {one_line(error)}") from error
    return database


def _tables(database: apsw.Connection) -> list[str]:
    try:
        rows = database.execute("select name from sqlite_master where type = 'table'").fetchall()
    except (apsw.Error, UnicodeDecodeError):
        return []
    finally:
        database.close()
    return [str(row[0]) for row in rows]


def _rows(document: SourceDocument) -> Iterator[Row | InvalidRecord | LeftOutRecord]:
    tables = _tables(_open(document))
    database, where = _open(document), document.place
    try:
        for table in ("observations", "session_summaries", "user_prompts"):
            if table not in tables:
                continue  # a view of that name could compute anything, and without end
            cursor = database.execute(f"select * from {table} order by rowid")  # noqa: S608 - a constant
            names: list[str] = []
            for number, row in enumerate(cursor, 1):
                names = names or [str(column[0]) for column in cursor.get_description()]
                record = dict(zip(names, row, strict=True))
                where = f"{document.place}, {table} {number}"
                yield _KINDS[table], where, record
    except UnicodeDecodeError as error:
        raise ImportRefused(f"{where} is not UTF-8, or the one after it") from error
    except apsw.Error as error:
        raise ImportRefused(f"{where}: {one_line(error)}") from error
    finally:
        database.close()
