"""The sessions of a user are listed page by page, latest turn first."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http

SESSIONS = "/api/v7/sessions"


def listed(http: Http, **query: Any) -> Any:
    """Return a page."""
    return http.get(SESSIONS, params={"user_id": "ada", **query}).raise_for_status().json()


@pytest.fixture
def filled(http: Http) -> Http:
    """Return a client whose user ada has three sessions, the last one with two turns."""
    for number, session_id in enumerate(("one", "two", "three", "three")):
        http.remember(
            f"about {session_id}", f"r{number}", user_id="ada", session_id=session_id, topic="t"
        )
    http.remember("other", "user", user_id="bob")
    return http


def test_sessions_are_listed_with_the_latest_turn_first(filled: Http) -> None:
    """Each session has its counts and its latest turn (specification.md#sessions-response)."""
    sessions = listed(filled)["sessions"]

    assert [one["session_id"] for one in sessions] == ["three", "two", "one"]
    assert {name: sessions[0][name] for name in ("turns", "summaries", "steps", "topic")} == {
        "turns": 2,
        "summaries": 0,
        "steps": 0,
        "topic": "t",
    }
    assert sessions[1]["query"] == "about two"
    assert sessions[0]["created_at"] <= sessions[0]["last_turn_at"]


def test_pages_list_every_session_once(filled: Http) -> None:
    """`next` continues a list (specification.md#sessions-list)."""
    first = listed(filled, limit=2)
    second = listed(filled, limit=2, cursor=first["next"])

    assert [one["session_id"] for one in first["sessions"]] == ["three", "two"]
    assert [one["session_id"] for one in second["sessions"]] == ["one"]
    assert second["next"] is None


def test_user_without_turns_has_no_sessions(http: Http) -> None:
    """An empty list is no error (specification.md#sessions-pinned)."""
    assert listed(http, user_id="nobody") == {"user_id": "nobody", "sessions": [], "next": None}


def test_pinned_key_lists_sessions_of_its_user_alone(filled: Http) -> None:
    """Another user is a 403 (specification.md#sessions-pinned)."""
    pinned = filled.as_account("owner", user_id="bob")

    assert pinned.get(SESSIONS).json()["sessions"][0]["query"] == "other"
    assert pinned.get(SESSIONS, params={"user_id": "ada"}).status_code == 403
