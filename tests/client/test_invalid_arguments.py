"""Invalid arguments raise an error that says what to pass, before anything is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from remembrancer.client import AsyncClient, Client
from remembrancer.client.turns import turns_of

USER = {"role": "user", "content": "And back?"}
ANSWER = {"role": "assistant", "content": "17:15."}


class _NothingIsSent(httpx2.BaseTransport):
    """A network that fails the test that uses it."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        raise AssertionError(f"{request.method} {request.url}")


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda c: c.get(None), TypeError, "An id is a text, `e_…` of a turn"),
        (lambda c: c.get(""), ValueError, "'' is no id."),
        (lambda c: c.get("a/b"), ValueError, "'a/b' is no id."),
        (lambda c: c.delete(None), TypeError, "An id is a text"),
        (lambda c: c.history(None), TypeError, "An id is a text"),
        (lambda c: c.update(None, "x"), TypeError, "An id is a text"),
        (lambda c: c.update("f_0", None), TypeError, "wording must be a text, not NoneType"),
        (lambda c: c.get_event(None), TypeError, "must be a text, not NoneType"),
        (lambda c: c.get_event(""), ValueError, "must not be empty"),
        (
            lambda c: c.add_fact("Likes tea", colour="red"),
            TypeError,
            "add_fact() takes no colour. It takes expires_at,",
        ),
        (lambda c: c.search_memory(None), TypeError, "search_memory(MemoryQuery("),
        (lambda c: c.list_facts(query="all"), TypeError, "list_facts(FactsQuery(…))"),
        (lambda c: c.search(""), ValueError, "query: String should have at least 1 character"),
        (lambda c: c.search("x", teams="Nope"), TypeError, "such as [\"Garden\"], not 'Nope'."),
        (lambda c: c.search("x", teams=""), TypeError, '`teams` must be "all", or a list'),
        (lambda c: c.search("x", teams=[""]), ValueError, "without an empty one"),
        (
            lambda c: c.add("a\0b"),
            ValueError,
            "The query of turn 1 has a NUL character (U+0000) as character 2",
        ),
        (
            lambda c: c.add(
                [USER, ANSWER, USER, ANSWER, {"role": "assistant", "content": "b\ud800"}]
            ),
            ValueError,
            "The response of turn 2 has a lone surrogate (U+D800) as character 9",
        ),
        (lambda c: c.add("x", session_id=""), ValueError, "session_id: "),
        (
            lambda c: c.add("x", expires_at="2020-01-01"),
            ValueError,
            "expires_at: 2020-01-01T00:00:00+00:00 has passed. Name a time in the future.",
        ),
    ],
)
def test_invalid_arguments_are_explained_before_anything_is_sent(
    call: Callable[[Any], object], kind: type[Exception], message: str
) -> None:
    with (
        Client("http://127.0.0.1:9", transport=_NothingIsSent()) as client,
        pytest.raises(kind) as caught,
    ):
        call(client)

    assert message in str(caught.value)


def test_the_async_client_explains_invalid_arguments_too() -> None:
    async def run(call: Callable[[AsyncClient], Any]) -> str:
        async with AsyncClient("http://127.0.0.1:9") as memory:
            with pytest.raises(TypeError) as caught:
                await call(memory)
            return str(caught.value)

    no_id: Any = None
    no_message: Any = "x"
    assert "An id is a text" in asyncio.run(run(lambda client: client.get(no_id)))
    assert "Feedback(" in asyncio.run(run(lambda client: client.submit_feedback(no_message)))


def test_two_adjacent_surrogates_are_the_character_that_they_encode() -> None:
    [turn] = turns_of("a \ud83c\udf33 tree")

    assert turn.query == "a 🌳 tree"
