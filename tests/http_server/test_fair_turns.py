"""One account's flood of requests delays another's next one by at most what runs just then."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from service import Http, new_key
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.testclient import TestClient
from waiting import wait_until

from remembrancer.accounts import keys
from remembrancer.context import Context
from remembrancer.http.admission import AccountGroups
from remembrancer.http.dispatch import Call, Dispatcher, ThreadPool, handles
from remembrancer.protocol.errors import Unauthorized, Unavailable
from remembrancer.protocol.operation import PlainOperation
from remembrancer.server.app import make_app

FLOOD = 8
# One place for programs and one thread for searches.
pytestmark = pytest.mark.settings(sandbox_parallel=1, sandbox_queue_max=FLOOD, search_threads=1)


def key_header(key: str) -> Headers:
    """Return the headers of a request with a key."""
    return Headers({"authorization": f"Bearer {key}"})


class Work:
    """An endpoint that notes whose call it serves; the first call waits."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.began, self.go_on = threading.Event(), threading.Event()

    def __call__(self, call: Call[None]) -> Response:
        """Note the account."""
        self.order.append(call.caller.account_name)
        self.began.set()
        assert self.go_on.wait(20)
        return JSONResponse({})


def client_of(app: Starlette) -> TestClient:
    """Return a client of an application."""
    return TestClient(app, base_url="http://127.0.0.1:8460")


def test_searches_of_accounts_take_turns(context: Context) -> None:
    """See specification.md#limit-fair."""
    work = Work()
    operation = PlainOperation[Any]("GET", "/api/v7/work")
    routes = (handles(operation, work, pool=ThreadPool.SEARCH),)
    with client_of(make_app(context, routes)) as client:
        flooder, other = (Http(client, context, new_key(context, name)) for name in ("ada", "bob"))
        dispatcher: Dispatcher = client.app.state.dispatcher  # type: ignore[attr-defined]
        for one in (flooder, other):
            dispatcher.caller(key_header(str(one.key)))
        with ThreadPoolExecutor(FLOOD + 1) as callers:
            calls = [callers.submit(flooder.get, "/api/v7/work") for _ in range(FLOOD)]
            assert work.began.wait(20)
            pool = dispatcher._pools[ThreadPool.SEARCH]
            wait_until(lambda: len(pool._queue) >= FLOOD - 1)
            calls.append(callers.submit(other.get, "/api/v7/work"))
            wait_until(lambda: len(pool._queue) >= FLOOD)
            work.go_on.set()
            assert {call.result(20).status_code for call in calls} == {200}

    assert work.order[:2] == ["ada", "bob"]


def test_programs_of_accounts_take_turns(context: Context) -> None:
    """See specification.md#limit-fair."""
    with client_of(make_app(context)) as client:
        sandbox = client.app.state.sandbox  # type: ignore[attr-defined]
        sandbox.start()
        order: list[int] = []

        def run(account_id: int) -> None:
            sandbox.run("import time\ntime.sleep(0.3)", account_id=account_id)
            order.append(account_id)

        with ThreadPoolExecutor(FLOOD + 1) as callers:
            runs = [callers.submit(run, 1) for _ in range(FLOOD)]
            wait_until(lambda: sandbox.places.waiting >= FLOOD - 1)
            runs.append(callers.submit(run, 2))
            for one in runs:
                one.result(60)

    assert order.index(2) <= 2  # what ran, perhaps one that was just taken, and then this one


def test_writes_of_accounts_take_turns(context: Context) -> None:
    """See specification.md#limit-fair."""
    order: list[int] = []
    began, go_on = threading.Event(), threading.Event()

    def first(tx: object) -> None:
        began.set()
        assert go_on.wait(20)
        order.append(0)

    def write(account_id: int) -> None:
        context.store.write(lambda tx: order.append(account_id), account_id=account_id)

    with ThreadPoolExecutor(FLOOD + 2) as callers:
        writes = [callers.submit(context.store.write, first, account_id=1)]
        assert began.wait(20)
        queue = context.store._writer._queue  # type: ignore[attr-defined]
        writes += [callers.submit(write, 1) for _ in range(FLOOD)]
        wait_until(lambda: len(queue) >= FLOOD)
        writes.append(callers.submit(write, 2))
        wait_until(lambda: len(queue) > FLOOD)
        go_on.set()
        for one in writes:
            one.result(20)

    assert order[:2] == [0, 2]


def test_accounts_are_known_by_keys_that_were_valid(context: Context) -> None:
    """Invented keys are all one group, so that they have no more turns than one caller."""
    dispatcher = Dispatcher(context)
    key = key_header(new_key(context, "ada"))
    assert dispatcher.groups.of(key) is None

    caller = dispatcher.caller(key)

    assert dispatcher.groups.of(key) == caller.account_id
    assert dispatcher.groups.of(key_header("rk_invented")) is None
    assert dispatcher.groups.of(Headers({})) is None
    dispatcher.close()


def test_revoked_key_no_longer_takes_turns_of_its_account(context: Context) -> None:
    dispatcher = Dispatcher(context)
    text = new_key(context, "ada")
    caller = dispatcher.caller(key_header(text))
    assert keys.revoke(context, caller.key_id)
    with pytest.raises(Unauthorized):
        dispatcher.caller(key_header(text))

    assert dispatcher.groups.of(key_header(text)) is None
    dispatcher.close()


def test_groups_stay_few_and_hold_no_key() -> None:
    groups = AccountGroups()
    for n in range(20_001):
        groups.learn(key_header(f"key-{n}"), n)

    assert groups.of(key_header("key-20000")) == 20_000
    assert len(groups._accounts) <= 10_000
    assert b"key-" not in b"".join(groups._accounts)


def test_full_server_still_serves_accounts_below_their_share(context: Context) -> None:
    """See specification.md#limit-fair."""

    async def use(dispatcher: Dispatcher) -> None:
        ada, bob = (key_header(new_key(context, name)) for name in ("ada", "bob"))
        for headers in (ada, bob):
            dispatcher.caller(headers)
        requests = [dispatcher.enter(ada) for _ in range(5)]
        account_id = requests[0].account_id
        with pytest.raises(Unavailable):
            dispatcher.check_capacity(account_id)
        dispatcher.check_capacity(dispatcher.enter(bob).account_id)
        for request in requests[:2]:
            dispatcher.leave(request)
        dispatcher.check_capacity(account_id)

    dispatcher = Dispatcher(context, in_flight_max=4)
    asyncio.run(use(dispatcher))
    dispatcher.close()
