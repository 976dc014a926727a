"""A write that is sent again, because its answer was lost on the way, gets the first answer and is done once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..protocol import limits
from ..protocol.errors import Conflict
from ..store import Transaction, named

SQL = named("remembrancer.accounts", "once.sql")
_KEPT_MS = limits.IDEMPOTENCY_HOURS * 3_600_000


class IdempotencyKeyReused(Conflict):
    """This Idempotency-Key was already used with another body. Use a new key for a new write."""


def _nothing() -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """The Idempotency-Key of a write: unique for one API key and path. `body_digest` tells bodies apart."""

    key_id: int
    path: str
    idempotency_key: str
    body_digest: bytes
    on_replay: Callable[[], None] = field(default=_nothing, compare=False, repr=False)  # called when the first answer is given again


def once(tx: Transaction, given: Once | None, now_ms: int, make: Callable[[], str]) -> str:
    """The answer (JSON) of `make()`, or the one it gave within the last 24 hours for the same key, path and body.

    Belongs into the transaction of the write, so that the write and its answer are kept together or not at all.
    Raises IdempotencyKeyReused when the body was another one.
    """
    if given is None:
        return make()
    kept_since_ms = now_ms - _KEPT_MS
    which = {"key_id": given.key_id, "path": given.path, "idempotency_key": given.idempotency_key}
    first = tx.one(SQL.answer_of, **which, kept_since_ms=kept_since_ms)
    if first is not None:
        if bytes(first.body_digest) != given.body_digest:
            raise IdempotencyKeyReused
        given.on_replay()
        return str(first.answer)
    answer = make()
    tx.run(SQL.forget_old_answers, key_id=given.key_id, kept_since_ms=kept_since_ms)
    tx.run(SQL.keep_answer, **which, body_digest=given.body_digest, answer=answer, now_ms=now_ms)
    return answer
