"""Turns that end: when they expire, by the retention rules of an account, or taken back."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from typing import NamedTuple

from ... import cubes
from ...accounts import require_write, space_user_id
from ...accounts.idempotency import IdempotentRequest, write_once
from ...context import Caller, Context
from ...protocol.errors import Conflict
from ...protocol.forget import Retention, RetentionQuery, RetentionRule, RetentionSet, Sweep
from ...protocol.limits import SWEEPS_LISTED_MAX
from ...protocol.memory import Event, EventChange
from ...protocol.notices import without_notices
from ...protocol.text import DAY_MS, rfc3339
from ...search import IndexEntry, index_entries
from ...store import Row, Transaction, load_queries
from ...store.rows import read_row
from ..facts.life import erase_expired_facts
from ..filters import change_metadata
from ..intake import Intake
from ..links import EraseRange, link_changes, restore_turn, withdraw_turns
from ..spaces import SQL as SPACES
from ..spaces import (
    ErasedEvents,
    event_text,
    future_ms,
    revised,
    row_id,
    space_of,
    update_index,
)
from ..write.turns import add_index, event_of, event_to_change, own_event
from .forget import forget_turn

SQL = load_queries("remembrancer.memory.history", "endings.sql")
BATCH = 16  # turns erased in one transaction
EVERY_USER = ""  # user_id of the rule for users without their own


class NotWithdrawn(Conflict):
    """The turn is a draft that a revision took the place of. Change the revision instead."""


def change_event(
    context: Context,
    caller: Caller,
    event_id: str,
    request: EventChange,
    idempotency: IdempotentRequest | None = None,
) -> Event:
    """Change when a turn expires, whether it is pinned, whether searches find it, or its metadata.

    Raises KeyIsReadOnly, EventUnknown, NotWithdrawn, TimeNotInFuture, IdempotencyKeyReused,
    StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    expires_ms = future_ms(context, request.expires_at)
    entry = _entry(context, caller, event_id) if request.withdrawn is False else None
    metadata = Intake(settings=context.settings).take_metadata(request.metadata)
    erased: list[ErasedEvents | None] = []

    def write(tx: Transaction) -> Event:
        row = event_to_change(tx, caller, event_id)
        state = tx.one(SQL.event_state, id=row.id)
        tx.run(
            SQL.change_event,
            id=row.id,
            pinned=state.pinned if request.pinned is None else int(request.pinned),
            expires_ms=None if request.clear else expires_ms or state.expires_ms,
        )
        if request.withdrawn is not None and state.superseded_by is not None:
            raise NotWithdrawn
        if request.withdrawn and state.withdrawn_by is None:
            erased[:] = [withdraw_turns(tx, space_of(row.id), [row.id], by=row.id)]
        elif request.withdrawn is False and state.withdrawn_by is not None:
            assert entry is not None
            _restore(tx, row, state, entry)
        if request.metadata is not None:
            place = {"space_id": space_of(row.id), "item": row.id}
            change_metadata(tx, "events", event_id, stored=metadata, **place)
            erased.append(revised(tx, space_of(row.id)))
        return event_of(tx, own_event(tx, caller, event_id))

    answer = write_once(context, caller.account_id, idempotency, Event, write)
    update_index(context, erased)
    return answer


def _entry(context: Context, caller: Caller, event_id: str) -> IndexEntry:
    """Return the index entry of a turn: embedded before the transaction, because it is slow."""
    text = context.store.read(
        lambda tx: event_text(tx, own_event(tx, caller, event_id).id), account_id=caller.account_id
    )
    return index_entries(context.writer, [text])[0]


def _restore(tx: Transaction, row: Row, state: Row, entry: IndexEntry) -> None:
    restore_turn(tx, row.id)
    space_id = space_of(row.id)
    session = tx.one(SPACES.session_of, space_id=space_id, session_id=row.session_id)
    add_index(tx, row.id, session.id, state.occurred_ms, entry)
    message = without_notices(row.query)
    link_changes(
        tx,
        space_id=space_id,
        event=row.id,
        message=message,
        source=row.query_source,
        occurred_ms=state.occurred_ms,
    )
    tx.run(SPACES.revise_space, space_id=space_id)


def set_retention(
    context: Context,
    caller: Caller,
    request: RetentionSet,
    idempotency: IdempotentRequest | None = None,
) -> Retention:
    """Set, or without bounds remove, a retention rule; it applies at the next nightly removal.

    A key pinned to a user sets the rule of that user. Raises KeyIsReadOnly, PinnedToOtherUser,
    IdempotencyKeyReused, StoreUnavailable.
    """
    require_write(caller)
    user_id = _user_of_rule(caller, request.user_id)

    def write(tx: Transaction) -> Retention:
        if request.days is None and request.events is None:
            tx.run(SQL.drop_rule, user_id=user_id)
        else:
            tx.run(
                SQL.set_rule,
                user_id=user_id,
                days=request.days,
                events_max=request.events,
                now_ms=context.clock(),
            )
        return _retention(context, tx, user_id or None)

    return write_once(context, caller.account_id, idempotency, Retention, write)


def retention(context: Context, caller: Caller, query: RetentionQuery) -> Retention:
    """Return the retention rules that apply, and what the last removals removed.

    Raises PinnedToOtherUser, StoreUnavailable.
    """
    user_id = _user_of_rule(caller, query.user_id) or None
    return context.store.read(
        lambda tx: _retention(context, tx, user_id), account_id=caller.account_id
    )


def _user_of_rule(caller: Caller, user_id: str | None) -> str:
    if user_id is None and caller.pinned_user_id is None:
        return EVERY_USER
    return space_user_id(caller, user_id)


def _retention(context: Context, tx: Transaction, user_id: str | None) -> Retention:
    rows = tx.all(SQL.rules)
    if user_id is not None:
        own = [row for row in rows if row.user_id == user_id]
        rows = own or [row for row in rows if row.user_id == EVERY_USER]
    rules = [
        RetentionRule(
            user_id=row.user_id or None, days=row.days, events=row.events_max, set_by="account"
        )
        for row in rows
    ]
    settings = context.settings
    has_default = settings.retention_days or settings.retention_events
    if has_default and (not rules or (user_id is None and all(rule.user_id for rule in rules))):
        days, events = settings.retention_days or None, settings.retention_events or None
        rules.append(RetentionRule(user_id=None, days=days, events=events, set_by="server"))
    sweeps = [
        read_row(Sweep, row, user_id=row.user_id or None, at=rfc3339(row.swept_ms))
        for row in tx.all(SQL.sweeps, user_id=user_id, most=SWEEPS_LISTED_MAX)
    ]
    return Retention(rules=rules, sweeps=sweeps)


def due_times(context: Context, before_ms: int) -> dict[int, int]:
    """Return when the first turn or fact of each account is due, and as account 0 the first cube.

    Only those due before a moment; all in ms since 1970. Raises StoreUnavailable.
    """
    rows = context.store.read(lambda tx: tx.all(SQL.due_times, before_ms=before_ms))
    times: dict[int, int] = {}
    for row in rows:
        times[row.account_id] = min(row.due_ms, times.get(row.account_id, row.due_ms))
    return times


def erase_due(context: Context, account_id: int) -> None:
    """Erase the turns of an account, and all facts and cubes, whose time is over, before a read.

    Raises StoreUnavailable.
    """
    now_ms = context.clock()
    while events := context.store.read(
        lambda tx: tx.all(SQL.expired_events_of, now_ms=now_ms, most=BATCH), account_id=account_id
    ):
        _erase_expired_events(context, events)
    while erase_expired_facts(context) or _erase_expired_cubes(context, now_ms):
        pass


def erase_expired(context: Context) -> bool:
    """Erase one batch of turns, facts and cubes whose time is over; return False if none is.

    Raises StoreUnavailable.
    """
    now_ms = context.clock()
    events = context.store.read(lambda tx: tx.all(SQL.expired_events, now_ms=now_ms, most=BATCH))
    _erase_expired_events(context, events)
    has_facts = erase_expired_facts(context)
    return _erase_expired_cubes(context, now_ms) or has_facts or bool(events)


def _erase_expired_events(context: Context, events: list[Row]) -> None:
    def place(row: Row) -> tuple[int, int]:
        return row.account_id, space_of(row.id)

    for (account_id, _), rows in groupby(sorted(events, key=place), place):
        _erase(context, account_id, list(rows), "expired")


def _erase_expired_cubes(context: Context, now_ms: int) -> bool:
    """Erase one batch; return False if there was none."""
    rows = context.store.read(lambda tx: tx.all(SQL.expired_cubes, now_ms=now_ms, most=BATCH))
    for row in rows:
        context.store.write(partial(_erase_cube, context, row), account_id=row.account_id)
    return bool(rows)


def apply_retention(context: Context) -> int:
    """Erase the turns that exceed the retention rules; return their number.

    Raises StoreUnavailable.
    """
    settings = context.settings
    rows = context.store.read(lambda tx: tx.all(SQL.all_rules))
    rules = {(row.account_id, row.user_id): _Bounds(row.days, row.events_max) for row in rows}
    default = _Bounds(settings.retention_days or None, settings.retention_events or None)
    accounts = [None] if any(default) else sorted({account_id for account_id, _ in rules})
    erased = 0
    for account_id in accounts:
        find_spaces = partial(_rows, SQL.spaces_with_turns, only=account_id)
        for space in context.store.read(find_spaces):
            own = rules.get((space.account_id, space.user_id))
            bounds = own or rules.get((space.account_id, EVERY_USER)) or default
            erased += _sweep(context, space, bounds)
    return erased


class _Bounds(NamedTuple):
    """The bounds of a retention rule; None is no bound."""

    days: int | None
    events: int | None


def _sweep(context: Context, space: Row, bounds: _Bounds) -> int:
    """Erase what exceeds the bounds, in batches; return the number of turns."""
    erased, before_ms = 0, context.clock() - (bounds.days or 0) * DAY_MS
    low, high = row_id(space.id, 0), row_id(space.id, space.events_made)
    for reason, bound, statement, values in (
        ("days", bounds.days, SQL.too_old, {"before_ms": before_ms}),
        ("events", bounds.events, SQL.too_many, {"keep": bounds.events}),
    ):
        find = partial(_rows, statement, low=low, high=high, most=BATCH, **values)
        while bound is not None and (rows := context.store.read(find, account_id=space.account_id)):
            _erase(context, space.account_id, rows, reason)
            erased += len(rows)
    return erased


def _rows(statement: str, tx: Transaction, **values: int | None) -> list[Row]:
    return tx.all(statement, **values)


def _erase(context: Context, account_id: int, rows: list[Row], reason: str) -> None:
    """Erase turns of one space, with what was derived from them, and record it."""
    erased: list[ErasedEvents | None] = []

    def write(tx: Transaction) -> None:
        space_id = space_of(rows[0].id)
        totals = {"events": 0, "facts": 0, "summaries": 0}
        for row in rows:
            erase_range = EraseRange(space_id=space_id, low=row.id, high=row.id + 1)
            counts, events = forget_turn(tx, erase_range)
            erased.append(events)
            for name in totals:
                totals[name] += counts[name]
        if not totals["events"]:  # another request or server was faster
            return
        user = tx.one(SQL.user_of_space, space_id=space_id)
        _record(context, tx, user.user_id, reason, cubes=0, **totals)

    context.store.write(write, account_id=account_id)
    update_index(context, erased)


def _erase_cube(context: Context, row: Row, tx: Transaction) -> None:
    cubes.erase_cube(tx, row.id)
    _record(context, tx, EVERY_USER, "expired", events=0, facts=0, summaries=0, cubes=1)


def _record(context: Context, tx: Transaction, user_id: str, reason: str, **counts: int) -> None:
    tx.run(SQL.add_sweep, user_id=user_id, reason=reason, now_ms=context.clock(), **counts)
    tx.run(SQL.trim_sweeps, most=SWEEPS_LISTED_MAX)
