"""Write the records of an account, or of some of its users, to one file.

All rows are read in one transaction, so that they belong together while servers go on writing. Rows
are read page by page: memory does not grow with their number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from ... import __version__
from ...context import Caller, Records
from ...files.blobs import open_blobs
from ...protocol.errors import NotFound
from ...store import Row, StoreUnavailable, Transaction, load_queries
from ...store.rows import read_row, time_of
from ...store.transfer.copy import FIRST_PAGE_ROWS, PAGE_ROWS_MAX, next_page_rows, pages
from ...store.transfer.copy import SQL as CATALOG
from ..facts.life import EXPIRED, KINDS, STATUSES
from ..facts.life import SQL as FACTS
from ..filters import passing
from ..spaces import row_id
from .archive import ArchiveWriter, new_file
from .records import (
    FORMAT,
    MEMBERS,
    VERSION,
    CubeRecord,
    EventRecord,
    FactRecord,
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
from .shapes.zips import ENTRIES_MAX, is_within_ratio

SQL = load_queries("remembrancer.memory.exchange", "export.sql")
ORIGIN_ROWS_MAX = 20_000  # each page reads all of a space in PostgreSQL: export.sql

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
    filters: Mapping[str, Any] | None = None,
    force: bool = False,
    advance: Advance = lambda _: None,
) -> ExportResult:
    """Write the records of these users, or of the whole account, to the new file `path`.

    With `filters`: only the turns and facts that pass, and their sessions. The file appears when it
    is complete and durable. Raises UserUnknown, ExportExists, FileErasedMeanwhile, TooManyFiles,
    StoreUnavailable, OSError.
    """
    with new_file(path, force=force) as file:
        return records.store.read(
            lambda tx: _Export(records, caller, tx, user_ids, advance, filters).run(file),
            account_id=caller.account_id,
        )


def count_events(records: Records, caller: Caller, user_ids: Sequence[str] = ()) -> int:
    """Return about how many events an export has, for progress."""

    def read(tx: Transaction) -> int:
        spaces = pages(
            lambda last, most: tx.all(SQL.spaces_page, after=last.id if last else 0, most=most)
        )
        return sum(
            row.events_made
            for row in chain.from_iterable(spaces)
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
    filters: Mapping[str, Any] | None
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
                    created_at=time_of(self.records.clock()),
                    account=self.caller.account_name,
                    user_ids=list(self.user_ids) or None,
                    members=writer.members,
                    blobs=writer.blobs,
                )
            )
        return writer

    def _members(self) -> Iterator[tuple[str, Iterator[Record]]]:
        """Yield the members of JSON lines in their order, each with its records."""
        if self.filters is not None:
            yield from self._passing_members(list(self._selections(self.filters)))
            return
        yield "users.jsonl", (read_row(UserRecord, space) for space in self._spaces())
        yield "sessions.jsonl", self._of_each(self.sessions_of)
        yield "events.jsonl", self._of_each(self.events_of)
        yield (
            "origins.jsonl",
            self._of_spaces(SQL.origins_page, OriginRecord, first=None, rows_max=ORIGIN_ROWS_MAX),
        )
        yield "facts.jsonl", self._of_each(self.facts_of)
        yield "summaries.jsonl", self._of_spaces(SQL.summaries_page, SummaryRecord)
        yield "maps.jsonl", self._of_spaces(SQL.maps_page, MapRecord)
        yield "prompts.jsonl", self._of_account(SQL.prompts_page, PromptRecord, first="")
        yield "memory_files.jsonl", self._of_spaces(SQL.memory_files_page, MemoryFileRecord)
        yield "cubes.jsonl", self._of_account(SQL.cubes_page, CubeRecord)
        yield "votes.jsonl", self._of_account(SQL.votes_page, VoteRecord)
        yield "files.jsonl", self._of_account(SQL.files_page, FileRecord)

    def _selections(self, filters: Mapping[str, Any]) -> Iterator[_Selection]:
        """Yield what passes filters in each space in which something does."""
        of_events, of_facts = passing(filters, "events"), passing(filters, "facts")
        events_passing = SQL.events_passing.replace("true", of_events.sql)
        facts_passing = SQL.facts_passing.replace("true", of_facts.sql)
        for space in self._spaces():
            events = self.tx.all(events_passing, space_id=space.id, **of_events.values)
            facts = self.tx.all(facts_passing, space_id=space.id, **of_facts.values)
            if events or facts:
                yield _Selection(
                    space,
                    sessions=frozenset(row.session for row in (*events, *facts)),
                    events=frozenset(row.id for row in events),
                    facts=frozenset(row.id for row in facts),
                    ids=frozenset(
                        [*(row.event_id for row in events), *(row.fact_id for row in facts)]
                    ),
                )

    def _passing_members(
        self, selections: Sequence[_Selection]
    ) -> Iterator[tuple[str, Iterator[Record]]]:
        """Yield the members of an export of what passes filters; all others are empty."""

        def records(
            of: Callable[[Row], Iterator[tuple[int, Record]]], name: str
        ) -> Iterator[Record]:
            for one in selections:
                rows = getattr(one, name)
                yield from (_alone(record, one.ids) for row, record in of(one.space) if row in rows)

        chosen: dict[str, Iterator[Record]] = {
            "users.jsonl": (read_row(UserRecord, one.space, l1_mapped=0) for one in selections),
            "sessions.jsonl": records(self.sessions_of, "sessions"),
            "events.jsonl": records(self.events_of, "events"),
            "facts.jsonl": records(self.facts_of, "facts"),
        }
        for name in MEMBERS:
            yield name, chosen.get(name, iter(()))

    def _spaces(self) -> Iterator[Row]:
        for space in self._pages(SQL.spaces_page, 0):
            if not self.user_ids or space.user_id in self.user_ids:
                yield space

    def _of_spaces(
        self,
        sql: str,
        model: type[Record],
        *,
        first: int | None = 0,
        rows_max: int = PAGE_ROWS_MAX,
    ) -> Iterator[Record]:
        for space in self._spaces():
            for row in self._pages(sql, first, rows_max=rows_max, space_id=space.id):
                yield read_row(model, row, user_id=space.user_id)

    def _of_account(
        self, sql: str, model: type[Record], *, first: int | str = 0
    ) -> Iterator[Record]:
        for row in self._pages(sql, first):
            if not self.user_ids or row.user_id in self.user_ids:
                yield read_row(model, row)

    def _of_each(self, of: Callable[[Row], Iterator[tuple[int, Record]]]) -> Iterator[Record]:
        return (record for space in self._spaces() for _, record in of(space))

    def events_of(self, space: Row) -> Iterator[tuple[int, EventRecord]]:
        """Yield the row ids and the records of the turns of a space.

        By ranges of numbers: with a limit instead, PostgreSQL sorts the whole space for each page,
        because row security makes it expect few rows.
        """
        low, count = 0, FIRST_PAGE_ROWS
        while low < space.events_made:
            bounds = {"low": row_id(space.id, low), "high": row_id(space.id, low + count)}
            rows = self.tx.all(SQL.events_page, **bounds)
            withdraws: dict[int, list[str]] = {}
            for row in self.tx.all(SQL.withdrawn_by_range, **bounds):
                withdraws.setdefault(row.withdrawn_by, []).append(row.event_id)
            for row in rows:
                yield row.id, _event(space.user_id, row, withdraws.get(row.id, []))
            self.advance(len(rows))
            low, count = low + count, next_page_rows(rows, count)

    def facts_of(self, space: Row) -> Iterator[tuple[int, FactRecord]]:
        """Yield the row ids and the records of the facts of a space."""
        now_ms = self.records.clock()
        for row in self._pages(SQL.facts_page, 0, space_id=space.id):
            # one query for each fact: few facts have other sources, and pages stay simple
            sources = self.tx.all(FACTS.sources_of, ids=json.dumps([row.id]))
            yield row.id, _fact(space.user_id, row, [one.event_id for one in sources], now_ms)

    def sessions_of(self, space: Row) -> Iterator[tuple[int, SessionRecord]]:
        """Yield the row ids and the records of the sessions of a space."""
        for row in self._pages(SQL.sessions_page, 0, space_id=space.id):
            yield row.id, read_row(SessionRecord, row, user_id=space.user_id)

    def _add_blobs(self, writer: ArchiveWriter) -> None:
        if self.filters is not None:  # created files have no metadata
            return
        blobs = open_blobs(self.records.settings)
        for row in self._pages(SQL.files_page, 0):
            is_selected = not self.user_ids or row.user_id in self.user_ids
            if not is_selected or row.sha256 in self.visited_blobs:
                continue
            self.visited_blobs.add(row.sha256)
            if len(self.visited_blobs) > ENTRIES_MAX - 100:
                raise TooManyFiles
            try:
                writer.add_blob(row.sha256, blobs.read(row.sha256, 0, row.bytes))
            except StoreUnavailable as error:
                raise FileErasedMeanwhile(f"{row.filename} cannot be read: {error}") from error

    def _pages(
        self, sql: str, after: int | str | None, *, rows_max: int = PAGE_ROWS_MAX, **values: Any
    ) -> Iterator[Row]:
        def page(last: Row | None, most: int) -> list[Row]:
            return self.tx.all(sql, after=after if last is None else last.id, most=most, **values)

        return chain.from_iterable(pages(page, rows_max))


class _Selection(NamedTuple):
    """The turns and facts of a space that pass filters: rows, those of their sessions, and ids."""

    space: Row
    sessions: frozenset[int]
    events: frozenset[int]
    facts: frozenset[int]
    ids: frozenset[str]


def _alone(record: Record, ids: frozenset[str]) -> Record:
    """Return a record that names no turns and facts but these: others may not have passed."""
    update: dict[str, Any] = {}
    for name in ("event_id", "superseded_by", "withdraws", "sources"):
        value = getattr(record, name, None)
        if isinstance(value, list):
            update[name] = [one for one in value if one in ids]
        elif value is not None and value not in ids:
            update[name] = None
    return record.model_copy(update=update)


def _event(user_id: str, row: Row, withdraws: list[str]) -> EventRecord:
    return read_row(
        EventRecord,
        row,
        user_id=user_id,
        occurred_at=time_of(row.occurred_ms, row.occurred_offset),
        withdraws=withdraws,
        second_look=None if row.looked_ms is None else read_row(SecondLooks, row),
    )


def _fact(user_id: str, row: Row, sources: list[str], now_ms: int) -> FactRecord:
    status, fields = row.status, dict[str, Any](sources=sources)
    if row.expires_ms is not None and row.expires_ms <= now_ms:  # erased in the background
        status = max(status, EXPIRED)
        fields = {"sources": [], "text": "", "condition": None, "pinned": False}
    elif not row.text:
        fields["condition"] = None
    return read_row(
        FactRecord, row, user_id=user_id, status=STATUSES[status], kind=KINDS[row.kind], **fields
    )
