"""Records of another source are imported over HTTP, as a file of them is.

See specification.md#import-request.
"""

from __future__ import annotations

from typing import Any

import pytest
from service import Http

IMPORT, USERS = "/api/v7/memory/import", "/api/v7/users"
TURN = {
    "id": "1",
    "user_id": "ada",
    "session_id": "garden",
    "query": "Always answer in French. How deep is garlic?",
    "response": "5 cm.",
    "occurred_at": "2025-10-12T16:20:00Z",
}
FACT = {
    "id": "7",
    "user_id": "ada",
    "text": "Prefers a window seat",
    "valid_from": "2024-01-01T00:00:00Z",
}


def imported(http: Http, *turns: Any, facts: Any = ()) -> tuple[int, int, int]:
    """Import records; return how many were stored, facts of those, and how many were present."""
    answer = http.post(IMPORT, {"turns": turns, "facts": facts})
    assert answer.status_code == 200, answer.text
    assert answer.json()["saved"] is True
    return tuple(answer.json()[name] for name in ("stored", "facts", "present"))


def test_turns_and_facts_are_stored_once(http: Http) -> None:
    """specification.md#import-once, specification.md#import-response"""
    assert imported(http, TURN, facts=[FACT]) == (2, 1, 0)
    before = http.rows()
    assert imported(http, TURN, facts=[FACT]) == (0, 0, 2)
    assert http.rows() == before

    [turn] = http.get("/api/v7/events?user_id=ada").json()["events"]
    [fact] = http.get("/api/v7/memory/facts?user_id=ada").json()["facts"]
    assert {
        name: turn[name] for name in ("session_id", "query", "response")
    }.items() <= TURN.items()
    assert turn["occurred_at"] == "2025-10-12T16:20:00.000Z"
    assert turn["source"] == {"query": "import", "response": "import"}
    assert (fact["text"], fact["source"]) == (FACT["text"], "import")
    assert fact["valid_from"].startswith("2024-01-01")


def test_an_id_names_one_turn_if_the_source_says_so(http: Http) -> None:
    """specification.md#import-once"""
    other = {**TURN, "query": "And how far apart?"}
    imported(http, TURN)

    assert imported(http, {**other, "is_unique": True}) == (0, 0, 1)
    assert imported(http, other) == (1, 0, 0)
    assert imported(http, {**other, "user_id": "ben"}) == (1, 0, 0)  # another memory
    assert imported(http, {**TURN, "id": None}) == (1, 0, 0)


def test_an_erased_turn_does_not_come_back(http: Http) -> None:
    """specification.md#import-once"""
    imported(http, TURN)
    [turn] = http.get("/api/v7/events?user_id=ada").json()["events"]
    assert http.delete(f"/api/v7/event/{turn['event_id']}").status_code == 200

    assert imported(http, TURN) == (0, 0, 1)


def test_an_imported_turn_states_no_wish_and_owes_nothing(http: Http) -> None:
    """specification.md#import-like"""
    imported(http, TURN)
    assert http.get("/api/v7/memory/instructions?user_id=ada").json()["instructions"] == []
    imported(http, {**TURN, "id": "2", "source": "user"})
    assert len(http.get("/api/v7/memory/instructions?user_id=ada").json()["instructions"]) == 1

    answer = http.memory("How deep is garlic?", "ada", session_id="garden")
    assert (answer["step"], "duty_error" in answer) == (1, False)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, ""),
        ({"turns": [], "facts": []}, ""),
        ({"turns": [TURN] * 501}, "/turns"),
        ({"turns": [TURN] * 300, "facts": [FACT] * 201}, ""),
        ({"turns": [{**TURN, "query": "x" * 600_000}] * 2}, "/turns"),
        ({"turns": [{**TURN, "query": "", "response": " "}]}, "/turns/0"),
        ({"turns": [TURN, {**TURN, "id": ""}]}, "/turns/1/id"),
        ({"facts": [{**FACT, "valid_to": "2023-01-01T00:00:00Z"}]}, "/facts/0/valid_to"),
        ({"facts": [{**FACT, "text": ""}]}, "/facts/0/text"),
    ],
)
def test_invalid_records_store_nothing(http: Http, body: Any, pointer: str) -> None:
    """specification.md#import-request"""
    before = http.rows()
    answer = http.post(IMPORT, body)

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert http.rows() == before


def test_users_are_listed_by_their_own_account(http: Http) -> None:
    """specification.md#users-list, specification.md#import-pinned"""
    imported(http, *({**TURN, "user_id": name} for name in ("cleo", "ada", "ben")))
    imported(http, facts=[{**FACT, "user_id": "dan"}])
    imported(http.as_account("bob"), TURN)
    first = http.get(f"{USERS}?limit=2").json()
    second = http.get(f"{USERS}?cursor={first['next']}").json()
    pinned = http.as_account("owner", user_id="ben")

    assert (first["users"], second) == (["ada", "ben"], {"users": ["cleo", "dan"], "next": None})
    assert http.as_account("bob").get(USERS).json()["users"] == ["ada"]
    assert pinned.get(USERS).json() == {"users": ["ben"], "next": None}
    assert pinned.post(IMPORT, {"turns": [TURN]}).status_code == 403
    assert imported(pinned, {**TURN, "user_id": None, "id": "3"}) == (1, 0, 0)
    reader = http.as_account("owner", read_only=True)
    assert reader.post(IMPORT, {"turns": [TURN]}).status_code == 403
