"""Idempotency: specification.md, section of that name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from service import Http, rows

from remembrancer.accounts.idempotency import IdempotentRequest, idempotent
from remembrancer.context import Context

KEY = {"Idempotency-Key": "once"}


def turns(http: Http) -> list[str]:
    """Store two turns; return the paths of their events."""
    stored = (http.remember(f"When, {n}?", f"At {n}:40.") for n in (8, 9))
    return [f"/api/v7/event/{turn['event_id']}" for turn in stored]


def facts(http: Http) -> list[str]:
    """Store two facts; return their paths."""
    texts = ("The ferry leaves at 8:40.", "The tent is green.")
    stored = (
        http.post("/api/v7/memory/facts", {"user_id": "owner", "text": text}) for text in texts
    )
    return [f"/api/v7/memory/facts/{fact.json()['fact']['fact_id']}" for fact in stored]


def files(http: Http) -> list[str]:
    """Create two files; return their paths."""
    bodies = ({"filename": name, "content": "text", "type": "txt"} for name in ("one", "two"))
    return [http.post("/api/v7/tools/create-file", body).json()["url"] for body in bodies]


def ask(http: Http, method: str, path: str, **headers: str) -> Any:
    """Pin or delete the resource of a path."""
    body = {"json": {"pinned": True}} if method == "PATCH" else {}
    return http.ask(method, path, headers=KEY | headers, **body)


@pytest.mark.parametrize(
    ("method", "make", "name"),
    [
        ("DELETE", turns, "event_id"),
        ("PATCH", turns, "event_id"),
        ("DELETE", facts, "fact_id"),
        ("PATCH", facts, ""),
        ("DELETE", files, "filename"),
    ],
)
def test_a_key_used_again_on_another_path_of_the_route_is_a_conflict(
    http: Http, method: str, make: Callable[[Http], list[str]], name: str
) -> None:
    """No receipt of another resource (specification.md#idempotency-resource)."""
    first_path, other_path = make(http)

    first, again, other = (ask(http, method, path) for path in (first_path, first_path, other_path))

    assert (first.status_code, other.status_code) == (200, 409)
    assert first.json() == again.json()
    if name:
        assert first_path.endswith(first.json()[name])
    assert ask(http, method, other_path, **{"Idempotency-Key": "another"}).status_code == 200


def test_an_id_that_ends_with_the_body_of_another_request_is_a_conflict(http: Http) -> None:
    """Id and body are compared apart (specification.md#idempotency-resource)."""
    path, _ = turns(http)
    body = '{"pinned":true}'
    json = {"Content-Type": "application/json"}
    changed = http.ask("PATCH", path, content=body, headers=KEY | json)

    answer = http.delete(path + body, headers=KEY)

    assert (changed.status_code, answer.status_code) == (200, 409)
    assert http.get(path).status_code == 200


def test_a_key_used_again_with_another_method_is_a_conflict(http: Http) -> None:
    """The receipt of a change is none of a deletion (specification.md#idempotency-resource)."""
    path, _ = turns(http)
    ask(http, "PATCH", path)

    assert ask(http, "DELETE", path).status_code == 409
    assert http.get(path).status_code == 200


def test_failed_write_stores_no_answer(http: Http, context: Context) -> None:
    key = context.store.read(lambda tx: tx.one("select id, account_id from keys"))
    request = IdempotentRequest(
        account_id=key.account_id,
        key_id=key.id,
        path="/p",
        idempotency_key="k",
        body_digest=b"1" * 32,
    )

    def fail() -> str:
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        context.store.write(lambda tx: idempotent(tx, request, 0, fail), account_id=key.account_id)
    assert rows(context)["answers"] == 0
