"""When a call is made again, and when it is not: first without any wire, then over one."""

from __future__ import annotations

import asyncio

import pytest
from client.wire import answer, problem, saying
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.client import AsyncClient, Client, Retry, Unreachable, WrongAnswer
from remembrancer.client.asks import Ask
from remembrancer.client.attempts import Lost, attempts
from remembrancer.client.errors import Answered, Refused, TooManyRequests, Unavailable
from remembrancer.protocol.memory import MemoryQuery, Turn
from remembrancer.protocol.status import StatusRecord

TURN = Turn(query="q", response="r")
SAVED = {"saved": True, "event_id": "evt_1", "step": 0, "cube": "none", "l1_due": False, "l2_due": False, "receipts": []}


def ask(*, is_safe_twice: bool) -> Ask[str]:
    """Some request."""
    return Ask(method="POST", path="/", read=lambda answered: answered.body.decode(), is_safe_twice=is_safe_twice)


def tried(what: Ask[str], *came: Answered | Lost, retry: Retry | None = None) -> tuple[list[float], str]:
    """The waits before each attempt, and the answer."""
    steps = attempts(what, retry or Retry(), lambda: 0.5)
    waits = [next(steps)]
    for one in came:
        try:
            waits.append(steps.send(one))
        except StopIteration as done:
            return waits, done.value
    raise AssertionError("it wants another attempt")


GOOD = Answered(status=200, headers={}, body=b"good")
BUSY = Answered(status=503, headers={}, body=b"")


def test_the_waits_grow() -> None:
    waits, said = tried(ask(is_safe_twice=False), BUSY, BUSY, BUSY, GOOD)

    assert said == "good"
    assert waits == [0.0, 0.1875, 0.375, 0.75]


def test_it_waits_as_long_as_it_is_asked_to() -> None:
    waits, _ = tried(ask(is_safe_twice=False), Answered(status=429, headers={"retry-after": "7"}, body=b""), GOOD)

    assert 7.0 <= waits[1] < 8.0


def test_asked_to_wait_too_long_it_gives_up_and_says_how_long() -> None:
    with pytest.raises(TooManyRequests) as raised:
        tried(ask(is_safe_twice=True), Answered(status=429, headers={"retry-after": "3600"}, body=b""))

    assert raised.value.retry_after_s == 3600


def test_it_gives_up_after_so_many_attempts() -> None:
    with pytest.raises(Unavailable):
        tried(ask(is_safe_twice=True), BUSY, BUSY, retry=Retry(times=1))


@pytest.mark.parametrize("lost", [Lost("cut", was_sent=True), Lost("refused", was_sent=False)])
def test_a_lost_answer_is_asked_for_again_when_that_does_nothing_twice(lost: Lost) -> None:
    assert tried(ask(is_safe_twice=True), lost, GOOD)[1] == "good"


def test_what_may_have_been_done_is_not_sent_again() -> None:
    with pytest.raises(Unreachable, match="cut"):
        tried(ask(is_safe_twice=False), Lost("cut", was_sent=True))


def test_what_was_never_sent_is_sent_again() -> None:
    assert tried(ask(is_safe_twice=False), Lost("refused", was_sent=False), GOOD)[1] == "good"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 500])
def test_what_would_be_refused_again_is_not_sent_again(status: int) -> None:
    with pytest.raises(Refused):
        tried(ask(is_safe_twice=True), Answered(status=status, headers={}, body=b""))


@given(st.integers(1, 100), st.none() | st.floats(0, 60), st.floats(0, 1, exclude_max=True))
def test_no_wait_is_shorter_than_asked_or_longer_than_need_be(attempt: int, asked_s: float | None, spread: float) -> None:
    wait_s = Retry(times=100).wait_s(attempt, asked_s, spread)

    assert wait_s is not None
    assert (asked_s or 0.0) <= wait_s <= (asked_s or 0.0) + Retry().wait_s_max


def test_a_write_is_sent_again_with_the_same_idempotency_key() -> None:
    """A retry keeps its idempotency key (specification.md#idempotency-replay)."""
    waits: list[float] = []
    with (
        saying([problem(503, "unavailable", Retry_After="1"), b"", answer(200, SAVED)]) as wire,
        Client(wire.url, "sk_00", sleep=waits.append) as client,
    ):
        client.remember_turn(TURN)
    keys = [seen.headers["idempotency-key"] for seen in wire.seen]

    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert waits[0] >= 1
    assert len({seen.body for seen in wire.seen}) == 1


def test_two_writes_have_two_idempotency_keys() -> None:
    with saying([answer(200, SAVED), answer(200, SAVED)]) as wire, Client(wire.url, "sk_00") as client:
        client.remember_turn(TURN)
        client.remember_turn(TURN)

    assert len({seen.headers["idempotency-key"] for seen in wire.seen}) == 2


def test_a_search_that_counts_is_not_sent_again_when_its_answer_is_lost() -> None:
    with saying([b""]) as wire, Client(wire.url, "sk_00", sleep=_no_wait) as client, pytest.raises(Unreachable):
        client.search_memory(MemoryQuery(query_text="q", user_id="u"))


def test_a_search_that_only_reads_is(url: str) -> None:
    found = answer(200, {"hits": [], "shared_cubes": [], "step": 0, "total_hits": 0})
    with saying([b"", found]) as wire, Client(wire.url, "sk_00", sleep=lambda _s: None) as client:
        assert client.search_memory(MemoryQuery(query_text="q", user_id="u", interact=False)).hits == []


def _no_wait(_seconds: float) -> None:
    raise AssertionError("it waits for another attempt")


def test_the_async_client_does_the_same() -> None:
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    async def talk(url: str) -> bool:
        async with AsyncClient(url, "sk_00", sleep=wait) as client:
            return (await client.remember_turn(TURN)).saved

    with saying([problem(429, "too_many_requests", Retry_After="2"), b"", answer(200, SAVED)]) as wire:
        assert asyncio.run(talk(wire.url))

    assert len({seen.headers["idempotency-key"] for seen in wire.seen}) == 1
    assert waits[0] >= 2


@pytest.mark.parametrize(
    "come",
    [answer(200, "<html>"), answer(200, {"hits": 1}), answer(200, []), answer(302, "", Location="http://127.0.0.1:1/")],
)
def test_what_is_no_answer_of_the_service_is_told_as_that(come: bytes) -> None:
    with saying([come]) as wire, Client(wire.url, "sk_00") as client, pytest.raises(WrongAnswer):
        client.status_record()


def test_nobody_there_is_told_as_that() -> None:
    with saying([]) as wire:
        url = wire.url
    with Client(url, "sk_00", sleep=lambda _s: None) as client, pytest.raises(Unreachable, match=url):
        client.status_record()


def test_a_status_record_of_a_newer_service_is_read() -> None:
    record = StatusRecord(
        do_this=[], service="s", version="6.0", status="ok", cubes_count=0, connections=0, graph_loaded=True, cache_enabled=True,
        interface_version="8.3", server_version="9",
    )  # fmt: skip
    with saying([answer(200, {**record.model_dump(), "something_new": 1})]) as wire, Client(wire.url) as client:
        assert client.status_record() == record


def test_a_search_that_answers_with_an_error_is_an_error() -> None:
    """A failed search is an object with `error` (specification.md#error-search)."""
    found = answer(200, {"error": "unavailable", "detail": "the store is away"})
    with saying([found]) as wire, Client(wire.url, "sk_00") as client, pytest.raises(Unavailable, match="the store is away"):
        client.search_memory(MemoryQuery(query_text="q", user_id="u"))
