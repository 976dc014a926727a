"""Save an event, and read one whole."""

from __future__ import annotations

from ...accounts.idempotency import IdempotentRequest
from ...context import Caller, Context
from ...protocol.errors import NotFound
from ...protocol.memory import Event, EventWrite, EventWritten
from ...protocol.text import rfc3339
from ...search import EventText
from ...store import Row, Transaction
from ..spaces import SQL, flag_names, milliseconds
from .turns import EventPlace, StoredTurn, store_turn_idempotently


class EventUnknown(NotFound):
    """There is no such event in your account. Use an event_id that a search or a write returned."""


def write_event(
    context: Context, caller: Caller, event: EventWrite, given: IdempotentRequest | None = None
) -> EventWritten:
    """Keep a turn that need not be of a conversation under way.

    Durable and searchable when it returns; raises as `keep_once`.
    """

    def answer(_: Transaction, kept: StoredTurn, noticed: str | None) -> str:
        return EventWritten(saved=True, event_id=kept.event_id, detail=noticed).model_dump_json()

    turn = EventText(
        query=event.query,
        response=event.response,
        topic=event.topic,
        occurred_ms=milliseconds(event.occurred_at, context.clock()),
    )
    place = EventPlace(user_id=event.user_id, session_id=event.session_id)
    return EventWritten.model_validate_json(
        store_turn_idempotently(context, caller, place, turn, given, answer)
    )


def event_detail(context: Context, caller: Caller, event_id: str) -> Event:
    """One event with its whole text.

    Raises EventUnknown for an id that does not exist or is not the caller's to see.
    """
    return event_of(
        context.store.read(lambda tx: own_event(tx, caller, event_id), account_id=caller.account_id)
    )


def event_of(row: Row) -> Event:
    """An event with its whole text, of its row."""
    return Event(
        event_id=row.event_id,
        user_id=row.user_id,
        session_id=row.session_id,
        topic=row.topic,
        query=row.query,
        response=row.response,
        raw_dialogue=raw_dialogue(row.query, row.response),
        flags=flag_names(row.flags),
        occurred_at=rfc3339(row.occurred_ms),
        created_at=rfc3339(row.created_ms),
    )


def own_event(tx: Transaction, caller: Caller, event_id: str) -> Row:
    """The row of an event.

    Raises EventUnknown for an id that does not exist or is not the caller's to see.
    """
    row = tx.one_or_none(SQL.event_by_id, event_id=event_id, account_id=caller.account_id)
    if row is None or caller.pinned_user_id not in (None, row.user_id):
        raise EventUnknown
    return row


def raw_dialogue(query: str, response: str) -> str:
    """Both sides of a turn word for word, each after who said it; a side that says nothing is left
    out.
    """
    sides = (("User", query), ("Assistant", response))
    return "\n\n".join(f"{who}: {text}" for who, text in sides if text.strip())
