"""Errors, one class for each error code, without the key; and retries."""

from __future__ import annotations

import asyncio
import logging
import traceback
from datetime import UTC, datetime

import pytest
from client.scripted_server import ScriptedServer, answer, problem

from remembrancer.client import (
    AsyncClient,
    Client,
    ClientError,
    InvalidResponseError,
    Retry,
    ServiceError,
    UnreachableError,
)
from remembrancer.client.api_request import ApiRequest, NoResponse, run_attempts
from remembrancer.client.errors import (
    HttpResponse,
    InvalidRequestError,
    NotFoundError,
    TooManyRequestsError,
    UnauthorizedError,
    UnavailableError,
    error_from_response,
)
from remembrancer.protocol.errors import PROBLEMS
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryQuery

KEY = "sk_" + "ab" * 32


def test_every_error_code_has_its_own_class() -> None:
    """Each word of `error` has one exception class (specification.md#error-statuses)."""
    assert {kind.code for kind in ServiceError.__subclasses__()} == {
        kind.error for kind in PROBLEMS
    }
    assert issubclass(ServiceError, ClientError)


def test_error_contains_all_fields_of_the_problem(client: Client) -> None:
    """An invalid request names its field."""
    with pytest.raises(NotFoundError) as unknown:
        client.get_event("evt_0000000000000")
    with pytest.raises(InvalidRequestError) as invalid:
        client.other("POST", "/api/v7/memory", {"query_text": 5, "user_id": "a"})

    assert (unknown.value.status, unknown.value.error) == (404, "not_found")
    assert unknown.value.detail
    assert unknown.value.instance in str(unknown.value)
    assert [fault.pointer for fault in invalid.value.errors] == ["/query_text"]
    assert str(invalid.value).count("query_text: ") == 1


def test_proxy_error_is_classified_by_status_and_quoted() -> None:
    """Errors of proxies have no problem document (specification.md#error-early)."""

    def read(status: int, body: bytes) -> ServiceError:
        return error_from_response(HttpResponse(status=status, headers={}, body=body))

    page = read(503, b"<html>  no \xff backend" + b"x" * 10_000)
    unknown = read(451, b'{"error": "sealed_away", "detail": "d", "errors": 5}')

    assert isinstance(page, UnavailableError)
    assert "<html> no" in str(page)
    assert len(str(page)) < 300
    assert type(read(418, b"[]")) is ServiceError
    assert (type(unknown), unknown.error) == (ServiceError, "sealed_away")


def test_retry_after_is_a_number_or_a_date() -> None:
    noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    headers = {
        "7": 7.0,
        "Sat, 21 Nov 2026 12:00:30 GMT": 30.0,
        "Sat, 21 Nov 2026 11:00:00 GMT": 0.0,
        "soon": None,
        "": None,
        "-1": None,
    }

    for header, seconds in headers.items():
        response = HttpResponse(status=429, headers={"retry-after": header}, body=b"")
        assert error_from_response(response, noon).retry_after_s == seconds


def test_key_appears_in_no_repr_error_or_log(url: str, caplog: pytest.LogCaptureFixture) -> None:
    """The key is in no repr, error or log."""
    caplog.set_level(logging.DEBUG)
    texts: list[str] = []
    with ScriptedServer([answer(400, f"you sent Bearer {KEY}")]) as server:
        for address in (url, server.url, "http://127.0.0.1:1"):
            with Client(address, KEY, sleep=lambda _s: None) as client:
                texts += [repr(client), str(client), repr(vars(client))]
                try:
                    client.search_memory(MemoryQuery(query_text="q", user_id="u"))
                except ClientError as error:
                    texts += [
                        "".join(traceback.format_exception(error)),
                        repr(error),
                        repr(vars(error)),
                    ]
                    assert error.__cause__ is error.__context__ is None

    assert len(texts) == 18
    assert KEY not in "".join(texts) + caplog.text


def test_invalid_address_and_key_are_rejected_without_quoting_the_key() -> None:
    for url in (
        "",
        "ftp://x",
        "http://",
        "http://a:b@x",
        "http://x?y",
        "http://x#y",
        "x:y",
        "http://[::",
    ):
        with pytest.raises(ValueError, match="base_url"):
            Client(url)
    for key in ("", "sk_ 1", "sk_1\n", "sk_é"):
        with pytest.raises(ValueError, match="key") as raised:
            Client("http://x", key)
        assert not key or key not in str(raised.value)


def test_client_reads_address_and_key_from_the_environment(url: str, key: str) -> None:
    environment = {"REMEMBRANCER_URL": f"{url}/", "REMEMBRANCER_KEY": key}

    with Client.from_environment(environment) as client:
        assert client.get_start_pack().prompt_text
    assert repr(AsyncClient.from_environment(environment)) == f"AsyncClient('{url}')"
    with pytest.raises(ValueError, match="REMEMBRANCER_KEY must be set"):
        Client.from_environment({"REMEMBRANCER_URL": url})


def test_errors_under_v1_have_the_classes_of_the_other_paths(url: str, client: Client) -> None:
    """OpenAI's shape is read as well (specification.md#completions-errors)."""
    with pytest.raises(NotFoundError) as unknown:
        client.show_model("org/none")
    with Client(url, KEY) as stranger, pytest.raises(UnauthorizedError) as refused:
        stranger.list_models()

    assert "GET /v1/models" in unknown.value.detail
    assert (refused.value.error, refused.value.status) == ("unauthorized", 401)


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
