"""Import an export: check it whole, then store its records in batches.

Each batch is one transaction that looks up again what the target has. An interrupted import can
therefore be run again, and running one twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from ...accounts import require_write
from ...context import Caller, Context
from ...files.files import FileOwner, restore_file
from ...search import entry_maker
from ...store.rows import columns_of
from . import restored
from .archive import Archive
from .check import ExportCheck, identifier_of, rows_named
from .record_index import RecordIndex
from .records import MEMBERS, FileRecord
from .restored import KINDS, NO_CUBE, Outcome, RestoreRun, RestoreWrite
from .source import BATCH, ExportSource

Written = TypeVar("Written")
Advance = Callable[[int], object]  # called with the number of records of each step
Progress = Callable[[str, int], AbstractContextManager[Advance]]  # name of the phase, records


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    """Numbers of records."""

    stored: int
    present: int  # the target had them
    left: int  # the target has another one, which stays
    without_cube: int  # votes on cubes that the target does not have


def no_progress(_phase: str, _records: int) -> AbstractContextManager[Callable[[int], None]]:
    """Report no progress."""
    return nullcontext(lambda _: None)


def restore(
    context: Context,
    caller: Caller,
    path: Path,
    *,
    user_id: str | None = None,
    progress: Progress = no_progress,
    processors: int = 1,
) -> RestoreResult:
    """Store the records of an export in the caller's account, under their identifiers.

    `user_id` takes the place of the export's only user; many turns are analysed in
    several processes if there are several `processors`. Raises ImportRefused before anything is
    stored, KeyIsReadOnly, StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    with Archive(path) as archive, RecordIndex() as index:
        count = sum(entry.records for entry in archive.manifest.members.values())
        check = ExportCheck(context, caller, _source(context, archive, user_id), index)
        with progress("checking", count) as advance:
            check.run(advance)
        source = _source(context, archive, user_id)
        texts = archive.manifest.members["events.jsonl"].records
        with (
            entry_maker(context.writer, texts, processors) as maker,
            progress("importing", count) as advance,
        ):
            outcome = _Restore(context, caller, source, check, maker).run(advance)
    return RestoreResult(
        stored=outcome["stored"],
        present=outcome["present"],
        left=outcome["left"],
        without_cube=outcome[NO_CUBE],
    )


def _source(context: Context, archive: Archive, user_id: str | None) -> ExportSource:
    return ExportSource(archive=archive, settings=context.settings, user_id=user_id)


class _Restore(RestoreRun):
    """One run of an import, after its check."""

    def run(self, advance: Advance) -> Outcome:
        """Store all members in their order, each after those that its records refer to."""
        outcome = Outcome()
        for name in MEMBERS:
            begin = self._begin_files if name == "files.jsonl" else partial(self._begin, name)
            steps = (
                (len(batch), begin([one.record for one in batch]))
                for batch in self.source.batches(name)
            )
            for count, end in self.maker.in_order(steps):
                outcome += end()
                advance(count)
            self._complete(name)
        return outcome

    def _begin(self, name: str, records: Sequence[Any]) -> Callable[[], Outcome]:
        """Begin the index entries of new records; return a function that stores the records.

        It raises EmbedderUnavailable.
        """
        present = self.context.store.read(
            lambda tx: rows_named(tx, name, records), account_id=self.caller.account_id
        )
        new = [one for one in records if not present or identifier_of(one) not in present]
        take = KINDS[name].prepare(self, new)

        def store() -> Outcome:
            outcome = Outcome(present=len(records) - len(new))
            if new:
                entries = take()
                outcome += self._write(lambda write: _stored(name, write, new, entries))
            return outcome

        return store

    def _begin_files(self, records: Sequence[FileRecord]) -> Callable[[], Outcome]:
        """Return a function that stores created files, each in its own transaction."""
        return lambda: sum(map(self._store_file, records), Outcome())

    def _store_file(self, record: FileRecord) -> Outcome:
        if self.context.store.read(
            lambda tx: rows_named(tx, "files.jsonl", [record]), account_id=self.caller.account_id
        ):
            return Outcome(present=1)
        owner = FileOwner(
            account_id=self.caller.account_id,
            pinned_user_id=record.user_id,
            made_by=record.made_by,
        )
        restore_file(
            self.context,
            owner,
            filename=record.filename,
            blob=record.sha256,
            size_bytes=record.bytes,
            created_ms=columns_of(record)["created_ms"],
            content=self.source.archive.blob(record.sha256),
        )
        return Outcome(stored=1)

    def _complete(self, name: str) -> None:
        """Store what the records of a member say about later ones, and about them all."""
        if name == "events.jsonl":
            for links in _batches(self.check.index.links("event_id")):
                self._write(partial(restored.link_events, links=links))
            for sessions in self.source.batches("sessions.jsonl"):
                self._write(
                    partial(restored.recount_sessions, sessions=[one.record for one in sessions])
                )
        elif name == "facts.jsonl":
            for links in _batches(self.check.index.links("fact_id")):
                self._write(partial(restored.link_facts, links=links))
        elif name == "maps.jsonl":
            for users in self.source.batches("users.jsonl"):
                self._write(partial(restored.note_maps, users=[one.record for one in users]))

    def _write(self, action: Callable[[RestoreWrite], Written]) -> Written:
        return self.context.store.write(
            lambda tx: action(RestoreWrite(self, tx)), account_id=self.caller.account_id
        )


def _stored(
    name: str, write: RestoreWrite, new: Sequence[Any], entries: restored.Entries
) -> Outcome:
    """Store the records of a batch that were new when it began."""
    kind, present = KINDS[name], rows_named(write.tx, name, new)
    write.records = [one for one in new if not present or identifier_of(one) not in present]
    outcome = Outcome(present=len(new) - len(write.records))
    for record in write.records:
        outcome[kind.add(write, record, entries)] += 1
    if name == "cubes.jsonl":
        restored.merge_cubes(write)
    return outcome


def _batches(links: Iterator[tuple[str, str]]) -> Iterator[Sequence[tuple[str, str]]]:
    while batch := list(islice(links, BATCH)):
        yield batch
