"""A write that is sent again, because its answer was lost on the way, gets the first answer and is
done once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..context import Records
from ..protocol import limits
from ..protocol.errors import Conflict
from ..store import Transaction, load_queries

SQL = load_queries("remembrancer.accounts", "idempotency.sql")
_KEPT_MS = limits.IDEMPOTENCY_HOURS * 3_600_000


class IdempotencyKeyReused(Conflict):
    """This Idempotency-Key was already used with another body. Use a new key for a new write."""


def _nothing() -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotentRequest:
    """The Idempotency-Key of a write:

    unique for one API key and path. `body_digest` tells bodies apart.
    """

    account_id: int
    key_id: int
    path: str
    idempotency_key: str
    body_digest: bytes
    # called when the first answer is given again
    on_replay: Callable[[], None] = field(default=_nothing, compare=False, repr=False)


def idempotent(
    tx: Transaction, given: IdempotentRequest | None, now_ms: int, make: Callable[[], str]
) -> str:
    """The answer (JSON) of `make()`, or the one it gave within the last 24 hours for the same key,
    path and body.

    Belongs into the transaction of the write, so that the write and its answer are kept together or
    not at all. Raises IdempotencyKeyReused when the body was another one.
    """
    if given is None:
        return make()
    if (first := _first_answer(tx, given, now_ms)) is not None:
        return first
    answer = make()
    tx.run(
        SQL.delete_old_answers,
        account_id=given.account_id,
        key_id=given.key_id,
        kept_since_ms=now_ms - _KEPT_MS,
    )
    tx.run(
        SQL.add_answer,
        **_which(given),
        body_digest=given.body_digest,
        answer=answer,
        now_ms=now_ms,
    )
    return answer


def stored_answer(records: Records, given: IdempotentRequest | None) -> str | None:
    """The answer (JSON) that was given for the same key, path and body before, for work too long to
    be done in a transaction.

    Raises IdempotencyKeyReused when the body was another one, StoreUnavailable.
    """
    if given is None:
        return None
    answer: str | None = records.store.read(
        lambda tx: _first_answer(tx, given, records.clock()), account_id=given.account_id
    )
    return answer


def _first_answer(tx: Transaction, given: IdempotentRequest, now_ms: int) -> str | None:
    first = tx.one_or_none(SQL.answer_of, **_which(given), kept_since_ms=now_ms - _KEPT_MS)
    if first is None:
        return None
    if bytes(first.body_digest) != given.body_digest:
        raise IdempotencyKeyReused
    given.on_replay()
    return str(first.answer)


def _which(given: IdempotentRequest) -> dict[str, str | int]:
    return {
        "account_id": given.account_id,
        "key_id": given.key_id,
        "path": given.path,
        "idempotency_key": given.idempotency_key,
    }


def delete_answers(tx: Transaction, account_id: int, naming: str | None = None) -> None:
    """Keep the first answers of an account's keys no longer, or only those that do not name an id:

    they may repeat what was erased.
    """
    if naming is None:
        tx.run(SQL.delete_answers_of, account_id=account_id)
    else:
        tx.run(SQL.delete_answers_naming, account_id=account_id, id=naming)
