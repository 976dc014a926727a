"""Idempotency keys: a failed write stores no answer."""

from __future__ import annotations

import pytest
from service import new_key, rows

from remembrancer.accounts.idempotency import IdempotentRequest, idempotent
from remembrancer.context import Context

ACCOUNT = 1  # the first account


@pytest.fixture
def request_key(context: Context) -> IdempotentRequest:
    """An Idempotency-Key of a real API key."""
    new_key(context)
    key_id = context.store.read(lambda tx: tx.all("select id from keys"))[0].id
    return IdempotentRequest(
        account_id=ACCOUNT, key_id=key_id, path="/p", idempotency_key="k", body_digest=b"1" * 32
    )


def test_failed_write_stores_no_answer(context: Context, request_key: IdempotentRequest) -> None:
    def fail() -> str:
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        context.store.write(lambda tx: idempotent(tx, request_key, 0, fail), account_id=ACCOUNT)
    assert rows(context)["answers"] == 0
