"""Retries: first without a network, then over HTTP."""

from __future__ import annotations

import asyncio

import pytest
from client.scripted_server import ScriptedServer, answer, problem
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.client import AsyncClient, Client, InvalidResponseError, Retry, UnreachableError
from remembrancer.client.api_request import ApiRequest, NoResponse, run_attempts
from remembrancer.client.errors import (
    HttpResponse,
    ServiceError,
    TooManyRequestsError,
    UnavailableError,
)
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryQuery
from remembrancer.protocol.status import StatusRecord

TURN = Turn(query="q", response="r")
SAVED = {
    "saved": True,
    "user_id": "ada",
    "event_id": "evt_1",
    "step": 0,
    "cube": "none",
    "l1_due": False,
    "l2_due": False,
    "receipts": [],
}


def new_request(*, is_retry_safe: bool) -> ApiRequest[str]:
    """Return a request."""
    return ApiRequest(
        method="POST",
        path="/",
        parse=lambda response: response.body.decode(),
        is_retry_safe=is_retry_safe,
    )


def run(
    request: ApiRequest[str], *results: HttpResponse | NoResponse, retry: Retry | None = None
) -> tuple[list[float], str]:
    """Return the waits before each attempt, and the answer."""
    steps = run_attempts(request, retry or Retry(), lambda: 0.5)
    waits = [next(steps)]
    for result in results:
        try:
            waits.append(steps.send(result))
        except StopIteration as finished:
            return waits, finished.value
    raise AssertionError("unexpected retry")


GOOD = HttpResponse(status=200, headers={}, body=b"good")
BUSY = HttpResponse(status=503, headers={}, body=b"")


def test_waits_grow_exponentially() -> None:
    waits, answer = run(new_request(is_retry_safe=False), BUSY, BUSY, BUSY, GOOD)

    assert answer == "good"
    assert waits == [0.0, 0.1875, 0.375, 0.75]


def test_retry_after_is_respected_and_raised_at_once_if_excessive() -> None:
    def limited(seconds: str) -> HttpResponse:
        return HttpResponse(status=429, headers={"retry-after": seconds}, body=b"")

    waits, _ = run(new_request(is_retry_safe=False), limited("7"), GOOD)
    with pytest.raises(TooManyRequestsError) as raised:
        run(new_request(is_retry_safe=True), limited("3600"))

    assert 7.0 <= waits[1] < 8.0
    assert raised.value.retry_after_s == 3600


def test_error_is_raised_after_the_last_attempt() -> None:
    with pytest.raises(UnavailableError):
        run(new_request(is_retry_safe=True), BUSY, BUSY, retry=Retry(times=1))


def test_lost_response_is_retried_if_safe_and_an_unsent_request_always() -> None:
    lost, unsent = NoResponse("cut", was_sent=True), NoResponse("refused", was_sent=False)

    for is_retry_safe, no_response in ((True, lost), (True, unsent), (False, unsent)):
        assert run(new_request(is_retry_safe=is_retry_safe), no_response, GOOD)[1] == "good"
    with pytest.raises(UnreachableError, match="cut"):
        run(new_request(is_retry_safe=False), lost)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 500])
def test_permanent_errors_are_not_retried(status: int) -> None:
    with pytest.raises(ServiceError):
        run(new_request(is_retry_safe=True), HttpResponse(status=status, headers={}, body=b""))


@given(st.integers(1, 100), st.none() | st.floats(0, 60), st.floats(0, 1, exclude_max=True))
def test_wait_is_within_bounds(attempt: int, retry_after_s: float | None, jitter: float) -> None:
    wait_s = Retry(times=100).wait_s(attempt, retry_after_s, jitter)

    assert wait_s is not None
    assert (retry_after_s or 0.0) <= wait_s <= (retry_after_s or 0.0) + Retry().wait_s_max


def test_retried_write_has_the_same_idempotency_key() -> None:
    """A retry keeps its idempotency key (specification.md#idempotency-replay)."""
    waits: list[float] = []
    with (
        ScriptedServer(
            [problem(503, "unavailable", Retry_After="1"), b"", answer(200, SAVED)]
        ) as server,
        Client(server.url, "sk_00", sleep=waits.append) as client,
    ):
        client.remember_turn(TURN)
    keys = [received.headers["idempotency-key"] for received in server.requests]

    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert waits[0] >= 1
    assert len({received.body for received in server.requests}) == 1


def test_two_writes_have_different_idempotency_keys() -> None:
    with (
        ScriptedServer([answer(200, SAVED), answer(200, SAVED)]) as server,
        Client(server.url, "sk_00") as client,
    ):
        client.remember_turn(TURN)
        client.remember_turn(TURN)

    assert len({received.headers["idempotency-key"] for received in server.requests}) == 2


def test_async_client_retries_like_the_sync_one() -> None:
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    async def save_turn(url: str) -> bool:
        async with AsyncClient(url, "sk_00", sleep=wait) as client:
            return (await client.remember_turn(TURN)).saved

    with ScriptedServer(
        [problem(429, "too_many_requests", Retry_After="2"), b"", answer(200, SAVED)]
    ) as server:
        assert asyncio.run(save_turn(server.url))

    assert len({received.headers["idempotency-key"] for received in server.requests}) == 1
    assert waits[0] >= 2


@pytest.mark.parametrize(
    "response",
    [
        answer(200, "<html>"),
        answer(200, {"hits": 1}),
        answer(200, []),
        answer(302, "", Location="http://127.0.0.1:1/"),
    ],
)
def test_foreign_response_raises_invalid_response_error(response: bytes) -> None:
    with (
        ScriptedServer([response]) as server,
        Client(server.url, "sk_00") as client,
        pytest.raises(InvalidResponseError),
    ):
        client.status_record()


def test_unknown_fields_of_a_newer_service_are_ignored() -> None:
    record = StatusRecord(
        do_this=[],
        service="s",
        version="6.0",
        status="ok",
        cubes_count=0,
        connections=0,
        graph_loaded=True,
        cache_enabled=True,
        interface_version="8.3",
        server_version="9",
    )
    with (
        ScriptedServer([answer(200, {**record.model_dump(), "something_new": 1})]) as server,
        Client(server.url) as client,
    ):
        assert client.status_record() == record


def test_error_in_a_successful_search_response_is_raised() -> None:
    """A failed search is an object with `error` (specification.md#error-search)."""
    results = answer(200, {"error": "unavailable", "detail": "the store is unavailable"})
    with (
        ScriptedServer([results]) as server,
        Client(server.url, "sk_00") as client,
        pytest.raises(UnavailableError, match="the store is unavailable"),
    ):
        client.search_memory(MemoryQuery(query_text="q", user_id="u"))
