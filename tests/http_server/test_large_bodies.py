"""Requests with large bodies: few at a time, and between them other threads run often."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from service import Http, new_key
from starlette.responses import JSONResponse, Response
from starlette.testclient import TestClient
from waiting import wait_until

from remembrancer.context import Context
from remembrancer.http.admission import SECONDS
from remembrancer.http.dispatch import LARGE_BODIES_MAX, LARGE_BODY_BYTES, Call, ThreadPool, handles
from remembrancer.protocol.memory import EventWrite
from remembrancer.protocol.operation import BodyOperation
from remembrancer.server.app import make_app

PATH = "/api/v7/long"
REQUESTS = 3  # of each client
SMALL, LARGE = "a", "a" * LARGE_BODY_BYTES


def turn(response: str) -> dict[str, str]:
    """Return a body."""
    return {"user_id": "owner", "query": "When?", "response": response}


class Work:
    """An endpoint whose calls with large bodies wait for what a test sets."""

    def __init__(self) -> None:
        self.together, self.most, self.intervals = 0, 0, set[float]()
        self.meet: Callable[[], object] = lambda: None
        self._lock = threading.Lock()

    def __call__(self, call: Call[EventWrite]) -> Response:
        """Count the calls that run at the same time."""
        with self._lock:
            self.together += 1
            self.most = max(self.most, self.together)
            self.intervals.add(sys.getswitchinterval())
        if len(call.input.response) > 1:
            self.meet()
        with self._lock:
            self.together -= 1
        return JSONResponse({})


@pytest.fixture
def work() -> Work:
    """The work of one test."""
    return Work()


@pytest.fixture(params=[ThreadPool.WRITE, ThreadPool.SEARCH])
def http(request: pytest.FixtureRequest, context: Context, work: Work) -> Iterator[Http]:
    """A client of an application whose only endpoint is that work, on the threads of a pool."""
    operation = BodyOperation[EventWrite, Any]("POST", PATH, EventWrite)
    routes = (handles(operation, work, pool=request.param),)
    with TestClient(make_app(context, routes), base_url="http://127.0.0.1:8460") as client:
        yield Http(client, context, new_key(context))


def post_large(work: Work, *clients: Http) -> None:
    """Send requests with large bodies at the same time, some with each client."""
    for one in clients:
        one.post(PATH, turn(SMALL))  # until its key has been checked, a caller is a stranger
    work.intervals.clear()
    with ThreadPoolExecutor(REQUESTS * len(clients)) as pool:
        answers = pool.map(lambda one: one.post(PATH, turn(LARGE)), clients * REQUESTS)

        assert {answer.status_code for answer in answers} == {200}


def test_large_bodies_of_two_accounts_run_at_the_same_time(http: Http, work: Work) -> None:
    """See specification.md#limit-large-writes."""
    usual = sys.getswitchinterval()
    both = threading.Barrier(LARGE_BODIES_MAX)
    work.meet = lambda: both.wait(20)

    post_large(work, http, http.as_account("ada"))

    assert work.most == LARGE_BODIES_MAX
    assert {round(seconds, 6) for seconds in work.intervals} == {SECONDS}
    assert sys.getswitchinterval() == usual


def test_large_bodies_of_one_account_run_one_by_one(http: Http, work: Work) -> None:
    """Also while no other account sends any; see specification.md#limit-large-writes."""
    dispatcher = http.client.app.state.dispatcher  # type: ignore[attr-defined]
    queue = dispatcher._pools[ThreadPool.LARGE]._queue
    first = threading.Lock()

    def wait_for_the_others() -> None:
        if first.acquire(blocking=False):
            wait_until(lambda: len(queue) == REQUESTS - 1)

    work.meet = wait_for_the_others
    post_large(work, http)

    assert work.most == 1
