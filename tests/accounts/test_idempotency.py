"""Idempotency keys: a repeated write is executed once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from service import new_key, rows

from remembrancer.accounts.idempotency import IdempotentRequest, idempotent
from remembrancer.context import Context

HOUR_MS = 3_600_000
ACCOUNT = 1  # the first account


class Maker:
    """Count how often the write was executed."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> str:
        self.made += 1
        return f'{{"made": {self.made}}}'


@pytest.fixture
def request_key(context: Context) -> IdempotentRequest:
    """An Idempotency-Key of a real API key."""
    new_key(context)
    key_id = context.store.read(lambda tx: tx.all("select id from keys"))[0].id
    return IdempotentRequest(
        account_id=ACCOUNT, key_id=key_id, path="/p", idempotency_key="k", body_digest=b"1" * 32
    )


def do(
    context: Context, request_key: IdempotentRequest | None, make: Maker, now_ms: int = 0
) -> str:
    return context.store.write(
        lambda tx: idempotent(tx, request_key, now_ms, make), account_id=ACCOUNT
    )


def test_writes_without_an_idempotency_key_always_run(context: Context) -> None:
    make = Maker()

    assert [do(context, None, make), do(context, None, make)] == ['{"made": 1}', '{"made": 2}']
    assert rows(context)["answers"] == 0


def test_first_answer_expires_after_24_hours(
    context: Context, request_key: IdempotentRequest
) -> None:
    """An idempotency key expires after 24 hours (specification.md#idempotency-expiry)."""
    make = Maker()
    do(context, request_key, make, now_ms=HOUR_MS)

    assert do(context, request_key, make, now_ms=25 * HOUR_MS - 1) == '{"made": 1}'
    assert (
        do(context, replace(request_key, body_digest=b"2" * 32), make, now_ms=25 * HOUR_MS)
        == '{"made": 2}'
    )
    assert rows(context)["answers"] == 1


def test_failed_write_stores_no_answer(context: Context, request_key: IdempotentRequest) -> None:
    def fail() -> str:
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        context.store.write(lambda tx: idempotent(tx, request_key, 0, fail), account_id=ACCOUNT)
    assert rows(context)["answers"] == 0
