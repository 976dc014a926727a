"""A session keeps the user that its key last named: with the specification's fields alone.

See specification.md#auth-session-user.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sandboxes import SharedSandbox
from service import Http, rows
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.server.app import make_app

USERS = ("ada", "ben", "chen")
ANTIBIOTICS = {
    "ada": "allergic to penicillin",
    "ben": "allergic to doxycycline",
    "chen": "allergic to nothing",
}
DAY_MS = 24 * 60 * 60 * 1000


def turn(user: str, number: int) -> dict[str, str]:
    """Return a turn that only this user says."""
    return {
        "query": f"Note {number}, please: what does {user} take?",
        "response": f"{user} takes tea number {number}.",
        "session_id": f"{user}-{number}",
    }


def test_interleaved_users_of_one_key_keep_their_own_memory(http: Http) -> None:
    """Search with user_id and session_id; remember, look again and start with session_id alone."""
    for number in (1, 2):
        searched = {
            user: http.memory("What do I take?", user, session_id=f"{user}-{number}")
            for user in USERS
        }
        assert {answer["step"] for answer in searched.values()} == {1}
        for user in reversed(USERS):
            body = turn(user, number)
            remembered = http.remember(**body, critical=ANTIBIOTICS[user])
            checks = http.post("/api/v7/agent/second-look", {"draft": body["response"]}).json()
            started = http.get(f"/api/v7/memory/start?session_id={user}-{number}&format=json")

            assert (remembered["saved"], remembered["user_id"]) == (True, user)
            assert (checks["user_id"], checks["session_id"]) == (user, f"{user}-{number}")
            assert started.json()["user_id"] == user
            assert started.json()["parts"]["facts"] == [f"2026-01-01 {ANTIBIOTICS[user]}"]

    for user in USERS:
        stored = http.memory("What do I take?", user, session_id="later", interact=False)
        assert {hit["response"] for hit in stored["hits"]} == {
            turn(user, number)["response"] for number in (1, 2)
        }


def test_each_request_with_user_id_and_session_id_names_the_user(http: Http) -> None:
    requests: list[tuple[str, dict[str, Any]]] = [
        ("memory", {"query_text": "tea"}),
        ("memory", {"query_text": "tea", "interact": False}),
        ("event/write", {"query": "Tea?", "response": "Green."}),
        ("remember", {"query": "Tea?", "response": "Green."}),
        ("agent/chat", {"message": "Which tea?"}),
    ]

    for number, (path, body) in enumerate(requests):
        session = {"session_id": f"s{number}"}
        named = http.post(f"/api/v7/{path}", {**body, "user_id": "ada", **session})
        assert named.status_code == 200
        assert http.remember("And now?", "Now too.", **session)["user_id"] == "ada", path
        assert http.remember("And there?", "There too.", session_id="t")["user_id"] == "owner"


def test_a_vote_names_the_user(http: Http) -> None:
    """A vote with a session records its user (specification.md#auth-session-user)."""
    lesson = {"topic": "tea", "essence": "Tea wakes.", "rules_markdown": "- MUST wait"}
    body = {**lesson, "evidence": "docs", "visibility": "account"}
    cube_id = http.post("/api/v7/experience/create", body).json()["cube_id"]
    answers = [
        http.post(
            "/api/v7/experience/vote",
            {"cube_id": cube_id, "user_id": user_id, "session_id": "s", "vote": 1},
        ).json()
        for user_id in ("ben", "ada")
    ]

    assert http.remember("And now?", "Now too.", session_id="s")["user_id"] == "ada"
    assert "two users within a day" not in answers[0]["detail"]
    assert "two users within a day" in answers[1]["detail"]


@pytest.fixture
def two_servers(http: Http, folder: Path, clock: Any) -> Iterator[tuple[Http, Http]]:
    """Return clients with one key of two servers on one store."""
    other = testing.context(folder, clock=clock)
    app = make_app(other, sandbox=SharedSandbox(other.settings))
    with TestClient(app, base_url="http://127.0.0.1:8460") as client:
        yield http, Http(client, other, http.key)
    other.close()


def test_the_default_session_is_of_the_user_who_spoke_last(two_servers: tuple[Http, Http]) -> None:
    """Forty users of one key, no session named: the interface's flow, on two servers in turn."""
    users = [f"u{number}" for number in range(40)]
    for round_number in (1, 2):
        for number, user in enumerate(users):
            first, second = two_servers[number % 2], two_servers[(number + round_number) % 2]
            boat = f"Yesterday we saw boat number {round_number}, the Albatros of {user}"
            answer = first.memory(boat, user)
            turn = second.remember(boat, f"Noted for {user}.", critical=f"{user} is allergic")
            look = first.post("/api/v7/agent/second-look", {"draft": f"Noted for {user}."}).json()
            start = second.get("/api/v7/memory/start?format=json").json()
            seal = f"REM | #{answer['step']} | READ | VERIFY | CORRECT | OUTPUT"
            after = first.memory(boat, user, last_seal=seal)

            assert (answer["step"], turn["step"]) == (2 * round_number - 1,) * 2
            assert (turn["user_id"], look["user_id"], start["user_id"]) == (user,) * 3
            assert start["parts"]["facts"] == [f"2026-01-01 {user} is allergic"]
            assert "duty_error" not in after
            assert after["hits"][0]["event_id"] == turn["event_id"]
            assert [one for one in turn.get("reminders", []) if "two users" not in one] == []
            second.remember(boat + "!", f"Again for {user}.")

    for user in users:
        stored = two_servers[0].get(f"/api/v7/events?user_id={user}").json()["events"]
        assert len(stored) == 4
        assert all(user in event["response"] for event in stored)
    assert two_servers[1].get("/api/v7/events?user_id=owner").json()["events"] == []


def test_the_users_of_a_session_are_those_of_each_key(http: Http) -> None:
    other = http.as_account("owner")
    http.memory("tea", "ada", session_id="s")
    other.memory("tea", "ben", session_id="s")

    assert http.remember("Tea?", "Green.", session_id="s")["user_id"] == "ada"
    assert other.remember("Tea?", "Black.", session_id="s")["user_id"] == "ben"


def test_a_pinned_key_has_one_user(http: Http) -> None:
    pinned = http.as_account("owner", user_id="ada")
    pinned.memory("tea", "ada", session_id="s")

    assert pinned.remember("Tea?", "Green.", session_id="s")["user_id"] == "ada"
    assert rows(http.context)["session_users"] == 0


def test_a_read_only_key_starts_with_its_users_memory(http: Http) -> None:
    http.remember("Allergies?", "Noted.", user_id="ada", critical=ANTIBIOTICS["ada"])
    reader = http.as_account("owner", read_only=True)
    reader.memory("Which antibiotic?", "ada", session_id="s")

    started = reader.get("/api/v7/memory/start?session_id=s").json()

    assert started["user_id"] == "ada"
    assert ANTIBIOTICS["ada"] in started["prompt_text"]


def test_one_session_of_two_users_is_the_last_ones_with_a_reminder(http: Http, clock: Any) -> None:
    """After a day it may change its user."""
    first = http.memory("tea", "ada", session_id="s")
    second = http.memory("tea", "ben", session_id="s")

    assert "reminders" not in first
    assert second["reminders"] == [
        (
            "This key used session_id 's' for two users within a day: 'ada' and 'ben'. Requests of "
            "this session without a user_id now use 'ben'. Send a session_id of its own for each "
            "user; without one it is 'default'."
        )
    ]
    assert http.remember("Tea?", "Green.", session_id="s")["user_id"] == "ben"
    named = http.remember("Tea?", "Black.", session_id="s", user_id="ada")
    assert (named["user_id"], len(named["reminders"])) == ("ada", 1)
    http.memory("tea", "ada", session_id="t")
    clock.advance(DAY_MS)
    assert "reminders" not in http.memory("tea", "ben", session_id="t")


def test_forgetting_a_user_forgets_who_used_a_session(http: Http) -> None:
    http.memory("tea", "ada", session_id="s")
    http.memory("tea", "ben", session_id="t")
    http.post("/api/v7/memory/forget", {"user_id": "ada", "confirm": "ada"})

    assert rows(http.context)["session_users"] == 1
    assert http.remember("Tea?", "Green.", session_id="s")["user_id"] == "owner"
