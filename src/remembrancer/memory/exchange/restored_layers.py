"""Store the facts, L1s and maps of an export, with new index entries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...context import Caller, Context
from ...search import EventText, IndexEntry, index_entries
from ...store import Row, Transaction
from ..facts.write import CURRENT, EXPIRED, KINDS, REMOVED, SUPERSEDED
from ..facts.write import SQL as FACTS
from ..instructions import Instruction
from ..layers import Layer, add_fact_keys, add_layer, fact_layer, layer_text
from ..spaces import milliseconds
from ..summaries.l1 import SQL as SUMMARIES
from .check import SQL, map_state, rows_named
from .export import STATUSES
from .records import FactRecord, MapRecord, SummaryRecord, UserRecord
from .restored_turns import Outcome, open_session, open_space

Aliases = dict[str, int]  # fact ids of the export -> rows of equal facts that the target had


def write_facts(
    context: Context, caller: Caller, aliases: Aliases, records: Sequence[FactRecord]
) -> Outcome:
    """Store facts with their life. A current fact whose text the user has is that fact."""
    entries = _entries(context, caller, "facts.jsonl", records)

    def write(tx: Transaction) -> Outcome:
        outcome = Outcome()
        existing = rows_named(tx, "facts.jsonl", records)
        for record in records:
            space_id = open_space(context, tx, record.user_id)
            if record.fact_id in existing:
                outcome["present"] += 1
                continue
            text, status = _life(context, record)
            equal = (
                tx.one_or_none(FACTS.equal_fact, space_id=space_id, text=text)
                if status == CURRENT
                else None
            )
            if equal is not None:
                aliases[record.fact_id] = equal.id
                _add_sources(tx, equal.id, equal.event, record)
                outcome["present"] += 1
                continue
            _add_fact(context, tx, space_id, record, entries.get(record.fact_id))
            outcome["stored"] += 1
        return outcome

    return context.store.write(write, account_id=caller.account_id)


def _life(context: Context, record: FactRecord) -> tuple[str, int]:
    """Return the text and the status to store: an expired text is not stored."""
    status = STATUSES.index(record.status)
    expires_ms = None if record.expires_at is None else milliseconds(record.expires_at, 0)
    if status == REMOVED:
        return "", status
    if expires_ms is not None and expires_ms <= context.clock():
        return "", max(status, EXPIRED)
    return record.text.strip(), status


def _add_fact(
    context: Context,
    tx: Transaction,
    space_id: int,
    record: FactRecord,
    entry: IndexEntry | None,
) -> None:
    text, status = _life(context, record)
    event = _event_row(tx, record.event_id)
    row = tx.one(
        SQL.add_fact,
        fact_id=record.fact_id,
        space_id=space_id,
        session=open_session(context, tx, space_id, record.session_id),
        event=event,
        text=text,
        status=status,
        kind=KINDS.index(record.kind),
        condition=record.condition,
        origin=int(record.recognised),
        pinned=int(record.pinned and bool(text)),
        valid_from_ms=milliseconds(record.valid_from, 0),
        valid_to_ms=None if record.valid_to is None else milliseconds(record.valid_to, 0),
        expires_ms=None if record.expires_at is None else milliseconds(record.expires_at, 0),
        uses=record.uses,
        used_ms=None if record.used_at is None else milliseconds(record.used_at, 0),
        created_ms=milliseconds(record.created_at, 0),
    )
    if not text or entry is None:
        return
    _add_sources(tx, row.id, event, record)
    layer = Layer.OLD_FACT if status == SUPERSEDED else fact_layer(_instruction(record))
    add_layer(tx, space_id=space_id, layer=layer, item=row.id, entry=entry)
    if status == CURRENT:
        add_fact_keys(tx, space_id, row.id, text)


def _add_sources(tx: Transaction, fact: int, first: int | None, record: FactRecord) -> None:
    for event_id in filter(None, [record.event_id, *record.sources]):
        event = _event_row(tx, event_id)
        if event is not None and event != first:
            tx.run(FACTS.add_source, fact=fact, event=event)


def _event_row(tx: Transaction, event_id: str | None) -> int | None:
    row: Row | None = None
    if event_id is not None:
        row = tx.one_or_none(SQL.event_row, event_id=event_id)
    return None if row is None else int(row.id)


def _instruction(record: FactRecord) -> Instruction | None:
    if record.kind == "fact":
        return None
    return Instruction(record.text, record.condition, record.kind)


def link_facts(
    context: Context, caller: Caller, aliases: Aliases, links: Sequence[tuple[str, str]]
) -> None:
    """Name the successors of superseded facts: pairs of fact ids, the older first."""

    def write(tx: Transaction) -> None:
        for source, target in links:
            row = tx.one_or_none(SQL.fact_row, fact_id=target)
            newer = aliases.get(target) if row is None else row.id
            if newer is not None:
                tx.run(SQL.link_fact, source=source, newer=newer)

    context.store.write(write, account_id=caller.account_id)


def write_summaries(context: Context, caller: Caller, records: Sequence[SummaryRecord]) -> Outcome:
    """Store L1s."""
    entries = _entries(context, caller, "summaries.jsonl", records)

    def write(tx: Transaction) -> Outcome:
        existing = rows_named(tx, "summaries.jsonl", records)
        new = [record for record in records if record.l1_id not in existing]
        for record in new:
            space_id = open_space(context, tx, record.user_id)
            row = tx.one(
                SQL.add_l1,
                l1_id=record.l1_id,
                space_id=space_id,
                session=open_session(context, tx, space_id, record.session_id),
                topic=record.topic,
                text=record.text,
                message_count=record.message_count,
                turns=record.turns,
                ratio=record.ratio,
                created_ms=milliseconds(record.created_at, 0),
            )
            entry = entries[record.l1_id]
            add_layer(tx, space_id=space_id, layer=Layer.SUMMARY, item=row.id, entry=entry)
            tx.run(SUMMARIES.count_l1, space_id=space_id)
        return Outcome(stored=len(new), present=len(records) - len(new))

    return context.store.write(write, account_id=caller.account_id)


def _entries(
    context: Context, caller: Caller, name: str, records: Sequence[FactRecord | SummaryRecord]
) -> dict[str, IndexEntry]:
    """Return the index entries of the records that the target does not have, by identifier."""
    existing = context.store.read(
        lambda tx: rows_named(tx, name, records), account_id=caller.account_id
    )
    texts: dict[str, EventText] = {}
    for record in records:
        if isinstance(record, SummaryRecord):
            texts[record.l1_id] = layer_text(record.text, record.topic)
        elif record.text.strip():
            texts[record.fact_id] = layer_text(record.text)
    new = [one for one in texts if one not in existing]
    if not new:
        return {}
    return dict(zip(new, index_entries(context.writer, [texts[one] for one in new]), strict=True))


def write_maps(
    context: Context, caller: Caller, left_users: set[str], records: Sequence[MapRecord]
) -> Outcome:
    """Store versions of maps, but none of the users whose map differs."""
    # Each version is the newest of its space while it is stored, so that an interrupted import
    # leaves a map that search finds.
    new = context.store.read(
        lambda tx: [record for record in records if map_state(tx, record) == "absent"],
        account_id=caller.account_id,
    )
    new = [record for record in new if record.user_id not in left_users]
    entries = (
        index_entries(context.writer, [layer_text(record.text) for record in new]) if new else []
    )
    by_version = {
        (record.user_id, record.version): entry for record, entry in zip(new, entries, strict=True)
    }
    return context.store.write(
        partial(_add_maps, context, records, by_version), account_id=caller.account_id
    )


def _add_maps(
    context: Context,
    records: Sequence[MapRecord],
    entries: dict[tuple[str, int], IndexEntry],  # of those to store
    tx: Transaction,
) -> Outcome:
    outcome = Outcome()
    for record in records:
        state, entry = map_state(tx, record), entries.get((record.user_id, record.version))
        if entry is None or state != "absent":  # or stored by a concurrent import
            outcome["present" if state == "same" else "left"] += 1
            continue
        space_id = open_space(context, tx, record.user_id)
        tx.run(
            SQL.add_map,
            space_id=space_id,
            version=record.version,
            text=record.text.strip(),
            l1_count=record.l1_count,
            made_by=record.made_by,
            created_ms=milliseconds(record.created_at, 0),
        )
        add_layer(tx, space_id=space_id, layer=Layer.MAP, item=record.version, entry=entry)
        outcome["stored"] += 1
    return outcome


def note_maps(
    context: Context, caller: Caller, left_users: set[str], records: Sequence[UserRecord]
) -> None:
    """Let the maps of users cover the L1s that they covered."""

    def write(tx: Transaction) -> None:
        for record in records:
            if record.user_id not in left_users:
                space_id = open_space(context, tx, record.user_id)
                tx.run(SQL.note_mapped, space_id=space_id, l1_mapped=record.l1_mapped)

    context.store.write(write, account_id=caller.account_id)
