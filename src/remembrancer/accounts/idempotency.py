"""Idempotency: a repeated write returns its first answer and is done once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel

from ..context import Records
from ..protocol import limits
from ..protocol.errors import Conflict
from ..store import Transaction, load_queries

SQL = load_queries("remembrancer.accounts", "idempotency.sql")
A = TypeVar("A", bound=BaseModel)
_VALID_MS = limits.IDEMPOTENCY_HOURS * 3_600_000


class IdempotencyKeyReused(Conflict):
    """This Idempotency-Key was already used with another body. Use a new key for a new write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotentRequest:
    """The Idempotency-Key of a write, unique per API key and path.

    `body_digest` is the SHA-256 of the body.
    """

    account_id: int
    key_id: int
    path: str
    idempotency_key: str
    body_digest: bytes
    # Called when the first answer is returned again.
    on_replay: Callable[[], None] = field(default=lambda: None, compare=False, repr=False)


def idempotent(
    tx: Transaction, request: IdempotentRequest | None, now_ms: int, make: Callable[[], str]
) -> str:
    """Return the answer (JSON) of `make()`, or the stored answer for the same key, path and body.

    Answers are stored for 24 hours. Call it in the transaction of the write, so that both are
    stored or neither. `request` None means that the request has no Idempotency-Key. Raises
    IdempotencyKeyReused for a different body.
    """
    if request is None:
        return make()
    if (stored := _first_answer(tx, request, now_ms)) is not None:
        return stored
    answer = make()
    tx.later(
        SQL.delete_old_answers,
        account_id=request.account_id,
        key_id=request.key_id,
        kept_since_ms=now_ms - _VALID_MS,
    )
    tx.later(
        SQL.add_answer,
        **_key_values(request),
        body_digest=request.body_digest,
        answer=answer,
        now_ms=now_ms,
    )
    return answer


def write_once(
    records: Records,
    account_id: int | None,
    request: IdempotentRequest | None,
    kind: type[A],
    write: Callable[[Transaction], A],
) -> A:
    """Run a write in a transaction of an account and return its answer, of this kind.

    `idempotent` says what a repeated request gets. Raises IdempotencyKeyReused, StoreUnavailable.
    """
    answer = records.store.write(
        lambda tx: idempotent(tx, request, records.clock(), lambda: write(tx).model_dump_json()),
        account_id=account_id,
    )
    return kind.model_validate_json(answer)


def stored_answer(records: Records, request: IdempotentRequest | None) -> str | None:
    """Return the stored answer (JSON) for the same key, path and body, or None.

    For work that is too long for a transaction. Raises IdempotencyKeyReused for a different body,
    StoreUnavailable.
    """
    if request is None:
        return None
    answer: str | None = records.store.read(
        lambda tx: _first_answer(tx, request, records.clock()), account_id=request.account_id
    )
    return answer


def _first_answer(tx: Transaction, request: IdempotentRequest, now_ms: int) -> str | None:
    row = tx.one_or_none(SQL.answer_of, **_key_values(request), kept_since_ms=now_ms - _VALID_MS)
    if row is None:
        return None
    if bytes(row.body_digest) != request.body_digest:
        raise IdempotencyKeyReused
    request.on_replay()
    return str(row.answer)


def _key_values(request: IdempotentRequest) -> dict[str, str | int]:
    return {
        "account_id": request.account_id,  # not that of a transaction of the whole store
        "key_id": request.key_id,
        "path": request.path,
        "idempotency_key": request.idempotency_key,
    }


def delete_answers(tx: Transaction, naming: str | None = None) -> None:
    """Delete the stored answers of the account, or only those that contain an id or a text.

    They may repeat erased text.
    """
    if naming is None:
        tx.run(SQL.delete_answers_of)
    else:
        tx.run(SQL.delete_answers_naming, id=naming)
