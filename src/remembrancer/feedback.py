"""Feedback: anybody with a key that may write gives it, the owner reads it."""

from __future__ import annotations

from .accounts import require_owner, require_write
from .accounts.idempotency import IdempotentRequest, idempotent
from .context import Caller, Records
from .protocol.errors import NotFound
from .protocol.feedback import Feedback, FeedbackGiven, FeedbackList, FeedbackQuery, FeedbackSaved
from .protocol.text import rfc3339
from .store import Row, Transaction, load_queries

SQL = load_queries("remembrancer", "feedback.sql")
_AFTER_ALL = (1 << 63) - 1


class FeedbackUnknown(NotFound):
    """There is no such feedback. Use the `next` of the page before."""


def submit_feedback(
    records: Records, caller: Caller, feedback: Feedback, given: IdempotentRequest | None = None
) -> FeedbackSaved:
    """Keep feedback. Raises ReadOnly, Conflict as `once`, StoreUnavailable."""
    require_write(caller)
    feedback_id = records.ids("f_")

    def keep(tx: Transaction) -> str:
        told = feedback.model_dump()
        tx.run(
            SQL.add_feedback,
            feedback_id=feedback_id,
            account_id=caller.account_id,
            now_ms=records.clock(),
            **told,
        )
        return FeedbackSaved(saved=True, feedback_id=feedback_id).model_dump_json()

    return FeedbackSaved.model_validate_json(
        records.store.write(
            lambda tx: idempotent(tx, given, records.clock(), lambda: keep(tx)),
            account_id=caller.account_id,
        )
    )


def list_feedback(records: Records, caller: Caller, asked: FeedbackQuery) -> FeedbackList:
    """A page of all feedback, newest first. Raises NotOwner, FeedbackUnknown, StoreUnavailable."""
    require_owner(caller)
    return _page(records, asked, None)


def own_feedback(records: Records, caller: Caller, asked: FeedbackQuery) -> FeedbackList:
    """A page of what the caller's account gave, newest first.

    Raises FeedbackUnknown, StoreUnavailable.
    """
    return _page(records, asked, caller.account_id)


def _page(records: Records, asked: FeedbackQuery, account_id: int | None) -> FeedbackList:
    whose = {"type": asked.type, "account_id": account_id}

    def read(tx: Transaction) -> list[Row]:
        before = (
            tx.one_or_none(SQL.place_of, feedback_id=asked.before, account_id=account_id)
            if asked.before
            else None
        )
        if asked.before and before is None:
            raise FeedbackUnknown
        return tx.all(
            SQL.feedback, before=before.id if before else _AFTER_ALL, most=asked.limit + 1, **whose
        )

    rows = records.store.read(read, account_id=account_id)
    page = [_told(row) for row in rows[: asked.limit]]
    return FeedbackList(
        feedback=page, next=page[-1].feedback_id if len(rows) > asked.limit else None
    )


def _told(row: Row) -> FeedbackGiven:
    return FeedbackGiven(
        feedback_id=row.feedback_id,
        account=row.account,
        type=row.type,
        title=row.title,
        description=row.description,
        severity=row.severity,
        created_at=rfc3339(row.created_ms),
    )


def erase_all(tx: Transaction, account_id: int) -> int:
    """Erase all that an account reported; how much there was."""
    return tx.run(SQL.erase_feedback, account_id=account_id)
