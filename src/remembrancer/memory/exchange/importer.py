"""Import turns and facts: our own JSON lines, and the data of other products (`shapes`).

Every imported record has an origin, and an origin that a space already holds is skipped. An
interrupted import can therefore be run again, and running one twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from ...accounts import require_write, space_user_id
from ...accounts.usage import count_at_once
from ...context import Caller, Context
from ...search import EntryMaker, EventText, IndexEntry
from ...settings import Settings
from ...store import Transaction
from ..facts.write import SQL as FACTS
from ..facts.write import NewFact, store_fact
from ..layers import layer_text
from ..spaces import SQL, milliseconds, offset_minutes, space_of
from ..write.turns import Intake, SessionAddress, TurnTimes, store_turn
from .shapes import ImportRefused, LeftOutRecord, Shape, ShapeFact, ShapeTurn, Source
from .survey import Survey, imported_records, open_import, survey

__all__ = ["BATCH", "ImportRefused", "ImportResult", "ImportSource", "read", "store"]

BATCH = 64  # records embedded and written together
FACT = 0  # in place of the event, in the row of the origin of a fact


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """Counts of an import."""

    stored: int
    duplicates: int  # stored by an earlier import
    facts: int = 0  # of those stored


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTurn:
    """One event to import."""

    origin: str
    user_id: str
    session_id: str
    text: EventText
    occurred_offset: int  # minutes east of UTC
    flags: tuple[str, ...]  # set while screening its texts


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFact:
    """One fact to import. Times are in ms since 1970."""

    origin: str
    user_id: str
    text: str
    valid_from_ms: int
    valid_to_ms: int | None


Imported = ImportedTurn | ImportedFact


class ImportSource:
    """A source that was checked from end to end.

    Iterates over `len` turns and facts, in order, as often as needed. `survey` has the counts.
    """

    def __init__(self, summary: Survey, take: Callable[[], Iterator[Imported]]) -> None:
        self.survey, self._take = summary, take

    def __len__(self) -> int:
        return self.survey.turns + self.survey.facts

    def __iter__(self) -> Iterator[Imported]:
        return self._take()


def read(
    context: Context,
    caller: Caller,
    path: Path,
    *,
    user_id: str | None = None,
    shape: str | None = None,
    skip_invalid: bool = False,
    progress: Callable[[Survey, Source], None] = lambda _survey, _source: None,
) -> ImportSource:
    """Check a whole file, archive or folder before anything is stored.

    `user_id` overrides the ones in it, `shape` the recognised shape. It is read twice, now and
    during iteration, so that it need not fit into memory. With `skip_invalid` invalid records are
    counted in the survey instead of refused. Calls `progress` for each record.

    Raises ImportRefused naming the place, and PinnedToOtherUser for a pinned key with another
    user_id.
    """
    source, chosen = open_import(path, shape)
    space = partial(_space, caller, user_id)
    summary = survey(
        source,
        chosen,
        space=space,
        is_alone=user_id is None,
        skip_invalid=skip_invalid,
        progress=progress,
    )
    return ImportSource(
        summary,
        partial(
            _imported,
            context,
            source,
            chosen,
            space,
            is_alone=user_id is None,
            skip_invalid=skip_invalid,
        ),
    )


def _space(caller: Caller, user_id: str | None, own: str | None) -> str:
    return space_user_id(caller, user_id if user_id is not None else own)


def _imported(
    context: Context,
    source: Source,
    shape: Shape,
    space: Callable[[str | None], str],
    *,
    is_alone: bool,
    skip_invalid: bool,
) -> Iterator[Imported]:
    now_ms = context.clock()
    for record in imported_records(source, shape, is_alone=is_alone, skip_invalid=skip_invalid):
        if isinstance(record, ShapeTurn):
            yield _imported_turn(record, space(record.user_id), now_ms, context.settings)
        elif isinstance(record, ShapeFact):
            yield _imported_fact(record, space(record.user_id), now_ms, context.settings)
        elif not isinstance(record, LeftOutRecord) and not skip_invalid:
            raise ImportRefused(str(record))


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
    stored = duplicates = facts = 0
    maker = maker or EntryMaker(context.writer)
    for batch in maker.in_order(_batches(context, caller, records, maker)):
        written = (0, 0)
        if batch.new:
            written = context.store.write(
                partial(_write, context, caller, batch.new, batch.entries()),
                account_id=caller.account_id,
            )
        stored, facts = stored + sum(written), facts + written[1]
        duplicates += batch.records - sum(written)
        progress(batch.records)
    return ImportResult(stored=stored, duplicates=duplicates, facts=facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """Some records, those of them that are new, and a function that gives their index entries."""

    records: int
    new: list[Imported]
    take: Callable[[], list[IndexEntry]]

    def entries(self) -> list[IndexEntry]:
        """Return the entries of the new records. Raises EmbedderUnavailable."""
        return [
            replace(entry, flags=entry.flags + record.flags)
            if isinstance(record, ImportedTurn)
            else entry
            for entry, record in zip(self.take(), self.new, strict=True)
        ]


def _batches(
    context: Context, caller: Caller, records: Iterable[Imported], maker: EntryMaker
) -> Iterator[_Batch]:
    """Yield the records in batches whose entries are begun."""
    remaining = iter(records)
    while batch := list(islice(remaining, BATCH)):
        new = context.store.read(partial(_not_imported, batch), account_id=caller.account_id)
        texts = [
            record.text if isinstance(record, ImportedTurn) else layer_text(record.text)
            for record in new
        ]
        yield _Batch(records=len(batch), new=new, take=maker.begin(texts))


def _not_imported(batch: list[Imported], tx: Transaction) -> list[Imported]:
    return [record for record in batch if not _is_imported(tx, record)]


def _is_imported(tx: Transaction, record: Imported) -> bool:
    space = tx.one_or_none(SQL.space_of, user_id=record.user_id)
    return (
        space is not None
        and tx.one_or_none(SQL.event_of_origin, space_id=space.id, origin=record.origin) is not None
    )


def _write(
    context: Context,
    caller: Caller,
    new: list[Imported],
    entries: list[IndexEntry],
    tx: Transaction,
) -> tuple[int, int]:
    """Return the number of turns and of facts stored."""
    turns = facts = 0
    for record, entry in zip(new, entries, strict=True):
        if _is_imported(tx, record):  # repeated in the file, or stored by a concurrent import
            continue
        if isinstance(record, ImportedTurn):
            address = SessionAddress(
                account_id=caller.account_id, user_id=record.user_id, session_id=record.session_id
            )
            turn = store_turn(
                context, tx, address, record.text, entry, times=TurnTimes(record.occurred_offset)
            )
            space_id, event = space_of(turn.row), turn.row
            turns += 1
        else:
            space_id = tx.one(SQL.open_space, user_id=record.user_id, now_ms=context.clock()).id
            facts += _write_fact(context, caller, tx, space_id, record, entry)
            event = FACT
        tx.run(SQL.add_origin, space_id=space_id, origin=record.origin, event=event)
    count_at_once(
        tx,
        "imported",
        now_ms=context.clock(),
        account_id=caller.account_id,
        key_id=caller.key_id,
        times=turns,
    )
    return turns, facts


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
        valid_from_ms=record.valid_from_ms,
        valid_to_ms=record.valid_to_ms,
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
    record: ShapeTurn, user_id: str, now_ms: int, settings: Settings
) -> ImportedTurn:
    intake = Intake(settings=settings)
    text = EventText(
        query=intake.screen(record.query),
        response=intake.screen(record.response),
        topic=None if record.topic is None else intake.screen(record.topic),
        occurred_ms=milliseconds(record.occurred_at, now_ms),
    )
    return ImportedTurn(
        origin=record.origin,
        user_id=user_id,
        session_id=record.session_id,
        text=text,
        occurred_offset=offset_minutes(record.occurred_at),
        flags=intake.flags,
    )


def _imported_fact(
    record: ShapeFact, user_id: str, now_ms: int, settings: Settings
) -> ImportedFact:
    ends = None if record.valid_to is None else milliseconds(record.valid_to, now_ms)
    starts = milliseconds(record.valid_from, now_ms)
    return ImportedFact(
        origin=f"fact:{record.origin}",
        user_id=user_id,
        text=Intake(settings=settings).screen(record.text),
        valid_from_ms=starts if ends is None or starts < ends else ends - 1,
        valid_to_ms=ends,
    )
