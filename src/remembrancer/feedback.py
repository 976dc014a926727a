"""Feedback: anyone with a key that may write sends it, the owner reads it."""

from __future__ import annotations

from .accounts import require_write
from .accounts.idempotency import IdempotentRequest, idempotent
from .context import Caller, Records
from .permissions.owner import require_unpinned_reader
from .protocol.errors import NotFound
from .protocol.feedback import Feedback, FeedbackGiven, FeedbackList, FeedbackQuery, FeedbackSaved
from .protocol.service_keys import mask_service_keys, service_key_warning
from .protocol.text import rfc3339
from .store import Row, Transaction, load_queries

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

    def keep(tx: Transaction) -> str:
        fields = feedback.model_dump() | {
            "title": mask_service_keys(feedback.title),
            "description": mask_service_keys(feedback.description),
        }
        tx.run(
            SQL.add_feedback,
            feedback_id=feedback_id,
            now_ms=records.clock(),
            **fields,
        )
        warning = service_key_warning(feedback.title, feedback.description)
        return FeedbackSaved(saved=True, feedback_id=feedback_id, detail=warning).model_dump_json()

    return FeedbackSaved.model_validate_json(
        records.store.write(
            lambda tx: idempotent(tx, idempotency, records.clock(), lambda: keep(tx)),
            account_id=caller.account_id,
        )
    )


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
    filters = {"type": query.type, "account_id": account_id}

    def read(tx: Transaction) -> list[Row]:
        before = (
            tx.one_or_none(SQL.place_of, feedback_id=query.before, account_id=account_id)
            if query.before
            else None
        )
        if query.before and before is None:
            raise FeedbackUnknown
        return tx.all(
            SQL.feedback,
            before=before.id if before else _AFTER_ALL,
            most=query.limit + 1,
            **filters,
        )

    rows = records.store.read(read, account_id=account_id)
    page = [_feedback_of(row) for row in rows[: query.limit]]
    return FeedbackList(
        feedback=page, next=page[-1].feedback_id if len(rows) > query.limit else None
    )


def _feedback_of(row: Row) -> FeedbackGiven:
    return FeedbackGiven(
        feedback_id=row.feedback_id,
        account=row.account,
        type=row.type,
        title=row.title,
        description=row.description,
        severity=row.severity,
        created_at=rfc3339(row.created_ms),
    )


def erase_all(tx: Transaction) -> int:
    """Erase all feedback of the account and return the number of entries."""
    return tx.run(SQL.erase_feedback)
