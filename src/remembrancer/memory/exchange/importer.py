"""Import turns and facts: our own JSON lines, and the data of other products (`shapes`).

Every imported record has an origin, and an origin that a space already holds is skipped. An
interrupted import can therefore be run again, and running one twice changes nothing. An id of our
own JSON lines may be that of several turns (`ImportTurn.is_unique`): one with another session or
text than the stored turn has a second origin, made of the id and its content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ...accounts import require_write, space_user_id
from ...accounts.usage import count_at_once
from ...context import Caller, Context
from ...protocol.imports import ImportFact, ImportTurn, RecordImport, RecordsImported
from ...screening import find_secrets, mask_secrets
from ...search import EntryMaker, EventText, IndexEntry
from ...store import Transaction
from ..facts.life import SQL as FACTS
from ..facts.life import NewFact, store_fact
from ..intake import Intake
from ..layers import layer_text
from ..spaces import SQL, milliseconds, offset_minutes, space_of
from ..write.turns import IncomingTurn, ReadTurn, read_turn, store_turn, with_spoken
from .shapes.records import digest
from .survey import CheckedSource, check

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
class Imported:
    """A turn or a fact to import."""

    origin: str
    user_id: str
    text: EventText  # to embed
    read: Callable[[IndexEntry], ReadTurn | NewFact]
    turn: IncomingTurn | None = None
    second_origin: str | None = None  # if another turn has `origin`; None: no other can have it


def read(caller: Caller, path: Path, **options: Any) -> CheckedSource:
    """Check a whole file, archive or folder before anything is stored.

    `options` are those of `check`. It is read twice, now and during iteration, so that it need not
    fit into memory.

    Raises ImportRefused naming the place, and PinnedToOtherUser for a pinned key with another
    user_id.
    """
    return check(path, space=partial(space_user_id, caller), **options)


def _imported(
    context: Context, caller: Caller, records: Iterable[ImportTurn | ImportFact]
) -> Iterator[Imported]:
    now_ms = context.clock()
    for record in records:
        user_id, intake = space_user_id(caller, record.user_id), Intake(settings=context.settings)
        if isinstance(record, ImportTurn):
            yield _imported_turn(context, record, user_id, now_ms, intake)
        else:
            yield _imported_fact(record, user_id, now_ms, intake)


def store(
    context: Context,
    caller: Caller,
    records: Iterable[ImportTurn | ImportFact],
    *,
    progress: Callable[[int], None] = lambda _: None,
    maker: EntryMaker | None = None,
) -> ImportResult:
    """Store turns and facts in batches. Call `progress` with the size of each batch.

    `maker` makes the index entries; this process does by default. An interrupted call can be
    repeated at any time. Raises KeyIsReadOnly, PinnedToOtherUser, StoreUnavailable,
    EmbedderUnavailable.
    """
    require_write(caller)
    turns = facts = repeated = records_read = 0
    first: dict[int, int] = {}  # by space: the first event that this import stored
    maker = maker or EntryMaker(context.writer)
    imported = _imported(context, caller, records)
    for batch in maker.in_order(_batches(context, caller, imported, maker)):
        existing = batch.existing
        if batch.new:
            pairs = zip(batch.new, batch.take(), strict=True)
            reads = [record.read(entry) for record, entry in pairs]
            write = partial(_write, context, caller, batch.new, reads)
            events, present, new_facts = context.store.write(write, account_id=caller.account_id)
            turns, facts, existing = turns + len(events), facts + new_facts, existing + present
            for event in events:
                first.setdefault(space_of(event), event)
        # The events of a space are numbered.
        repeated += sum(first.get(space_of(event), event + 1) <= event for event in existing)
        records_read += batch.records
        progress(batch.records)
    stored = turns + facts
    return ImportResult(
        stored=stored, duplicates=records_read - stored, facts=facts, repeated=repeated
    )


def import_records(context: Context, caller: Caller, records: RecordImport) -> RecordsImported:
    """Store the records of a request, as an import of a file with them does.

    Raises KeyIsReadOnly, PinnedToOtherUser, StoreUnavailable, EmbedderUnavailable.
    """
    every: list[ImportTurn | ImportFact] = [*records.turns, *records.facts]
    for record in every:
        space_user_id(caller, record.user_id)  # first: an invalid one is refused before any work
    result = store(context, caller, every)
    return RecordsImported(
        saved=True, stored=result.stored, facts=result.facts, present=result.duplicates
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """Some records: those that are new, a function that gives their index entries, and the events
    of the others.
    """

    records: int
    new: list[Imported]
    existing: list[int]
    take: Callable[[], list[IndexEntry]]


def _batches(
    context: Context, caller: Caller, records: Iterable[Imported], maker: EntryMaker
) -> Iterator[_Batch]:
    """Yield the records in batches whose entries are begun."""
    remaining = iter(records)
    while batch := list(islice(remaining, BATCH)):
        new, existing = context.store.read(partial(_divided, batch), account_id=caller.account_id)
        take = maker.begin([record.text for record in new])
        yield _Batch(records=len(batch), new=new, existing=existing, take=take)


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
        or record.turn is None
        or record.second_origin is None
        or not _is_another(tx, record.turn, event)
    ):
        return record.origin, event
    return record.second_origin, _event_of(tx, space.id, record.second_origin)


def _event_of(tx: Transaction, space_id: int, origin: str) -> int | None:
    row = tx.one_or_none(SQL.event_of_origin, space_id=space_id, origin=origin)
    return None if row is None else row.event


def _is_another(tx: Transaction, turn: IncomingTurn, event: int) -> bool:
    """Return True if a stored event with the id of a turn has another session or text.

    An erased event counts as the same: an import must not bring it back.
    """
    stored = tx.one_or_none(SQL.imported_turn, event=event)
    if stored is None:
        return False
    return bool(stored.session_id != turn.session_id) or any(
        # the setting that masks secrets may have changed since
        one != other and _masked(one) != _masked(other)
        for one, other in (
            (stored.query, turn.text.query),
            (stored.response, turn.text.response),
        )
    )


def _masked(text: str) -> str:
    return mask_secrets(text, find_secrets(text))


def _write(
    context: Context,
    caller: Caller,
    new: Sequence[Imported],
    reads: Sequence[ReadTurn | NewFact],
    tx: Transaction,
) -> tuple[list[int], list[int], int]:
    """Store records; return the events of the turns, those of records that were there already
    (repeated in the file, or stored by a concurrent import), and the number of facts.
    """
    events: list[int] = []
    existing: list[int] = []
    facts = 0
    for record, read in zip(new, reads, strict=True):
        origin, present = _find(tx, record)
        if present is not None:
            existing.append(present)
            continue
        if isinstance(read, NewFact):
            space_id = tx.one(SQL.open_space, user_id=record.user_id, now_ms=context.clock()).id
            facts += _write_fact(context, caller, tx, space_id, read)
            event = FACT
        else:
            assert record.turn is not None
            event = store_turn(context, tx, record.turn, read).row
            events.append(event)
            space_id = space_of(event)
        tx.run(SQL.add_origin, space_id=space_id, origin=origin, event=event)
    key = {"account_id": caller.account_id, "key_id": caller.key_id}
    count_at_once(tx, "imported", now_ms=context.clock(), times=len(events), **key)
    return events, existing, facts


def _write_fact(
    context: Context, caller: Caller, tx: Transaction, space_id: int, fact: NewFact
) -> int:
    """Store a fact; return 0 if the space has an equal one that holds, whose end it then sets."""
    stored = store_fact(context, tx, caller, space_id, fact)
    if not stored.is_known:
        return 1
    row, ends = tx.one(FACTS.fact_by_id, fact_id=stored.fact_id), fact.valid_to_ms
    if row.valid_to_ms is None and ends is not None and ends > row.valid_from_ms:
        tx.run(FACTS.change_fact, **row._asdict() | {"valid_to_ms": ends})
    return 0


def _imported_turn(
    context: Context, record: ImportTurn, user_id: str, now_ms: int, intake: Intake
) -> Imported:
    text = EventText(
        query=intake.screen(record.query),
        response=intake.screen(record.response),
        topic=None if record.topic is None else intake.screen(record.topic),
        occurred_ms=milliseconds(record.occurred_at, now_ms),
    )
    metadata, origin = intake.take_metadata(record.metadata), _origin(record)
    turn = IncomingTurn(
        user_id=user_id,
        session_id=record.session_id,
        text=with_spoken(text),
        offset_minutes=offset_minutes(record.occurred_at),
        flags=intake.flags,
        source=record.source or "import",
        metadata=metadata,
    )
    return Imported(
        origin=origin,
        user_id=user_id,
        text=turn.text,
        read=partial(read_turn, context, turn),
        turn=turn,
        second_origin=digest(origin, record.session_id, record.query, record.response)
        if record.id and not record.is_unique
        else None,
    )


def _origin(turn: ImportTurn) -> str:
    """Return the id of a turn, or one made of its content."""
    at = "" if turn.occurred_at is None else str(round(turn.occurred_at.timestamp() * 1000))
    return turn.id or digest(turn.session_id, turn.query, turn.response, turn.topic or "", at)


def _imported_fact(record: ImportFact, user_id: str, now_ms: int, intake: Intake) -> Imported:
    ends = None if record.valid_to is None else milliseconds(record.valid_to, now_ms)
    starts, text = milliseconds(record.valid_from, now_ms), intake.screen(record.text)
    metadata = intake.take_metadata(record.metadata)

    def fact_with(entry: IndexEntry) -> NewFact:
        return NewFact(
            text=text,
            entry=entry,
            source="import",
            valid_from_ms=starts if ends is None or starts < ends else ends - 1,
            valid_to_ms=ends,
            metadata=metadata,
        )

    origin = f"fact:{record.id or digest(record.text)}"
    return Imported(origin=origin, user_id=user_id, text=layer_text(text), read=fact_with)
