"""A model that never answers: chat says so in time, memory does not wait for it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from endpoint import Endpoint, endpoint, hangs, replies
from faults.service import Service
from faults.shim import Shim

CALLS = 4
REPLY = "The ferry leaves at nine."


@pytest.fixture
def model() -> Iterator[Endpoint]:
    """Yield a model that never answers, until a test changes its plays."""
    with endpoint(hangs) as one:
        yield one


@pytest.fixture
def service(model: Endpoint, tmp_path: Path) -> Iterator[Service]:
    """Yield a server with that model, and three seconds for it."""
    settings = {"REMEMBRANCER_MODEL_CHAT": model.named(), "REMEMBRANCER_MODEL_SECONDS": "3"}
    with Shim(tmp_path) as shim, Service(tmp_path / "data", shim, **settings) as service:
        yield service


def test_chat_falls_back_or_is_503_and_memory_does_not_wait(
    service: Service, model: Endpoint, word: str
) -> None:
    first = service.remember(word)
    chat = {"user_id": "ada", "message": f"What is {word}?"}
    completion = {"model": "tiny", "messages": [{"role": "user", "content": f"What is {word}?"}]}
    with ThreadPoolExecutor(2 * CALLS) as clients:
        chats = [
            clients.submit(service.server.post, "/api/v7/agent/chat", chat, key=service.key)
            for _ in range(CALLS)
        ]
        completions = [
            clients.submit(service.server.post, "/v1/chat/completions", completion, key=service.key)
            for _ in range(CALLS)
        ]
        turn, events = service.remember(f"new{word}"), service.events_with(word)
        is_waiting = not any(call.done() for call in (*chats, *completions))
        answers = [call.result() for call in chats]
        refused = [call.result() for call in completions]
    model.plays[:] = [replies(REPLY)]
    again = service.server.post("/api/v7/agent/chat", chat, key=service.key).body

    assert is_waiting
    assert (turn.status, events) == (200, [first.body["event_id"]])
    assert {(answer.status, answer.body["answer_mode"]) for answer in answers} == {
        (200, "fallback")
    }
    assert {answer.status for answer in refused} == {503}
    assert {answer.headers["retry-after"] for answer in refused} == {"1"}
    assert (again["answer_mode"], REPLY in again["reply"]) == ("model", True)
