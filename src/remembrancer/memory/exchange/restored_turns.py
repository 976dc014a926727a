"""Store the users, sessions and turns of an export."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter

from ...context import Caller, Context
from ...protocol.notices import without_notices
from ...search import EntryMaker, EventText, IndexEntry
from ...store import Transaction
from ..spaces import SQL as SPACES
from ..spaces import milliseconds, offset_minutes, row_id, space_of
from ..write.links import link_changes
from ..write.turns import add_index, with_original
from .check import SQL, rows_named
from .importer import FACT
from .records import EventRecord, OriginRecord, SessionRecord, UserRecord

REVISION_UNKNOWN = 0  # `superseded_by` of a draft until its revision is stored; no row has the id 0

Outcome = Counter[str]  # numbers of records: stored, present, left


def write_users(context: Context, caller: Caller, records: Sequence[UserRecord]) -> Outcome:
    """Create the spaces of users who have none."""

    def write(tx: Transaction) -> Outcome:
        outcome = Outcome()
        for record in records:
            if tx.one_or_none(SPACES.space_of, user_id=record.user_id) is not None:
                outcome["present"] += 1
                continue
            open_space(context, tx, record)
            outcome["stored"] += 1
        return outcome

    return context.store.write(write, account_id=caller.account_id)


def open_space(context: Context, tx: Transaction, record: UserRecord | str) -> int:
    """Return the id of a user's space; create it if necessary."""
    now_ms = context.clock()
    if isinstance(record, str):
        return int(tx.one(SPACES.open_space, user_id=record, now_ms=now_ms).id)
    created_ms = milliseconds(record.created_at, now_ms)
    return int(tx.one(SPACES.open_space, user_id=record.user_id, now_ms=created_ms).id)


def open_session(
    context: Context, tx: Transaction, space_id: int, session_id: str | None
) -> int | None:
    """Return the row id of a session; create it if it was erased meanwhile. None for None."""
    if session_id is None:
        return None
    row = tx.one_or_none(SPACES.session_of, space_id=space_id, session_id=session_id)
    if row is None:
        row = tx.one(
            SPACES.open_session, space_id=space_id, session_id=session_id, now_ms=context.clock()
        )
    return int(row.id)


def write_sessions(context: Context, caller: Caller, records: Sequence[SessionRecord]) -> Outcome:
    """Store sessions; an existing one goes on from the later step."""

    def write(tx: Transaction) -> Outcome:
        outcome = Outcome()
        for record in records:
            space_id = open_space(context, tx, record.user_id)
            existing = tx.one_or_none(
                SPACES.session_of, space_id=space_id, session_id=record.session_id
            )
            last_turn_ms = (
                None if record.last_turn_at is None else milliseconds(record.last_turn_at, 0)
            )
            if existing is not None:
                tx.run(
                    SQL.advance_session,
                    session=existing.id,
                    step=record.step,
                    last_turn_ms=last_turn_ms,
                )
                outcome["present"] += 1
                continue
            tx.run(
                SQL.add_session,
                space_id=space_id,
                session_id=record.session_id,
                step=record.step,
                created_ms=milliseconds(record.created_at, 0),
                turns=record.turns,
                turns_summarised=record.turns_summarised,
                remembered_step=record.remembered_step,
                cube_turn=record.cube_turn,
                task_open=int(record.task_open),
                last_turn_ms=last_turn_ms,
            )
            outcome["stored"] += 1
        return outcome

    return context.store.write(write, account_id=caller.account_id)


def recount_sessions(context: Context, caller: Caller, records: Sequence[SessionRecord]) -> None:
    """Let existing sessions count the turns that were added to them."""

    def write(tx: Transaction) -> None:
        for record in records:
            space_id = open_space(context, tx, record.user_id)
            session = open_session(context, tx, space_id, record.session_id)
            tx.run(SQL.recount_turns, session=session)

    context.store.write(write, account_id=caller.account_id)


def begin_events(
    context: Context, caller: Caller, maker: EntryMaker, records: Sequence[EventRecord]
) -> Callable[[], Outcome]:
    """Begin the index entries of turns; the function that is returned stores the turns with them.

    Superseded drafts and withdrawn turns have none. It raises EmbedderUnavailable.
    """
    before = context.store.read(
        lambda tx: rows_named(tx, "events.jsonl", records), account_id=caller.account_id
    )
    new = [record for record in records if record.event_id not in before]
    indexed = [record for record in new if not (record.superseded or record.withdrawn)]
    take = maker.begin([_text(record) for record in indexed])

    def store() -> Outcome:
        stored = 0
        if new:
            entries = dict(zip((record.event_id for record in indexed), take(), strict=True))
            stored = context.store.write(
                partial(_add_events, context, new, entries), account_id=caller.account_id
            )
        return Outcome(stored=stored, present=len(records) - stored)

    return store


def _add_events(
    context: Context,
    records: Sequence[EventRecord],
    entries: dict[str, IndexEntry],
    tx: Transaction,
) -> int:
    existing = rows_named(tx, "events.jsonl", records)
    new = [record for record in records if record.event_id not in existing]
    for user_id, of_user in groupby(new, attrgetter("user_id")):
        turns = list(of_user)
        space_id = open_space(context, tx, user_id)
        first = tx.one(SQL.claim_numbers, space_id=space_id, count=len(turns)).number
        sessions = {
            session_id: open_session(context, tx, space_id, session_id)
            for session_id in dict.fromkeys(turn.session_id for turn in turns)
        }
        for number, turn in enumerate(turns, first):
            session = sessions[turn.session_id] or 0
            _add_event(tx, row_id(space_id, number), session, turn, entries.get(turn.event_id))
    return len(new)


def _add_event(
    tx: Transaction, row: int, session: int, record: EventRecord, entry: IndexEntry | None
) -> None:
    occurred_ms = milliseconds(record.occurred_at, 0)
    original = None
    if entry is not None:
        entry, original = with_original(tx, entry, space_of(row), session)
    flags = [*record.flags, *(entry.flags if entry else ())]
    twin = None if entry is None or entry.twin is None else entry.twin.number
    tx.run(
        SQL.add_event,
        id=row,
        event_id=record.event_id,
        session=session,
        step=record.step,
        topic=record.topic,
        query=record.query,
        response=record.response,
        flags=",".join(dict.fromkeys(flags)),
        occurred_ms=occurred_ms,
        occurred_offset=offset_minutes(record.occurred_at),
        created_ms=milliseconds(record.created_at, 0),
        superseded_by=REVISION_UNKNOWN if record.superseded else None,
        expires_ms=None if record.expires_at is None else milliseconds(record.expires_at, 0),
        pinned=int(record.pinned),
        withdrawn_by=row if record.withdrawn else None,
        twin=twin,
        repeats=original,
    )
    if entry is not None:
        add_index(tx, row, session, occurred_ms, entry)
        message = "" if entry.is_machine_notice else without_notices(record.query)
        link_changes(
            tx, space_id=space_of(row), event=row, message=message, occurred_ms=occurred_ms
        )
    if record.withdraws:
        space = {"low": row_id(space_of(row), 0), "high": row_id(space_of(row) + 1, 0)}
        tx.run(SQL.withdrawn_in, by=row, ids=json.dumps(record.withdraws), **space)
    look = record.second_look
    if look is not None:
        tx.run(
            SQL.add_look,
            session=session,
            event=row,
            passed=look.passed,
            failed=look.failed,
            last_passed=int(look.last_passed),
            looked_ms=milliseconds(look.looked_at, 0),
        )


def link_events(context: Context, caller: Caller, links: Sequence[tuple[str, str]]) -> None:
    """Name the revisions of drafts: pairs of event ids, the draft first."""

    def write(tx: Transaction) -> None:
        for source, target in links:
            tx.run(SQL.link_event, source=source, target=target)

    context.store.write(write, account_id=caller.account_id)


def write_origins(context: Context, caller: Caller, records: Sequence[OriginRecord]) -> Outcome:
    """Store the origins of imported events; one that the target has stays."""

    def write(tx: Transaction) -> Outcome:
        outcome = Outcome()
        for record in records:
            space_id = open_space(context, tx, record.user_id)
            event = _row_of(tx, record)
            existing = tx.one_or_none(
                SPACES.event_of_origin, space_id=space_id, origin=record.origin
            )
            if existing is not None:
                is_same = existing.event == event
                outcome["present" if is_same else "left"] += 1
            elif event is not None:  # else erased meanwhile
                tx.run(SPACES.add_origin, space_id=space_id, origin=record.origin, event=event)
                outcome["stored"] += 1
        return outcome

    return context.store.write(write, account_id=caller.account_id)


def _text(record: EventRecord) -> EventText:
    return EventText(
        query=record.query,
        response=record.response,
        topic=record.topic,
        occurred_ms=milliseconds(record.occurred_at, 0),
    )


def _row_of(tx: Transaction, record: OriginRecord) -> int | None:
    """Return the row id of the event of an origin, FACT for a fact; None if it was erased."""
    if record.event_id is None:
        return FACT
    row = tx.one_or_none(SQL.event_row, event_id=record.event_id)
    return None if row is None else int(row.id)
