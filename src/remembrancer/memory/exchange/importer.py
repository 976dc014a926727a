"""Import turns and facts: our own JSON lines, and the data of other products (`shapes`).

Every imported record has an origin, and an origin that a space already holds is skipped. An
interrupted import can therefore be run again, and running one twice changes nothing. An id of our
own JSON lines may be that of several turns (`ImportTurn.is_unique`): one with another session or
text than the stored turn has a second origin, made of the id and its content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ...accounts import require_write, space_user_id
from ...accounts.usage import count_at_once
from ...context import Caller, Context
from ...protocol.imports import ImportFact, ImportTurn, RecordImport, RecordsImported
from ...protocol.sources import TurnSource
from ...protocol.trust import TextSource
from ...screening import find_secrets, mask_secrets
from ...search import EntryMaker, EventText, IndexEntry
from ...settings import Settings
from ...store import Transaction
from ..facts.life import SQL as FACTS
from ..facts.life import NewFact, store_fact
from ..intake import Intake
from ..layers import layer_text
from ..spaces import SQL, milliseconds, offset_minutes, space_of
from ..write.turns import ReadTurn, add_turn, begin_turn, new_turn, read_turn, with_spoken
from .shapes.records import ImportRefused, digest
from .survey import CheckedSource, Survey, check

__all__ = [
    "BATCH",
    "ImportRefused",
    "ImportResult",
    "ImportSource",
    "import_records",
    "read",
    "store",
]

BATCH = 64  # records embedded and written together
FACT = 0  # in place of the event, in the row of the origin of a fact


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """Counts of an import."""

    stored: int
    duplicates: int  # not stored, because memory has them
    facts: int = 0  # of those stored
    repeated: int = 0  # of the duplicates: turns that this import stored before


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTurn:
    """One event to import."""

    origin: str
    user_id: str
    session_id: str
    text: EventText
    occurred_offset: int  # minutes east of UTC
    flags: tuple[str, ...]  # set while screening its texts
    source: TurnSource | TextSource
    metadata: str | None = None  # as it is stored
    second_origin: str | None = None  # if another turn has `origin`; None: no other can have it


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFact:
    """One fact to import. Times are in ms since 1970."""

    origin: str
    user_id: str
    text: str
    valid_from_ms: int
    valid_to_ms: int | None
    metadata: str | None = None  # as it is stored


Imported = ImportedTurn | ImportedFact


@dataclass(frozen=True, slots=True)
class ImportSource:
    """A source that was checked from end to end, as turns and facts to store.

    Iterates over `len` of them, in order, as often as needed. `survey` has the counts.
    """

    context: Context
    caller: Caller
    checked: CheckedSource

    @property
    def survey(self) -> Survey:
        """The counts of the source, and what it leaves out."""
        return self.checked.survey

    def __len__(self) -> int:
        return len(self.checked)

    def __iter__(self) -> Iterator[Imported]:
        return _imported(self.context, self.caller, self.checked)


def read(context: Context, caller: Caller, path: Path, **options: Any) -> ImportSource:
    """Check a whole file, archive or folder before anything is stored.

    `options` are those of `check`. It is read twice, now and during iteration, so that it need not
    fit into memory.

    Raises ImportRefused naming the place, and PinnedToOtherUser for a pinned key with another
    user_id.
    """
    checked = check(path, space=partial(space_user_id, caller), **options)
    return ImportSource(context, caller, checked)


def _imported(
    context: Context, caller: Caller, records: Iterable[ImportTurn | ImportFact]
) -> Iterator[Imported]:
    now_ms = context.clock()
    for record in records:
        space = space_user_id(caller, record.user_id)
        if isinstance(record, ImportTurn):
            yield _imported_turn(record, space, now_ms, context.settings)
        else:
            yield _imported_fact(record, space, now_ms, context.settings)


def store(
    context: Context,
    caller: Caller,
    records: Iterable[Imported],
    *,
    progress: Callable[[int], None] = lambda _: None,
    maker: EntryMaker | None = None,
) -> ImportResult:
    """Store turns and facts in batches. Call `progress` with the size of each batch.

    `maker` makes the index entries; this process does by default. An interrupted call can be
    repeated at any time. Raises KeyIsReadOnly, StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    total = _Written()
    records_read = 0
    maker = maker or EntryMaker(context.writer)
    for batch in maker.in_order(_batches(context, caller, records, maker)):
        total = replace(total, repeated=total.repeated + total.count(batch.existing))
        if batch.new:
            total = context.store.write(
                partial(_write, context, caller, batch.new, _read(context, batch), total),
                account_id=caller.account_id,
            )
        records_read += batch.records
        progress(batch.records)
    stored = total.turns + total.facts
    return ImportResult(
        stored=stored,
        duplicates=records_read - stored,
        facts=total.facts,
        repeated=total.repeated,
    )


def import_records(context: Context, caller: Caller, records: RecordImport) -> RecordsImported:
    """Store the records of a request, as an import of a file with them does.

    Raises KeyIsReadOnly, PinnedToOtherUser, StoreUnavailable, EmbedderUnavailable.
    """
    result = store(
        context, caller, list(_imported(context, caller, [*records.turns, *records.facts]))
    )
    return RecordsImported(
        saved=True, stored=result.stored, facts=result.facts, present=result.duplicates
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """Turns and facts that an import stored until now."""

    turns: int = 0
    facts: int = 0
    repeated: int = 0
    first: Mapping[int, int] = field(default_factory=dict)  # its first event, by space

    def count(self, events: Iterable[int]) -> int:
        """Return how many of the events this import stored: events of a space are numbered."""
        return sum(self.first.get(space_of(event), event + 1) <= event for event in events)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """Some records: those that are new, a function that gives their index entries, and the events
    of the others.
    """

    records: int
    new: list[Imported]
    existing: list[int]
    take: Callable[[], list[IndexEntry]]


def _read(context: Context, batch: _Batch) -> list[ReadTurn | IndexEntry]:
    """Return the new turns of a batch, and the entries of its facts. Raises EmbedderUnavailable."""
    entries: list[ReadTurn | IndexEntry] = []
    for record, entry in zip(batch.new, batch.take(), strict=True):
        if isinstance(record, ImportedTurn):
            flagged = replace(entry, flags=entry.flags + record.flags)
            entries.append(read_turn(context, record.text, flagged, record.source))
        else:
            entries.append(entry)
    return entries


def _batches(
    context: Context, caller: Caller, records: Iterable[Imported], maker: EntryMaker
) -> Iterator[_Batch]:
    """Yield the records in batches whose entries are begun."""
    remaining = iter(records)
    while batch := list(islice(remaining, BATCH)):
        new, existing = context.store.read(partial(_divided, batch), account_id=caller.account_id)
        texts = [
            record.text if isinstance(record, ImportedTurn) else layer_text(record.text)
            for record in new
        ]
        yield _Batch(records=len(batch), new=new, existing=existing, take=maker.begin(texts))


def _divided(batch: list[Imported], tx: Transaction) -> tuple[list[Imported], list[int]]:
    """Return the records that are new, and the events of the others."""
    pairs = [(record, _find(tx, record)[1]) for record in batch]
    return (
        [record for record, event in pairs if event is None],
        [event for _, event in pairs if event is not None],
    )


def _find(tx: Transaction, record: Imported) -> tuple[str, int | None]:
    """Return the origin of a record, and the event that an import stored for it, if one did."""
    space = tx.one_or_none(SQL.space_of, user_id=record.user_id)
    if space is None:
        return record.origin, None
    event = _event_of(tx, space.id, record.origin)
    if (
        event is None
        or not isinstance(record, ImportedTurn)
        or record.second_origin is None
        or not _is_another(tx, record, event)
    ):
        return record.origin, event
    return record.second_origin, _event_of(tx, space.id, record.second_origin)


def _event_of(tx: Transaction, space_id: int, origin: str) -> int | None:
    row = tx.one_or_none(SQL.event_of_origin, space_id=space_id, origin=origin)
    return None if row is None else row.event


def _is_another(tx: Transaction, record: ImportedTurn, event: int) -> bool:
    """Return True if a stored event with the id of a turn has another session or text.

    An erased event counts as the same: an import must not bring it back.
    """
    stored = tx.one_or_none(SQL.imported_turn, event=event)
    if stored is None:
        return False
    return bool(stored.session_id != record.session_id) or any(
        # the setting that masks secrets may have changed since
        one != other and _masked(one) != _masked(other)
        for one, other in (
            (stored.query, record.text.query),
            (stored.response, record.text.response),
        )
    )


def _masked(text: str) -> str:
    return mask_secrets(text, find_secrets(text))


def _write(
    context: Context,
    caller: Caller,
    new: list[Imported],
    entries: list[ReadTurn | IndexEntry],
    earlier: _Written,
    tx: Transaction,
) -> _Written:
    """Return what this import stored, with these records."""
    turns = facts = 0
    first, existing = dict(earlier.first), []
    for record, entry in zip(new, entries, strict=True):
        origin, present = _find(tx, record)
        if present is not None:  # repeated in the file, or stored by a concurrent import
            existing.append(present)
            continue
        if isinstance(record, ImportedTurn) and isinstance(entry, ReadTurn):
            imported = new_turn(
                tx,
                entry,
                user_id=record.user_id,
                session_id=record.session_id,
                offset_minutes=record.occurred_offset,
                metadata=record.metadata,
            )
            turn = add_turn(context, tx, begin_turn(context, tx, imported), imported)
            space_id, event = space_of(turn.row), turn.row
            first.setdefault(space_id, event)
            turns += 1
        elif isinstance(record, ImportedFact) and isinstance(entry, IndexEntry):
            space_id = tx.one(SQL.open_space, user_id=record.user_id, now_ms=context.clock()).id
            facts += _write_fact(context, caller, tx, space_id, record, entry)
            event = FACT
        tx.run(SQL.add_origin, space_id=space_id, origin=origin, event=event)
    count_at_once(
        tx,
        "imported",
        now_ms=context.clock(),
        account_id=caller.account_id,
        key_id=caller.key_id,
        times=turns,
    )
    written = _Written(turns=earlier.turns + turns, facts=earlier.facts + facts, first=first)
    return replace(written, repeated=earlier.repeated + written.count(existing))


def _write_fact(
    context: Context,
    caller: Caller,
    tx: Transaction,
    space_id: int,
    record: ImportedFact,
    entry: IndexEntry,
) -> int:
    """Store a fact; return 0 if the space has an equal one that holds, whose end it then sets."""
    fact = NewFact(
        text=record.text,
        entry=entry,
        source="import",
        valid_from_ms=record.valid_from_ms,
        valid_to_ms=record.valid_to_ms,
        metadata=record.metadata,
    )
    stored = store_fact(context, tx, caller, space_id, fact)
    if not stored.is_known:
        return 1
    row = tx.one(FACTS.fact_by_id, fact_id=stored.fact_id)
    ends = record.valid_to_ms
    if row.valid_to_ms is None and ends is not None and ends > row.valid_from_ms:
        tx.run(
            FACTS.change_fact,
            id=row.id,
            pinned=row.pinned,
            valid_from_ms=row.valid_from_ms,
            valid_to_ms=ends,
            expires_ms=row.expires_ms,
        )
    return 0


def _imported_turn(
    record: ImportTurn, user_id: str, now_ms: int, settings: Settings
) -> ImportedTurn:
    intake = Intake(settings=settings)
    text = EventText(
        query=intake.screen(record.query),
        response=intake.screen(record.response),
        topic=None if record.topic is None else intake.screen(record.topic),
        occurred_ms=milliseconds(record.occurred_at, now_ms),
    )
    metadata = intake.take_metadata(record.metadata)
    origin = _origin(record)
    return ImportedTurn(
        origin=origin,
        user_id=user_id,
        session_id=record.session_id,
        text=with_spoken(text),
        occurred_offset=offset_minutes(record.occurred_at),
        flags=intake.flags,
        source=record.source or "import",
        metadata=metadata,
        second_origin=digest(origin, record.session_id, record.query, record.response)
        if record.id and not record.is_unique
        else None,
    )


def _origin(turn: ImportTurn) -> str:
    """Return the id of a turn, or one made of its content."""
    at = "" if turn.occurred_at is None else str(round(turn.occurred_at.timestamp() * 1000))
    return turn.id or digest(turn.session_id, turn.query, turn.response, turn.topic or "", at)


def _imported_fact(
    record: ImportFact, user_id: str, now_ms: int, settings: Settings
) -> ImportedFact:
    intake = Intake(settings=settings)
    ends = None if record.valid_to is None else milliseconds(record.valid_to, now_ms)
    starts = milliseconds(record.valid_from, now_ms)
    return ImportedFact(
        origin=f"fact:{record.id or digest(record.text)}",
        user_id=user_id,
        text=intake.screen(record.text),
        valid_from_ms=starts if ends is None or starts < ends else ends - 1,
        valid_to_ms=ends,
        metadata=intake.take_metadata(record.metadata),
    )
