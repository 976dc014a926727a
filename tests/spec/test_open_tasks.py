"""Open tasks: what they are called, when they are shown, and what ends them.

See specification.md#search-open-tasks, specification.md#task-open, specification.md#task-end.
"""

from __future__ import annotations

from typing import Any

import pytest
from service import Http

from remembrancer.testing import FrozenClock

DAY_MS = 24 * 60 * 60 * 1000
TLS = "Please renew the TLS certificate of the mail server."
PERMIT = "I need a building permit for the garage. Which documents?"
TALK = ("I drink green tea.", "My cat is called Mia.", "We meet at 9:30.", "Lint with ruff.")


def opened(http: Http, *tasks: str) -> list[str]:
    """Open a task in a session of its own for each message, among other talk; return their ids."""
    for number, text in enumerate(TALK):
        http.remember(text, "Noted.", session_id=f"talk {number}")
    return [
        http.remember(task, "Let us begin.", session_id=task[:12], task_done=False)["event_id"]
        for task in tasks
    ]


def shown(http: Http, query: str, session: str = "new", **more: Any) -> list[str]:
    """Return the messages of the tasks that a search shows."""
    answer = http.memory(query, session_id=session, **more)
    return [task["query"] for task in answer.get("open_tasks", [])]


def test_a_task_is_named_by_the_message_that_opened_it(http: Http) -> None:
    """Also for a client that always sends `task_done: false`."""
    http.remember("Hello", "Good day.", session_id="s")
    event_id = http.remember(TLS, "Started.", session_id="s", task_done=False)["event_id"]
    for text in ("Thanks, that is all for today.", "I am here again.", "By the way, use UTC."):
        http.remember(text, "Fine.", session_id="s", task_done=False)

    answer = http.memory("Hello", session_id="new")
    [task] = answer["open_tasks"]

    assert (task["task_id"], task["query"], task["session_id"]) == (event_id, TLS, "s")
    assert any("task_id" in one for one in answer["reminders"])
    http.remember("Renewed.", "Good.", session_id="s", task_done=True)
    http.remember(PERMIT, "Started.", session_id="s", task_done=False)
    assert shown(http, "Hello", "newer") == [PERMIT]


def test_tasks_are_shown_at_the_start_and_when_a_query_bears_on_them(http: Http) -> None:
    """At most twice in a session; a search that counts no step does not count."""
    opened(http, TLS, PERMIT)

    assert shown(http, "Hello") == [PERMIT, TLS]
    assert shown(http, "What shall I cook tonight?") == []
    for _ in range(3):
        assert shown(http, "Is the TLS certificate renewed?", interact=False) == [TLS]
    assert shown(http, "Is the TLS certificate renewed?") == [TLS]
    assert shown(http, "Is the TLS certificate renewed?") == []
    assert shown(http, "Which documents does the building permit need?") == [PERMIT]
    assert shown(http, "Is the TLS certificate renewed?", "other") == [PERMIT, TLS]


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ("The TLS certificate of the mail server is renewed now.", [PERMIT]),
        ("Got the permit for the garage.", [TLS]),
        ("Book a flight to Lisbon.", [PERMIT, TLS]),
        ("Which documents does the tax office want?", [PERMIT, TLS]),
        ("Thanks!", [PERMIT, TLS]),
    ],
)
def test_task_done_ends_the_same_task_in_another_session(
    http: Http, message: str, left: list[str]
) -> None:
    opened(http, TLS, PERMIT)
    http.remember(message, "Done.", session_id="b2")

    answer = http.remember("Great, that was it.", "Good.", session_id="b2", task_done=True)

    [receipt] = [one for one in answer["receipts"] if one["part"] == "task_done"]
    assert ("detail" in receipt) == (len(left) == 1)
    assert shown(http, "Hello") == left


def test_task_id_ends_one_task(http: Http) -> None:
    """An unknown one is a 404, and one without `task_done: true` a 422; nothing is stored then."""
    tls, _ = opened(http, TLS, PERMIT)
    path, before = "/api/v7/remember", http.rows()
    turn = {"query": "Thanks!", "response": "Fine.", "session_id": "b2"}

    foreign = http.as_account("bob").post(path, {**turn, "task_done": True, "task_id": tls})
    unknown = http.post(path, {**turn, "task_done": True, "task_id": "e_0000000000000"})
    undone = http.post(path, {**turn, "task_id": tls})
    assert [one.status_code for one in (foreign, unknown, undone)] == [404, 404, 422]
    assert undone.json()["errors"][0]["pointer"] == "/task_id"
    assert http.rows()["events"] == before["events"]

    http.remember(**turn, task_done=True, task_id=tls)

    assert shown(http, "Hello") == [PERMIT]
    assert http.post(path, {**turn, "task_done": True, "task_id": tls}).status_code == 404


def test_a_task_ends_after_seven_quiet_days_and_with_its_turn(
    http: Http, clock: FrozenClock
) -> None:
    tls, _ = opened(http, TLS, PERMIT)
    clock.advance(6 * DAY_MS)
    http.remember("And the roof?", "Later.", session_id=PERMIT[:12])
    assert shown(http, "Hello", "a") == [PERMIT, TLS]
    clock.advance(DAY_MS)
    assert shown(http, "Hello", "b") == [PERMIT]
    http.remember(TLS, "Again.", session_id="c", task_done=False)
    [task] = http.memory("Hello", session_id="d")["open_tasks"][:1]

    http.delete(f"/api/v7/event/{task['task_id']}")

    assert TLS not in shown(http, "Hello", "e")
    assert tls != task["task_id"]


def test_an_agent_with_tools_ends_a_task_and_names_its_project(http: Http) -> None:
    """The tool `remember`, also of the few tools (specification.md#mcp-tools)."""
    (task,) = opened(http, TLS)
    arguments = {
        "query": "Is it renewed?",
        "response": "It is, until May.",
        "metadata": {"project": "mail"},
        "task_done": True,
        "task_id": task,
    }
    call = {"name": "remember", "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    accept = {"Accept": "application/json, text/event-stream"}
    answer = http.post("/mcp?tools=memory", body, headers=accept)

    assert answer.status_code == 200, answer.text
    assert shown(http, TLS) == []
    hits = http.memory("Is it renewed?", interact=False)["hits"]
    assert {"project": "mail"} in [hit.get("metadata") for hit in hits]
