"""Save an event, and read one in full."""

from __future__ import annotations

from ...accounts.idempotency import IdempotentRequest
from ...accounts.teams import require_event_author
from ...context import Caller, Context
from ...protocol.errors import NotFound
from ...protocol.memory import Event, EventWrite, EventWritten, LookRecord
from ...protocol.search import Author
from ...protocol.text import rfc3339
from ...search import EventText
from ...store import Row, Transaction
from ..links import links_of_turn
from ..spaces import SQL, flag_names, future_ms, milliseconds, offset_minutes
from .turns import EventPlace, StoredTurn, TurnTimes, store_turn_idempotently


class EventUnknown(NotFound):
    """There is no such event in your account. Use an event_id that a search or a write returned."""


def write_event(
    context: Context,
    caller: Caller,
    event: EventWrite,
    idempotency: IdempotentRequest | None = None,
) -> EventWritten:
    """Store a turn that need not belong to an ongoing conversation.

    Durable and searchable on return. Raises TimeNotInFuture, and like `store_turn_idempotently`.
    """

    def answer(_: Transaction, stored: StoredTurn, notice: str | None) -> str:
        return EventWritten(saved=True, event_id=stored.event_id, detail=notice).model_dump_json()

    turn = EventText(
        query=event.query,
        response=event.response,
        topic=event.topic,
        occurred_ms=milliseconds(event.occurred_at, context.clock()),
    )
    place = EventPlace(
        user_id=event.user_id, session_id=event.session_id, named_session=event.named_session
    )
    return EventWritten.model_validate_json(
        store_turn_idempotently(
            context,
            caller,
            place,
            turn,
            idempotency,
            answer,
            TurnTimes(offset_minutes(event.occurred_at), future_ms(context, event.expires_at)),
        )
    )


def event_detail(context: Context, caller: Caller, event_id: str) -> Event:
    """Return one event with its full text.

    Raises EventUnknown for an id that does not exist or that the caller may not read.
    """

    def read(tx: Transaction) -> Event:
        return event_of(tx, own_event(tx, caller, event_id))

    return context.store.read(read, account_id=caller.account_id)


def event_of(tx: Transaction, row: Row) -> Event:
    """Return an event with its fate; `row` is that of `own_event`."""
    fate = tx.one(SQL.fate_of, id=row.id)
    links = links_of_turn(tx, row.id)
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
        expires_at=None if fate.expires_ms is None else rfc3339(fate.expires_ms),
        pinned=bool(fate.pinned),
        withdrawn_by=fate.withdrawal_id,
        superseded_by=fate.revision_id or links.superseded_by,
        supersedes=links.supersedes,
        may_supersede=links.may_supersede,
        near_duplicate_of=fate.original_id,
        author=None
        if fate.author is None
        else Author(account=fate.author, user_id=fate.author_user),
        second_look=None
        if fate.looked_ms is None
        else LookRecord(
            status="pass" if fate.last_passed else "fail",
            passed=fate.passed,
            failed=fate.failed,
            looked_at=rfc3339(fate.looked_ms),
        ),
    )


def own_event(tx: Transaction, caller: Caller, event_id: str) -> Row:
    """Return the row of an event.

    Raises EventUnknown for an id that does not exist or that the caller may not read.
    """
    row = tx.one_or_none(SQL.event_by_id, event_id=event_id)
    if row is None or caller.pinned_user_id not in (None, row.user_id):
        raise EventUnknown
    return row


def event_to_change(tx: Transaction, caller: Caller, event_id: str) -> Row:
    """Return the row of an event that the caller may change or erase.

    Raises EventUnknown, and NotAuthor for what another member wrote into a team.
    """
    row = own_event(tx, caller, event_id)
    require_event_author(tx, caller, row.id)
    return row


def raw_dialogue(query: str, response: str) -> str:
    """Return both sides of a turn verbatim, each after its speaker; blank sides are omitted."""
    sides = (("User", query), ("Assistant", response))
    return "\n\n".join(f"{speaker}: {text}" for speaker, text in sides if text.strip())
