"""One error a word; the key in none of them."""

from __future__ import annotations

import logging
import traceback
from datetime import UTC, datetime

import pytest
from client.wire import answer, problem, saying

from remembrancer.client import AsyncClient, Client, ClientError, Refused, Retry
from remembrancer.client.errors import (
    Answered,
    InvalidRequest,
    NotFound,
    Unauthorized,
    Unavailable,
    refusal,
)
from remembrancer.protocol.errors import PROBLEMS, Problem
from remembrancer.protocol.memory import MemoryQuery

KEY = "sk_" + "ab" * 32


def test_every_word_of_the_service_has_its_own_error() -> None:
    """Each word of `error` has one exception class (specification.md#error-statuses)."""
    assert {kind.word for kind in Refused.__subclasses__()} == {kind.error for kind in PROBLEMS}
    assert issubclass(Refused, ClientError)


@pytest.mark.parametrize("kind", PROBLEMS, ids=lambda kind: kind.error)
def test_each_error_is_told_apart(kind: type[Problem]) -> None:
    with (
        saying([problem(kind.status, kind.error)]) as wire,
        Client(wire.url, KEY, retry=Retry(times=0)) as client,
        pytest.raises(Refused) as raised,
    ):
        client.status_record()

    assert (raised.value.word, raised.value.status, raised.value.detail) == (kind.error, kind.status, "said so")


def test_an_error_tells_all_that_the_service_told(client: Client) -> None:
    with pytest.raises(NotFound) as raised:
        client.get_event("evt_0000000000000")

    assert raised.value.status == 404
    assert raised.value.error == "not_found"
    assert raised.value.detail
    assert raised.value.instance in str(raised.value)


def test_an_invalid_request_says_where(client: Client) -> None:
    with pytest.raises(InvalidRequest) as raised:
        client.other("POST", "/api/v7/memory", {"query_text": 5, "user_id": "a"})

    assert [fault.pointer for fault in raised.value.errors] == ["/query_text"]
    assert "/query_text" in str(raised.value)


def test_an_error_of_a_proxy_is_told_by_its_status_and_its_first_words() -> None:
    """Status and beginning of the body say it all (specification.md#error-early)."""
    error = refusal(Answered(status=503, headers={}, body=b"<html>  no \xff backend" + b"x" * 10_000))

    assert isinstance(error, Unavailable)
    assert "<html> no" in str(error)
    assert len(str(error)) < 300
    assert type(refusal(Answered(status=418, headers={}, body=b"[]"))) is Refused


def test_a_word_of_a_newer_service_is_an_error_too() -> None:
    error = refusal(Answered(status=451, headers={}, body=b'{"error": "sealed_away", "detail": "d", "errors": 5}'))

    assert (type(error), error.error) == (Refused, "sealed_away")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("Sat, 21 Nov 2026 12:00:30 GMT", 30.0), ("Sat, 21 Nov 2026 11:00:00 GMT", 0.0), ("soon", None), ("", None), ("-1", None)],
)
def test_a_time_to_wait_is_a_number_or_a_date(header: str, seconds: float | None) -> None:
    noon = datetime(2026, 11, 21, 12, tzinfo=UTC)

    assert refusal(Answered(status=429, headers={"retry-after": header}, body=b""), noon).retry_after_s == seconds


def test_the_key_is_shown_nowhere(url: str, caplog: pytest.LogCaptureFixture) -> None:
    """The key is in no repr, error or log."""
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    with saying([answer(400, f"you sent Bearer {KEY}")]) as wire:
        for address in (url, wire.url, "http://127.0.0.1:1"):
            with Client(address, KEY, sleep=lambda _s: None) as client:
                told += [repr(client), str(client), repr(vars(client))]
                try:
                    client.search_memory(MemoryQuery(query_text="q", user_id="u"))
                except ClientError as error:
                    told += ["".join(traceback.format_exception(error)), repr(error), repr(vars(error))]
                    assert error.__cause__ is error.__context__ is None

    assert len(told) == 18
    assert KEY not in "".join(told) + caplog.text


def test_an_unknown_key_is_refused(url: str) -> None:
    with Client(url, KEY) as client, pytest.raises(Unauthorized):
        client.get_map()


@pytest.mark.parametrize("url", ["", "ftp://x", "http://", "http://a:b@x", "http://x?y", "http://x#y", "x:y", "http://[::"])
def test_an_address_that_can_be_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        Client(url)


@pytest.mark.parametrize("key", ["", "sk_ 1", "sk_1\n", "sk_é"])
def test_a_key_that_can_be_none_is_refused_unshown(key: str) -> None:
    with pytest.raises(ValueError, match="key") as raised:
        Client("http://x", key)

    assert not key or key not in str(raised.value)


def test_address_and_key_come_from_an_environment_that_is_given(url: str, key: str) -> None:
    given = {"REMEMBRANCER_URL": f"{url}/", "REMEMBRANCER_KEY": key}

    with Client.from_environment(given) as client:
        assert client.get_start_pack().prompt_text
    assert repr(AsyncClient.from_environment(given)) == f"AsyncClient('{url}')"
    with pytest.raises(ValueError, match="REMEMBRANCER_KEY must be set"):
        Client.from_environment({"REMEMBRANCER_URL": url})


def test_no_proxy_of_the_environment_gets_to_see_the_key(url: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/decisions/0008: the client reads no proxy from the environment."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")

    with Client(url, key, retry=Retry(times=0)) as client:
        assert client.get_start_pack().prompt_text
