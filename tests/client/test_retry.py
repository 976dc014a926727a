"""Retries: first without a network, then over HTTP."""

from __future__ import annotations

import asyncio

import pytest
from client.scripted_server import ScriptedServer, answer, problem

from remembrancer.client import AsyncClient, Client, InvalidResponseError, Retry, UnreachableError
from remembrancer.client.api_request import ApiRequest, NoResponse, run_attempts
from remembrancer.client.errors import (
    HttpResponse,
    TooManyRequestsError,
    UnavailableError,
)
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryQuery

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


def test_retry_after_is_respected_and_raised_at_once_if_excessive() -> None:
    def limited(seconds: str) -> HttpResponse:
        return HttpResponse(status=429, headers={"retry-after": seconds}, body=b"")

    waits, _ = run(new_request(is_retry_safe=False), limited("7"), GOOD)
    with pytest.raises(TooManyRequestsError) as raised:
        run(new_request(is_retry_safe=True), limited("3600"))

    assert 7.0 <= waits[1] < 8.0
    assert raised.value.retry_after_s == 3600


def test_lost_response_is_retried_if_safe_and_an_unsent_request_always() -> None:
    lost, unsent = NoResponse("cut", was_sent=True), NoResponse("refused", was_sent=False)

    for is_retry_safe, no_response in ((True, lost), (True, unsent), (False, unsent)):
        assert run(new_request(is_retry_safe=is_retry_safe), no_response, GOOD)[1] == "good"
    with pytest.raises(UnreachableError, match="cut"):
        run(new_request(is_retry_safe=False), lost)


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


def test_error_in_a_successful_search_response_is_raised() -> None:
    """A failed search is an object with `error` (specification.md#error-search)."""
    results = answer(200, {"error": "unavailable", "detail": "the store is unavailable"})
    with (
        ScriptedServer([results]) as server,
        Client(server.url, "sk_00") as client,
        pytest.raises(UnavailableError, match="the store is unavailable"),
    ):
        client.search_memory(MemoryQuery(query_text="q", user_id="u"))
