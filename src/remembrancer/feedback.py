"""Feedback: anyone with a key that may write sends it, the owner reads it."""

from __future__ import annotations

from .accounts import require_write
from .accounts.idempotency import IdempotentRequest, write_once
from .context import Caller, Records
from .permissions.owner import require_unpinned_reader
from .protocol.errors import NotFound
from .protocol.feedback import Feedback, FeedbackGiven, FeedbackList, FeedbackQuery, FeedbackSaved
from .protocol.service_keys import mask_service_keys, service_key_warning
from .store import Row, Transaction, load_queries
from .store.rows import read_row

SQL = load_queries("remembrancer", "feedback.sql")
_AFTER_ALL = (1 << 63) - 1


class FeedbackUnknown(NotFound):
    """There is no such feedback. Use the `next` of the previous page."""


def submit_feedback(
    records: Records,
    caller: Caller,
    feedback: Feedback,
    idempotency: IdempotentRequest | None = None,
) -> FeedbackSaved:
    """Store feedback. Raises ReadOnly, Conflict as `once`, StoreUnavailable."""
    require_write(caller)
    feedback_id = records.ids("f_")

    def keep(tx: Transaction) -> FeedbackSaved:
        fields = feedback.model_dump() | {
            "title": mask_service_keys(feedback.title),
            "description": mask_service_keys(feedback.description),
        }
        tx.run(SQL.add_feedback, feedback_id=feedback_id, now_ms=records.clock(), **fields)
        warning = service_key_warning(feedback.title, feedback.description)
        return FeedbackSaved(saved=True, feedback_id=feedback_id, detail=warning)

    return write_once(records, caller.account_id, idempotency, FeedbackSaved, keep)


def list_feedback(records: Records, caller: Caller, query: FeedbackQuery) -> FeedbackList:
    """Return a page of all feedback, newest first.

    Raises NotOwner, OwnerKeyPinned, FeedbackUnknown, StoreUnavailable.
    """
    require_unpinned_reader(caller)
    return _page(records, query, None)


def own_feedback(records: Records, caller: Caller, query: FeedbackQuery) -> FeedbackList:
    """Return a page of the caller's own feedback, newest first.

    Raises FeedbackUnknown, StoreUnavailable.
    """
    return _page(records, query, caller.account_id)


def _page(records: Records, query: FeedbackQuery, account_id: int | None) -> FeedbackList:
    # Passed explicitly: the transaction supplies no account when it reads all of them.
    filters = {"type": query.type, "state": query.state, "account_id": account_id}

    def read(tx: Transaction) -> list[Row]:
        before = _AFTER_ALL
        if query.before:
            row = tx.one_or_none(SQL.place_of, feedback_id=query.before, account_id=account_id)
            if row is None:
                raise FeedbackUnknown
            before = row.id
        return tx.all(SQL.feedback, before=before, most=query.limit + 1, **filters)

    rows = records.store.read(read, account_id=account_id)
    page = [read_row(FeedbackGiven, row) for row in rows[: query.limit]]
    return FeedbackList(
        feedback=page, next=page[-1].feedback_id if len(rows) > query.limit else None
    )


def close_feedback(records: Records, caller: Caller, feedback_id: str, note: str | None) -> None:
    """Close feedback of any account, with an answer for its sender. Owner only.

    Raises NotOwner, OwnerKeyPinned, FeedbackUnknown, StoreUnavailable.
    """
    _set_closed(records, caller, feedback_id, records.clock(), note)


def reopen_feedback(records: Records, caller: Caller, feedback_id: str) -> None:
    """Open closed feedback again; its answer is erased. Owner only.

    Raises NotOwner, OwnerKeyPinned, FeedbackUnknown, StoreUnavailable.
    """
    _set_closed(records, caller, feedback_id, None, None)


def _set_closed(
    records: Records, caller: Caller, feedback_id: str, closed_ms: int | None, note: str | None
) -> None:
    require_unpinned_reader(caller)
    require_write(caller)
    # No account: the transaction supplies none when it writes to those of all.
    values = {"feedback_id": feedback_id, "closed_ms": closed_ms, "note": note, "account_id": None}
    if not records.store.write(lambda tx: tx.run(SQL.close_feedback, **values)):
        raise FeedbackUnknown


def count_open_feedback(records: Records, caller: Caller) -> int:
    """Return the number of open feedback: of all accounts for an owner, else of the own one."""
    account_id = None if caller.is_owner else caller.account_id
    return int(
        records.store.read(
            lambda tx: tx.one(SQL.count_open, account_id=account_id), account_id=account_id
        ).n
    )


def erase_all(tx: Transaction) -> int:
    """Erase all feedback of the account and return the number of entries."""
    return tx.run(SQL.erase_feedback)
