"""What answers at the service's address is not the service, or is cut off: a prompt goes on, a turn waits, no system file is touched."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from integrations.agent import Agent, denial

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.fixture
def saying() -> Iterator[Callable[[bytes], str]]:
    """Gives the address of a listener that reads a request and says these bytes, whatever it was asked."""
    listener = socket.create_server(("127.0.0.1", 0))
    said: list[bytes] = []

    def answer() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(1 << 16)
                connection.sendall(said[0])

    thread = threading.Thread(target=answer)

    def begin(answered: bytes) -> str:
        said.append(answered)
        thread.start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield begin
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(timeout=20)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n<html>Sign in to the network</html>",
        HEAD + b"\r\n[]",
        HEAD + b"\r\n{}",
        HEAD + b'Content-Length: 900\r\n\r\n{"allowed": true, "grant_id": "g", "path": "/etc/nginx/nginx.conf"}',
        HEAD + b'\r\n{"allowed": "yes"}',
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\n\r\n",
        b"HTTP/1.1 500 Internal Server Error\r\n\r\noops",
        b'HTTP/1.1 503 Service Unavailable\r\n\r\n{"detail": "The store is not available."}',
    ],
)
def test_what_is_no_answer_of_the_service_counts_as_none(home: Path, saying: Callable[[bytes], str], said: bytes) -> None:
    """Recall fails open, permissions fail closed."""
    agent = Agent(home, saying(said), "sk_0")

    recalled = agent.at("UserPromptSubmit")
    denied = denial(agent.at("PreToolUse-Write"))
    ended = agent.at("Stop")

    assert recalled == {}
    assert denied
    assert "decision" not in ended
    assert [one["body"]["response"] for one in agent.waiting()] == ["It leaves at noon."]
