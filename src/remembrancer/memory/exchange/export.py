"""Write the records of an account, or of some of its users, to one file.

All rows are read in one transaction, so that they belong together while servers go on writing. Rows
are read page by page: memory does not grow with their number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import IO, Any

from ... import __version__
from ...context import Caller, Records
from ...files.blobs import open_blobs
from ...protocol.errors import NotFound
from ...store import Row, StoreUnavailable, Transaction, load_queries
from ...store.transfer.catalog import SQL as CATALOG
from ..facts.write import EXPIRED, KINDS
from ..facts.write import SQL as FACTS
from ..spaces import flag_names, row_id
from .archive import MEMBERS_MAX, ArchiveWriter, is_within_ratio, new_file
from .records import (
    FORMAT,
    VERSION,
    CubeRecord,
    EventRecord,
    FactRecord,
    FactStatus,
    FileRecord,
    Manifest,
    MapRecord,
    MemoryFileRecord,
    OriginRecord,
    PromptRecord,
    Record,
    SecondLooks,
    SessionRecord,
    SummaryRecord,
    UserRecord,
    VoteRecord,
)

SQL = load_queries("remembrancer.memory.exchange", "export.sql")
# Of facts, as stored.
STATUSES: tuple[FactStatus, ...] = ("current", "superseded", "expired", "removed")
FIRST_PAGE_ROWS, PAGE_ROWS_MAX = 16, 500
ORIGIN_ROWS_MAX = 20_000  # each page reads all of a space in PostgreSQL: export.sql
PAGE_BYTES = 4 << 20  # approximate size of a page when rows are large
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Advance = Callable[[int], object]  # called with the number of events of each step


class UserUnknown(NotFound):
    """The account has no such user_id. The console lists the users of an account."""


class FileErasedMeanwhile(StoreUnavailable):
    """A created file was erased while the export ran. Run the command again."""


class TooManyFiles(Exception):
    """The account has more created files than one export may hold. Export its users apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """A written export: its size in bytes, and the number of records of each member."""

    bytes: int
    records: dict[str, int]
    blobs: int


def export(
    records: Records,
    caller: Caller,
    path: Path,
    *,
    user_ids: Sequence[str] = (),
    force: bool = False,
    advance: Advance = lambda _: None,
) -> ExportResult:
    """Write the records of these users, or of the whole account, to the new file `path`.

    The file appears when it is complete and durable. Raises UserUnknown, ExportExists,
    FileErasedMeanwhile, TooManyFiles, StoreUnavailable, OSError.
    """
    with new_file(path, force=force) as file:
        return records.store.read(
            lambda tx: _Export(records, caller, tx, user_ids, advance).run(file),
            account_id=caller.account_id,
        )


def count_events(records: Records, caller: Caller, user_ids: Sequence[str] = ()) -> int:
    """Return about how many events an export has, for progress."""

    def read(tx: Transaction) -> int:
        return sum(
            row.events_made
            for row in _pages(lambda after, most: tx.all(SQL.spaces_page, after=after, most=most))
            if not user_ids or row.user_id in user_ids
        )

    return records.store.read(read, account_id=caller.account_id)


@dataclass(slots=True)
class _Export:
    """One run of an export, from one snapshot."""

    records: Records
    caller: Caller
    tx: Transaction
    user_ids: Sequence[str]  # empty: all
    advance: Advance
    visited_blobs: set[str] = field(default_factory=set)

    def run(self, file: IO[bytes]) -> ExportResult:
        """Write all members to `file`."""
        self.tx.one_or_none(CATALOG.be_patient)
        existing = {space.user_id for space in self._spaces()} if self.user_ids else set()
        for user_id in self.user_ids:
            if user_id not in existing:
                raise UserUnknown(f"{self.caller.account_name} has no user_id {user_id!r}")
        writer = self._write(file, compressed=True)
        if not is_within_ratio(file.tell(), writer.bytes):
            file.seek(0)
            file.truncate()
            self.visited_blobs.clear()
            writer = self._write(file, compressed=False)
        counts = {name: entry.records for name, entry in writer.members.items()}
        return ExportResult(bytes=file.tell(), records=counts, blobs=writer.blobs)

    def _write(self, file: IO[bytes], *, compressed: bool) -> ArchiveWriter:
        with ArchiveWriter(file, compressed=compressed) as writer:
            for name, rows in self._members():
                writer.add_lines(name, rows)
            self._add_blobs(writer)
            writer.finish(
                Manifest(
                    format=FORMAT,
                    version=VERSION,
                    software=__version__,
                    created_at=_time(self.records.clock()),
                    account=self.caller.account_name,
                    user_ids=list(self.user_ids) or None,
                    members=writer.members,
                    blobs=writer.blobs,
                )
            )
        return writer

    def _members(self) -> Iterator[tuple[str, Iterator[Record]]]:
        """Yield the members of JSON lines in their order, each with its records."""
        yield "users.jsonl", map(_user, self._spaces())
        yield "sessions.jsonl", self._of_spaces(SQL.sessions_page, _session)
        yield "events.jsonl", self._events()
        yield "origins.jsonl", self._origins()
        yield "facts.jsonl", self._facts()
        yield "summaries.jsonl", self._of_spaces(SQL.summaries_page, _summary)
        yield "maps.jsonl", self._of_spaces(SQL.maps_page, _map)
        yield "prompts.jsonl", self._of_account(SQL.prompts_page, "", _prompt)
        yield "memory_files.jsonl", self._of_spaces(SQL.memory_files_page, _memory_file)
        yield "cubes.jsonl", self._of_account(SQL.cubes_page, 0, _cube)
        yield "votes.jsonl", self._of_account(SQL.votes_page, 0, _vote)
        yield "files.jsonl", self._of_account(SQL.files_page, 0, _file)

    def _spaces(self) -> Iterator[Row]:
        for space in self._pages(SQL.spaces_page, 0):
            if not self.user_ids or space.user_id in self.user_ids:
                yield space

    def _of_spaces(self, sql: str, make: Callable[[str, Row], Any]) -> Iterator[Any]:
        for space in self._spaces():
            for row in self._pages(sql, 0, space_id=space.id):
                yield make(space.user_id, row)

    def _of_account(self, sql: str, after: int | str, make: Callable[[Row], Any]) -> Iterator[Any]:
        for row in self._pages(sql, after):
            if not self.user_ids or row.user_id in self.user_ids:
                yield make(row)

    def _events(self) -> Iterator[EventRecord]:
        # By ranges of numbers: with a limit instead, PostgreSQL sorts the whole space for each
        # page, because row security makes it expect few rows.
        for space in self._spaces():
            low, count = 0, FIRST_PAGE_ROWS
            while low < space.events_made:
                bounds = {"low": row_id(space.id, low), "high": row_id(space.id, low + count)}
                rows = self.tx.all(SQL.events_page, **bounds)
                withdraws: dict[int, list[str]] = {}
                for row in self.tx.all(SQL.withdrawn_by_range, **bounds):
                    withdraws.setdefault(row.withdrawn_by, []).append(row.event_id)
                for row in rows:
                    yield _event(space.user_id, row, withdraws.get(row.id, []))
                self.advance(len(rows))
                low, count = low + count, _next_page(rows, count, PAGE_ROWS_MAX)

    def _origins(self) -> Iterator[OriginRecord]:
        for space in self._spaces():
            for row in self._pages(
                SQL.origins_page, None, rows_max=ORIGIN_ROWS_MAX, space_id=space.id
            ):
                yield OriginRecord(user_id=space.user_id, origin=row.origin, event_id=row.event_id)

    def _facts(self) -> Iterator[FactRecord]:
        now_ms = self.records.clock()
        for space in self._spaces():
            for row in self._pages(SQL.facts_page, 0, space_id=space.id):
                # one query for each fact: few facts have other sources, and pages stay simple
                sources = self.tx.all(FACTS.sources_of, ids=json.dumps([row.id]))
                yield _fact(space.user_id, row, [one.event_id for one in sources], now_ms)

    def _add_blobs(self, writer: ArchiveWriter) -> None:
        blobs = open_blobs(self.records.settings)
        for row in self._pages(SQL.files_page, 0):
            is_selected = not self.user_ids or row.user_id in self.user_ids
            if not is_selected or row.blob in self.visited_blobs:
                continue
            self.visited_blobs.add(row.blob)
            if len(self.visited_blobs) > MEMBERS_MAX - 100:
                raise TooManyFiles
            try:
                writer.add_blob(row.blob, blobs.read(row.blob, 0, row.size_bytes))
            except StoreUnavailable as error:
                raise FileErasedMeanwhile(f"{row.filename} cannot be read: {error}") from error

    def _pages(
        self, sql: str, after: int | str | None, *, rows_max: int = PAGE_ROWS_MAX, **values: Any
    ) -> Iterator[Row]:
        def page(after: int | str | None, most: int) -> list[Row]:
            return self.tx.all(sql, after=after, most=most, **values)

        return _pages(page, after, rows_max)


def _pages(
    page: Callable[[int | str | None, int], list[Row]],
    after: int | str | None = 0,
    rows_max: int = PAGE_ROWS_MAX,
) -> Iterator[Row]:
    """Yield the rows of all pages. `page` takes the id before the page and its number of rows."""
    most = FIRST_PAGE_ROWS
    while rows := page(after, most):
        yield from rows
        after, most = rows[-1].id, _next_page(rows, most, rows_max)


def _next_page(rows: Sequence[Row], count: int, rows_max: int) -> int:
    """Return the number of rows of the next page: fewer if these rows are large."""
    size = sum(len(value) if isinstance(value, str) else 8 for row in rows for value in row)
    return max(1, min(rows_max, 16 * count, PAGE_BYTES * count // max(1, size)))


def _time(ms: int, offset_minutes: int = 0) -> datetime:
    zone = timezone(timedelta(minutes=offset_minutes)) if offset_minutes else UTC
    return (_EPOCH + timedelta(milliseconds=ms)).astimezone(zone)


def _time_or_none(ms: int | None) -> datetime | None:
    return None if ms is None else _time(ms)


def _user(row: Row) -> UserRecord:
    return UserRecord(
        user_id=row.user_id, created_at=_time(row.created_ms), l1_mapped=row.l1_mapped
    )


def _session(user_id: str, row: Row) -> SessionRecord:
    return SessionRecord(
        user_id=user_id,
        session_id=row.session_id,
        created_at=_time(row.created_ms),
        last_turn_at=_time_or_none(row.last_turn_ms),
        step=row.step,
        remembered_step=row.remembered_step,
        turns=row.turns,
        turns_summarised=min(row.turns_summarised, row.turns),
        cube_turn=row.cube_turn,
        task_open=bool(row.task_open),
    )


def _event(user_id: str, row: Row, withdraws: list[str]) -> EventRecord:
    look = None
    if row.looked_ms is not None:
        look = SecondLooks(
            passed=row.passed,
            failed=row.failed,
            last_passed=bool(row.last_passed),
            looked_at=_time(row.looked_ms),
        )
    return EventRecord(
        event_id=row.event_id,
        user_id=user_id,
        session_id=row.session_id,
        step=row.step,
        topic=row.topic,
        query=row.query,
        response=row.response,
        flags=flag_names(row.flags),
        occurred_at=_time(row.occurred_ms, row.occurred_offset),
        created_at=_time(row.created_ms),
        superseded=row.superseded_by is not None,
        superseded_by=row.revision_id,
        expires_at=_time_or_none(row.expires_ms),
        pinned=bool(row.pinned),
        withdrawn=row.withdrawn_by is not None,
        withdraws=withdraws,
        second_look=look,
    )


def _fact(user_id: str, row: Row, sources: list[str], now_ms: int) -> FactRecord:
    is_over = row.expires_ms is not None and row.expires_ms <= now_ms  # erased in the background
    return FactRecord(
        fact_id=row.fact_id,
        user_id=user_id,
        session_id=row.session_id,
        event_id=row.event_id,
        sources=[] if is_over else sources,
        text="" if is_over else row.text,
        status=STATUSES[EXPIRED] if is_over and row.status < EXPIRED else STATUSES[row.status],
        kind=KINDS[row.kind],
        condition=None if is_over or not row.text else row.condition,
        recognised=bool(row.origin),
        pinned=bool(row.pinned) and not is_over,
        valid_from=_time(row.valid_from_ms),
        valid_to=_time_or_none(row.valid_to_ms),
        expires_at=_time_or_none(row.expires_ms),
        superseded_by=row.successor_id,
        uses=row.uses,
        used_at=_time_or_none(row.used_ms),
        created_at=_time(row.created_ms),
    )


def _summary(user_id: str, row: Row) -> SummaryRecord:
    return SummaryRecord(
        l1_id=row.l1_id,
        user_id=user_id,
        session_id=row.session_id,
        topic=row.topic,
        text=row.text,
        message_count=row.message_count,
        turns=row.turns,
        ratio=row.ratio,
        created_at=_time(row.created_ms),
    )


def _map(user_id: str, row: Row) -> MapRecord:
    return MapRecord(
        user_id=user_id,
        version=row.version,
        text=row.text,
        l1_count=row.l1_count,
        made_by=row.made_by,
        created_at=_time(row.created_ms),
    )


def _prompt(row: Row) -> PromptRecord:
    return PromptRecord(user_id=row.user_id, text=row.text, updated_at=_time(row.updated_ms))


def _memory_file(user_id: str, row: Row) -> MemoryFileRecord:
    return MemoryFileRecord(
        user_id=user_id,
        path=row.path,
        version=row.version,
        is_current=bool(row.is_current),
        change=row.change,
        other_path=row.other_path,
        flags=flag_names(row.flags),
        text=row.text,
        created_at=_time(row.created_ms),
    )


def _cube(row: Row) -> CubeRecord:
    return CubeRecord(
        cube_id=row.cube_id,
        user_id=row.user_id,
        session_id=row.session_id,
        kind=row.kind,
        topic=row.topic,
        essence=row.essence,
        rules=row.rules,
        evidence=row.evidence,
        model=row.model,
        status=row.status,
        useful=row.useful,
        useless=row.useless,
        created_at=_time(row.created_ms),
        expires_at=_time_or_none(row.expires_ms),
        merged_into=row.merged_into,
    )


def _vote(row: Row) -> VoteRecord:
    return VoteRecord(
        cube_id=row.cube_id,
        user_id=row.user_id,
        vote=row.vote,
        reason=row.reason,
        rated_at=_time(row.rated_ms),
    )


def _file(row: Row) -> FileRecord:
    return FileRecord(
        filename=row.filename,
        user_id=row.user_id,
        sha256=row.blob,
        bytes=row.size_bytes,
        made_by=row.made_by,
        created_at=_time(row.created_ms),
    )
