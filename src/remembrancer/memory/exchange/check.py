"""Check a whole export before anything is stored: its records, their references and the target.

An identifier that the target has with other content, or that another account has, refuses the whole
import. What a user has only one of (a prompt, the map, a memory file, a vote) is left as it is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ...context import Caller, Context
from ...files.files import SQL as FILES
from ...files.files import charge_quota
from ...protocol import limits
from ...store import Row, Transaction, load_queries
from ...store.rows import columns_of
from ..files.commands import charge_bytes
from .record_index import RecordIndex
from .records import (
    BLOBS,
    MEMBERS,
    EventRecord,
    FactRecord,
    FileRecord,
    MapRecord,
    MemoryFileRecord,
    OriginRecord,
    Record,
)
from .source import ExportSource, Numbered

SQL = load_queries("remembrancer.memory.exchange", "restore.sql")
Advance = Callable[[int], object]  # called with the number of records of each step
_KINDS = {  # of records that others refer to, by the name of the field
    "users.jsonl": "user_id",
    "sessions.jsonl": "session_id",
    "events.jsonl": "event_id",
    "facts.jsonl": "fact_id",
}
_WITHOUT_USER = ("users.jsonl", "prompts.jsonl", "cubes.jsonl", "votes.jsonl", "files.jsonl")


@dataclass(slots=True)
class ExportCheck:
    """One check of an export. After `run` it knows what the target keeps as it is."""

    context: Context
    caller: Caller
    source: ExportSource
    index: RecordIndex
    left_maps: set[str] = field(default_factory=set)  # users whose map differs
    left_files: set[tuple[str, str]] = field(default_factory=set)  # users and paths that differ
    _file_bytes: int = 0  # that new created files count for
    _blobs: set[str] = field(default_factory=set)
    _memory_bytes: Counter[str] = field(default_factory=Counter)  # of new versions, by user
    _memory_files: Counter[str] = field(default_factory=Counter)  # new current ones, by user

    def run(self, advance: Advance) -> None:
        """Check every member. Raises ImportRefused naming the member and the line."""
        for name in MEMBERS:
            for batch in self.source.batches(name):
                for one in batch:
                    self._check_record(one)
                self.context.store.read(
                    partial(self._compare, name, batch), account_id=self.caller.account_id
                )
                self._refuse_taken(name, batch)
                advance(len(batch))
        self._check_links()
        unused = self.source.archive.blobs.keys() - self._blobs
        if unused:
            raise self.source.archive.refused(f"{BLOBS}{min(unused)}: no file has this content")
        self._check_memory_limits()

    def _check_links(self) -> None:
        """Check `superseded_by`, which may name a later record of the same user, but no cycle."""
        for kind, name in (("event_id", "events.jsonl"), ("fact_id", "facts.jsonl")):
            place = partial(Numbered, self.source.archive, name, record=None)
            if (wrong := self.index.wrong_link(kind)) is not None:
                problem = f"superseded_by: the user has no {wrong[1]} in this export"
                raise place(wrong[0]).refused(problem)
            if (cycle := self.index.cyclic_link(kind)) is not None:
                problem = f"superseded_by: {cycle[1]} leads back to this record"
                raise place(cycle[0]).refused(problem)

    def _check_record(self, one: Numbered) -> None:
        """Check what a record says about others in the same export."""
        record = one.record
        key = "\0".join(str(getattr(record, part)) for part in record.KEY)
        user_id = getattr(record, "user_id", None)
        before = self.index.add(_KINDS.get(one.name, one.name), key, user_id or "", one.line)
        if before is not None:
            label = key.replace("\0", " ")
            raise one.refused(f"{label} is in line {before}, too")
        if one.name not in _WITHOUT_USER:
            self._require(one, "user_id", str(user_id))
        session_id = getattr(record, "session_id", None)
        if one.name != "sessions.jsonl" and session_id is not None:
            self._require(one, "session_id", f"{user_id}\0{session_id}")
        for event_id in _events_of(record):
            self._require(one, "event_id", event_id)
        if isinstance(record, EventRecord | FactRecord) and record.superseded_by is not None:
            self.index.add_link(record.KEY[0], key, record.superseded_by, one.line)
        if isinstance(record, FileRecord):
            self._check_blob(one)

    def _require(self, one: Numbered, kind: str, identifier: str) -> None:
        if self.index.owner(kind, identifier) != one.record.user_id:
            label = identifier.rpartition("\0")[2]
            raise one.refused(f"{kind}: the user has no {label!r} in this export")

    def _check_blob(self, one: Numbered) -> None:
        record, archive = one.record, self.source.archive
        size, bytes_max = archive.blobs.get(record.sha256), self.context.settings.file_bytes_max
        name = f"{BLOBS}{record.sha256}"
        if size is None:
            raise one.refused(f"{name} is missing")
        if size != record.bytes:
            raise one.refused(f"{name} has {size:,} bytes, not {record.bytes:,}")
        if size > bytes_max:
            raise one.refused(f"{record.filename} has {size:,} bytes; the limit is {bytes_max:,}")
        if record.sha256 not in self._blobs:
            self._blobs.add(record.sha256)
            for _ in archive.blob(record.sha256):
                pass

    def _refuse_taken(self, name: str, batch: Sequence[Numbered]) -> None:
        """Refuse identifiers that other accounts have."""
        if name not in NAMED:
            return
        (_, sql), ids = NAMED[name], _ids([one.record for one in batch])
        rows = self.context.store.read(
            lambda tx: tx.all(sql, ids=ids, account_id=self.caller.account_id)
        )
        others = {row.id for row in rows}
        for one in batch:
            identifier = identifier_of(one.record)
            if identifier in others:
                raise one.refused(f"{identifier} is another account's")

    def _compare(self, name: str, batch: Sequence[Numbered], tx: Transaction) -> None:
        """Compare records with those of the account."""
        if name in NAMED:
            rows = rows_named(tx, name, [one.record for one in batch])
            for one in batch:
                identifier = identifier_of(one.record)
                row = rows.get(identifier)
                if row is not None and not is_same_record(one.record, row):
                    raise one.refused(f"{identifier} exists with different content")
                if row is None and isinstance(one.record, FileRecord):
                    self._count_file(tx, one)
        elif name == "maps.jsonl":
            for one in batch:
                if map_state(tx, one.record) == "different":
                    self.left_maps.add(one.record.user_id)
        elif name == "memory_files.jsonl":
            for one in batch:
                self._compare_memory_file(tx, one.record)

    def _compare_memory_file(self, tx: Transaction, record: MemoryFileRecord) -> None:
        state = memory_file_state(tx, record)
        if state == "different":
            self.left_files.add((record.user_id, record.path))
        elif state == "absent":
            self._memory_bytes[record.user_id] += charge_bytes(len((record.text or "").encode()))
            self._memory_files[record.user_id] += record.is_current

    def _count_file(self, tx: Transaction, one: Numbered) -> None:
        self._file_bytes += charge_quota(one.record.bytes)
        used = tx.one(FILES.usage_of).charged_bytes
        bytes_max = self.context.settings.account_bytes_max
        if used + self._file_bytes > bytes_max:
            raise one.refused(
                f"the files of the account would use {used + self._file_bytes:,} of "
                f"{bytes_max:,} bytes; raise account_bytes_max, or erase files",
            )

    def _check_memory_limits(self) -> None:
        for user_id, added in self._memory_bytes.items():
            usage = self.context.store.read(
                lambda tx, user_id=user_id: tx.one(SQL.memory_usage, user_id=user_id),  # type: ignore[misc]
                account_id=self.caller.account_id,
            )
            if (
                usage.bytes + added > limits.MEMORY_FILES_BYTES_MAX
                or usage.files + self._memory_files[user_id] > limits.MEMORY_FILES_MAX
            ):
                raise self.source.archive.refused(
                    f"memory_files.jsonl: user {user_id!r} would have more than "
                    f"{limits.MEMORY_FILES_MAX:,} memory files or "
                    f"{limits.MEMORY_FILES_BYTES_MAX:,} bytes of their versions"
                )


# --- Comparison with the target: also within the transactions that write --------------------------

# Members whose records have an identifier of their own, with the statements that find identifiers
# in this account, and in others.
NAMED = {
    "events.jsonl": (SQL.events_named, SQL.events_elsewhere),
    "facts.jsonl": (SQL.facts_named, SQL.facts_elsewhere),
    "summaries.jsonl": (SQL.summaries_named, SQL.summaries_elsewhere),
    "cubes.jsonl": (SQL.cubes_named, SQL.cubes_elsewhere),
    "files.jsonl": (SQL.files_named, SQL.files_elsewhere),
}


def rows_named(tx: Transaction, name: str, records: Sequence[Any]) -> dict[str, Row]:
    """Return the rows of the account with the identifiers of these records, by identifier.

    Records of other members have none.
    """
    if name not in NAMED:
        return {}
    return {row.id: row for row in tx.all(NAMED[name][0], ids=_ids(records))}


def identifier_of(record: Any) -> str:
    """Return the identifier of a record of a member of NAMED."""
    return str(getattr(record, record.KEY[0]))


def _ids(records: Sequence[Any]) -> str:
    return json.dumps([identifier_of(record) for record in records])


def is_same_record(record: Any, row: Row) -> bool:
    """Return True if the row with a record's identifier is that record.

    State that changes in a life (status, counters, votes) may differ, and so may an erased text.
    """
    columns = columns_of(record)
    if any(columns[name] != getattr(row, name) for name in record.SAME):
        return False
    texts = (record.text.strip(), row.text) if isinstance(record, FactRecord) else ()
    return len(set(texts)) < 2 or "" in texts


def map_state(tx: Transaction, record: MapRecord) -> str:
    """Return `absent`, `same` or `different` for this version of the user's map."""
    row = tx.one_or_none(SQL.map_of, user_id=record.user_id, version=record.version)
    if row is None:
        return "absent"
    return "same" if row.text == record.text.strip() else "different"


def memory_file_state(tx: Transaction, record: MemoryFileRecord) -> str:
    """Return `absent`, `same` or `different` for this version of the memory file."""
    row = tx.one_or_none(
        SQL.memory_file_of, user_id=record.user_id, path=record.path, version=record.version
    )
    if row is None:
        return "absent"
    is_same = (row.text, row.change) == (record.text, record.change)
    return "same" if is_same else "different"


def _events_of(record: Record) -> list[str]:
    """Return the events that a record names, all of which the export has before it."""
    if isinstance(record, EventRecord):
        return record.withdraws
    sources = record.sources if isinstance(record, FactRecord) else []
    event_id = record.event_id if isinstance(record, OriginRecord | FactRecord) else None
    return list(sources) if event_id is None else [event_id, *sources]
