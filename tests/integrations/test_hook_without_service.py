"""Hooks without the service: the agent continues, and no turn is lost."""

from __future__ import annotations

import json
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import repeat
from pathlib import Path

import pytest
from client.scripted_server import ScriptedServer
from integrations.agent import Agent, denial
from service import Http, new_key

from remembrancer.context import Context


def test_turns_during_an_outage_are_sent_later(
    home: Path, dead_url: str, service_url: str, context: Context
) -> None:
    """Recall fails open; unsent requests are sent next time."""
    key = new_key(context)
    offline = Agent(home, dead_url, key)

    session_start = offline.trigger("SessionStart")
    prompt_answer = offline.trigger("UserPromptSubmit")
    stop_answer = offline.trigger("Stop")
    requests = offline.queued_requests()
    online = Agent(home, service_url, key)
    online.session = "another"
    online.trigger("SessionStart")

    assert list(session_start) == ["systemMessage"]
    assert (prompt_answer, stop_answer) == ({}, {})
    assert [request["body"]["response"] for request in requests] == ["It leaves at noon."]
    assert all(len(request["once"]) == 32 for request in requests)
    assert online.queued_requests() == []
    hits = search(online, context)
    assert [(hit["response"], hit["session_id"]) for hit in hits] == [("It leaves at noon.", "s1")]


def search(agent: Agent, context: Context) -> list[dict[str, str]]:
    """Return the hits for the recorded prompt."""
    import httpx2

    body = {"query_text": "ferry Elba", "user_id": "owner", "interact": False}
    headers = {"Authorization": f"Bearer {agent.environment['REMEMBRANCER_KEY']}"}
    hits: list[dict[str, str]] = httpx2.post(
        f"{agent.environment['REMEMBRANCER_URL']}/api/v7/memory", json=body, headers=headers
    ).json()["hits"]
    return hits


def test_repeated_request_is_saved_once(agent: Agent, owner: Http, home: Path) -> None:
    """A resent turn has its idempotency key (specification.md#idempotency-replay)."""
    offline = Agent(home, "http://127.0.0.1:9", agent.environment["REMEMBRANCER_KEY"])
    offline.turn("Who has the ladder?", "Mr Lund.")
    [request] = offline.queued_requests()
    owner.with_key(agent.environment["REMEMBRANCER_KEY"]).post(
        request["path"], request["body"], headers={"Idempotency-Key": request["once"]}
    )

    agent.trigger("SessionEnd")

    assert agent.queued_requests() == []
    assert len(owner.memory("ladder")["hits"]) == 1


def test_concurrent_hooks_lose_no_turn(home: Path, dead_url: str) -> None:
    """The hooks' state is safe under concurrency."""
    offline = Agent(home, dead_url, "sk_0")

    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(lambda n: offline.trigger("UserPromptSubmit", prompt=f"prompt {n}"), range(12))
        )

    queries = [request["body"]["query"] for request in offline.queued_requests()]
    [file] = (home / ".local/state/remembrancer/hooks").glob("*.json")
    last = json.loads(file.read_text("utf-8"))["prompt"]
    assert sorted([*queries, last]) == sorted(f"prompt {n}" for n in range(12))
    assert file.stat().st_mode & 0o777 == 0o600


def test_damaged_state_file_is_renamed_and_not_deleted(
    agent: Agent, home: Path, owner: Http
) -> None:
    agent.trigger("SessionStart")
    [file] = (home / ".local/state/remembrancer/hooks").glob("*.json")
    file.write_text('{"queue": [', "utf-8")

    agent.turn("Who has the ladder?", "Mr Lund.")

    assert owner.memory("ladder")["hits"]
    assert Path(f"{file}.unreadable").read_text("utf-8") == '{"queue": ['


def test_session_id_cannot_escape_the_state_folder(home: Path, dead_url: str) -> None:
    offline = Agent(home, dead_url, "sk_0")
    for offline.session in ("../../x", "a/b", "", "\n", "é" * 300):
        offline.trigger("UserPromptSubmit")

    files = [path for path in home.rglob("*") if path.is_file()]
    assert {path.parent for path in files} == {home / ".local/state/remembrancer/hooks"}


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def connection_count(listener: socket.socket) -> int:
    """Return how many connections wait, and close them."""
    count = 0
    with suppress(BlockingIOError):
        while True:
            listener.accept()[0].close()
            count += 1
    return count


def test_a_service_that_hangs_is_asked_once_a_minute(home: Path) -> None:
    """Hooks skip it after one timeout; the user is told once, and nothing is lost."""
    with socket.create_server(("127.0.0.1", 0)) as listener:  # it accepts, and never answers
        listener.setblocking(False)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        agent = Agent(home, url, "sk_0", REMEMBRANCER_HOOK_SECONDS="0.05")
        prompt = agent.trigger("UserPromptSubmit")
        reason = denial(agent.trigger("PreToolUse-Write"))
        end = agent.trigger("Stop")
        agent.session = "s2"
        start = agent.trigger("SessionStart")
        within_a_minute = connection_count(listener)
        for file in (home / ".local/state/remembrancer/hooks").glob("away-*"):
            os.utime(file, (0, 0))  # more than a minute ago
        agent.trigger("SessionStart")
        later = connection_count(listener)

    assert "did not answer in time" in prompt["systemMessage"]
    assert "asked again in" in reason
    assert end == {}
    assert "asked again in" in start["systemMessage"]
    assert (within_a_minute, later) == (1, 1)
    assert len(agent.queued_requests()) == 1


@pytest.mark.parametrize(
    "response",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n<html>Sign in to the network</html>",
        HEAD + b"\r\n[]",
        HEAD + b"\r\n{}",
        HEAD
        + b"Content-Length: 900\r\n\r\n"
        + b'{"allowed": true, "grant_id": "g", "path": "/etc/nginx/nginx.conf"}',
        HEAD + b'\r\n{"allowed": "yes"}',
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\n\r\n",
        b"HTTP/1.1 500 Internal Server Error\r\n\r\noops",
        b'HTTP/1.1 503 Service Unavailable\r\n\r\n{"detail": "The store is not available."}',
    ],
)
def test_invalid_response_counts_as_unreachable(home: Path, response: bytes) -> None:
    """Permissions fail closed (specification.md#turn-system-files)."""
    with ScriptedServer(repeat(response)) as server:
        agent = Agent(home, server.url, "sk_0")
        prompt_answer = agent.trigger("UserPromptSubmit")
        reason = denial(agent.trigger("PreToolUse-Write"))
        stop_answer = agent.trigger("Stop")

    assert prompt_answer == {}
    assert reason
    assert "decision" not in stop_answer
    assert [request["body"]["response"] for request in agent.queued_requests()] == [
        "It leaves at noon."
    ]
