"""Large bodies fill a bounded part of the memory, and those of one account half of it."""

from __future__ import annotations

import json
import socket

import pytest
from http_server.raw import JSON, MIB, Connect, bearer, read_answer, request, status_of
from hypothesis import given
from hypothesis import strategies as st
from service import new_key, rows
from waiting import wait_until

from remembrancer.context import Context
from remembrancer.http.admission import SMALL_BYTES, InFlight, RequestMemory
from remembrancer.protocol.errors import Unavailable

pytestmark = pytest.mark.settings(request_memory_bytes=8 * MIB)


def begin(connection: socket.socket, key: str, size: int, body: bytes) -> None:
    """Send the head of a request that creates a file, and a part of its body."""
    headers = (bearer(key), JSON, f"Content-Length: {size}")
    connection.sendall(request("POST", "/api/v7/tools/create-file", *headers, body=body))


def file(size: int) -> bytes:
    """Return the body of a request that creates a file of so many bytes."""
    return json.dumps({"filename": "a.txt", "type": "txt", "content": "x" * size}).encode()


def test_account_with_too_many_large_bodies_is_told_to_wait(
    connect: Connect, context: Context
) -> None:
    """Others go on, and so does the account once they are gone (specification.md#limit-memory)."""
    ada, bob = (new_key(context, name) for name in ("ada", "bob"))
    body = file(3 * MIB)
    halves = [connect() for _ in range(2)]
    before = rows(context)["files"]
    for half in halves:
        begin(half, ada, 4 * MIB, body[: 2 * MIB - SMALL_BYTES])
    third = connect()
    begin(third, ada, len(body), body)

    status, _, refusal = read_answer(third)
    other = connect()
    begin(other, bob, len(body), body)

    assert (status, json.loads(refusal)["error"]) == (503, "unavailable")
    assert json.loads(refusal)["retry_after"] >= 1
    assert status_of(other) == 200
    assert rows(context)["files"] == before + 1
    for half in halves:
        half.close()
    wait_until(lambda: answer_again(connect, ada, body) != 503)  # until the server has noticed
    assert rows(context)["files"] == before + 2


def answer_again(connect: Connect, key: str, body: bytes) -> int:
    """Create a file; return the status."""
    connection = connect()
    begin(connection, key, len(body), body)
    return status_of(connection)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5), st.sampled_from(["grow", "assign", "release"]), st.integers(0, 3)
        )
    )
)
def test_held_bytes_are_those_of_the_requests(steps: list[tuple[int, str, int]]) -> None:
    memory = RequestMemory(4 * MIB)
    requests = [InFlight(None if n % 2 else n) for n in range(6)]
    for number, action, n in steps:
        request = requests[number]
        if action == "assign":
            memory.assign(request, n)
        elif action == "release":
            memory.release(request)
            requests[number] = InFlight(n)
        else:
            try:
                memory.grow(request, n * MIB // 2)
            except Unavailable:
                memory.release(request)
                requests[number] = InFlight(n)
        assert memory.held == sum(one.counted_bytes for one in requests)
        assert sum(one.counted_bytes > 0 for one in requests) <= 1 or memory.held <= 4 * MIB
    for request in requests:
        memory.release(request)
    assert (memory.held, memory._by_account) == (0, {})
