"""Invalid responses: prompts continue, turns are queued, and system files stay protected."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from integrations.agent import Agent, denial

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.fixture
def raw_server() -> Iterator[Callable[[bytes], str]]:
    """Return a function that starts a server which answers any request with the same bytes."""
    listener = socket.create_server(("127.0.0.1", 0))
    responses: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(1 << 16)
                connection.sendall(responses[0])

    thread = threading.Thread(target=serve)

    def start(response: bytes) -> str:
        responses.append(response)
        thread.start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(timeout=20)


@pytest.fixture
def hanging_server() -> Iterator[tuple[str, list[socket.socket]]]:
    """The address of a server that accepts connections and never answers, and these."""
    listener = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connections.append(listener.accept()[0])
            except OSError:
                return

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}", connections
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(timeout=20)
    for connection in connections:
        connection.close()


def test_a_service_that_hangs_is_asked_once_a_minute(
    home: Path, hanging_server: tuple[str, list[socket.socket]]
) -> None:
    """Hooks skip it after one timeout; the user is told once, and nothing is lost."""
    url, connections = hanging_server
    agent = Agent(home, url, "sk_0", REMEMBRANCER_HOOK_SECONDS="0.05")

    prompt = agent.trigger("UserPromptSubmit")
    reason = denial(agent.trigger("PreToolUse-Write"))
    end = agent.trigger("Stop")
    agent.session = "s2"
    start = agent.trigger("SessionStart")
    connection_count = len(connections)
    for file in (home / ".local/state/remembrancer/hooks").glob("away-*"):
        os.utime(file, (0, 0))  # more than a minute ago
    agent.trigger("SessionStart")

    assert "did not answer in time" in prompt["systemMessage"]
    assert "asked again in" in reason
    assert end == {}
    assert "asked again in" in start["systemMessage"]
    assert (connection_count, len(connections)) == (1, 2)
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
def test_invalid_response_counts_as_unreachable(
    home: Path, raw_server: Callable[[bytes], str], response: bytes
) -> None:
    """Permissions fail closed (specification.md#turn-system-files)."""
    agent = Agent(home, raw_server(response), "sk_0")

    prompt_answer = agent.trigger("UserPromptSubmit")
    reason = denial(agent.trigger("PreToolUse-Write"))
    stop_answer = agent.trigger("Stop")

    assert prompt_answer == {}
    assert reason
    assert "decision" not in stop_answer
    assert [request["body"]["response"] for request in agent.queued_requests()] == [
        "It leaves at noon."
    ]
