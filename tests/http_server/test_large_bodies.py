"""Writes with large bodies: few at a time, and between them other threads run often."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from service import Http, new_key
from starlette.responses import JSONResponse, Response
from starlette.testclient import TestClient

from remembrancer.context import Context
from remembrancer.http.admission import SECONDS
from remembrancer.http.dispatch import LARGE_BODIES_MAX, LARGE_BODY_BYTES, Call, handles
from remembrancer.protocol.memory import EventWrite
from remembrancer.protocol.operation import BodyOperation
from remembrancer.server.app import make_app

PATH = "/api/v7/long"
SMALL, LARGE = "a", "a" * LARGE_BODY_BYTES


def turn(response: str) -> dict[str, str]:
    """Return a body."""
    return {"user_id": "owner", "query": "When?", "response": response}


class Work:
    """An endpoint whose calls wait for each other, up to the number that may run at once."""

    def __init__(self) -> None:
        self.together, self.most, self.intervals = 0, 0, set[float]()
        self._lock = threading.Lock()
        self._both = threading.Barrier(LARGE_BODIES_MAX)

    def __call__(self, call: Call[EventWrite]) -> Response:
        """Count the calls that run at the same time."""
        with self._lock:
            self.together += 1
            self.most = max(self.most, self.together)
            self.intervals.add(sys.getswitchinterval())
        if len(call.input.response) > 1:
            self._both.wait(20)
        with self._lock:
            self.together -= 1
        return JSONResponse({})


@pytest.fixture
def work() -> Work:
    """The work of one test."""
    return Work()


@pytest.fixture
def http(context: Context, work: Work) -> Iterator[Http]:
    """A client of an application whose only endpoint is that work."""
    operation = BodyOperation[EventWrite, Any]("POST", PATH, "Work", EventWrite)
    routes = (handles(operation, work),)
    with TestClient(make_app(context, routes), base_url="http://127.0.0.1:8460") as client:
        yield Http(client, context, new_key(context))


def test_large_writes_run_few_at_a_time(http: Http, work: Work) -> None:
    """See specification.md#limit-large-writes."""
    usual = sys.getswitchinterval()
    http.post(PATH, turn(SMALL))  # until its key has been checked, a caller is a stranger
    work.intervals.clear()
    with ThreadPoolExecutor(3 * LARGE_BODIES_MAX) as pool:
        answers = pool.map(lambda _: http.post(PATH, turn(LARGE)), range(3 * LARGE_BODIES_MAX))

        assert {answer.status_code for answer in answers} == {200}
    assert work.most == LARGE_BODIES_MAX
    assert {round(seconds, 6) for seconds in work.intervals} == {SECONDS}
    assert sys.getswitchinterval() == usual


def test_small_writes_keep_the_usual_interval(http: Http, work: Work) -> None:
    usual = sys.getswitchinterval()

    assert http.post(PATH, turn(SMALL)).status_code == 200
    assert work.intervals == {usual}
