"""Requests of the client agree with endpoints and docs; wrong arguments are explained."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel

from remembrancer.client import AsyncClient, Client, ServiceError, adapters
from remembrancer.client.api_request import request_of
from remembrancer.client.runtime import RuntimeOptions, TurnReply
from remembrancer.client.turns import turns_of
from remembrancer.protocol.agent import PromptQuery
from remembrancer.protocol.files import DownloadQuery, FileCreate
from remembrancer.protocol.operation import Operation
from remembrancer.protocol.operations import Operations
from remembrancer.protocol.search import MemoryQuery

METHODS = {name: one for name, one in vars(Operations).items() if isinstance(one, Operation)}


def _example(model: Any) -> Any:
    [example] = model.model_config["json_schema_extra"]["examples"]
    return model.model_validate_json(json.dumps(example))


@pytest.mark.parametrize("name", METHODS)
def test_request_is_what_the_operation_declares(name: str) -> None:
    operation = METHODS[name]
    model = operation.body or operation.query
    message = _example(model) if model and model.model_config.get("json_schema_extra") else None
    if operation.query is PromptQuery:
        message = PromptQuery(user_id="ada")

    request = request_of(operation, message, item_id="evt/1")

    assert (request.method, request.path) == (
        operation.method,
        re.sub(r"\{\w+\}", "evt%2F1", operation.path),
    )
    assert ("Idempotency-Key" in request.headers) == operation.takes_idempotency_key
    assert (request.body is not None) == (operation.body is not None)


def test_a_request_that_must_not_run_twice_is_not_retried() -> None:
    once = {name for name, one in METHODS.items() if not one.is_retry_safe}
    step = request_of(Operations.search_memory, MemoryQuery(query_text="a", user_id="b"))
    read = request_of(
        Operations.search_memory, MemoryQuery(query_text="a", user_id="b", interact=False)
    )

    class OtherQuery(BaseModel):
        """A query of the other package, which has classes of its own."""

        query_text: str = "a"
        user_id: str = "b"
        interact: bool = True

    other: Any = OtherQuery()

    assert not request_of(Operations.search_memory, other).is_retry_safe
    assert once == {"check_permission", "draft_summary", "invite_member"}
    assert (step.is_retry_safe, read.is_retry_safe) == (False, True)


def test_each_operation_is_a_documented_method_of_both_clients(url: str, key: str) -> None:
    bare = [name for name in METHODS if name not in vars(Client)]  # others say more

    async def methods_of_async_client() -> list[str]:
        async with AsyncClient(url, key) as client:
            return [getattr(client, name).__doc__ for name in bare]

    with Client(url, key) as client:
        documented = [getattr(client, name).__doc__ for name in bare]

    assert documented == [METHODS[name].summary for name in bare]
    assert asyncio.run(methods_of_async_client()) == documented


def test_files_are_created_and_downloaded(url: str, client: Client) -> None:
    created = client.make_file(FileCreate(filename="Fähre & Zug", content="abc", type="txt"))
    signed = dict(pair.split("=") for pair in created.download_url.partition("?")[2].split("&"))

    with Client(url) as anonymous:
        assert (
            anonymous.download(
                created.filename, DownloadQuery(exp=int(signed["exp"]), sig=signed["sig"])
            )
            == b"abc"
        )
    assert client.download(created.filename) == b"abc"


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "client.md"


def test_every_error_is_documented() -> None:
    page = PAGE.read_text("utf-8")

    rows = [
        f"| `{kind.__name__}` | `{kind.code}`: {kind.__doc__} |"
        for kind in ServiceError.__subclasses__()
    ]
    assert [row for row in rows if row not in page] == []


def test_every_option_and_every_field_of_a_reply_is_documented() -> None:
    page = PAGE.read_text("utf-8").partition("## The runtime")[2]
    names = [
        *(field.name for field in fields(RuntimeOptions)),
        *(field.name for field in fields(TurnReply)),
        "text",
    ]

    assert [name for name in names if f"`{name}`" not in page] == []


def test_every_adapter_is_documented_and_has_an_async_variant() -> None:
    page = PAGE.read_text("utf-8").partition("## Drafts")[2]
    functions = {
        name for name in adapters.__all__ if inspect.isfunction(getattr(adapters, name))
    } - {"extractive_answer"}  # not a draft function
    sync = {name for name in functions if not name.startswith("async_")}

    assert [name for name in sorted(sync) if f"`{name}`" not in page] == []
    assert functions - sync == {f"async_{name}" for name in sync}


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
        (lambda c: c.add(7), TypeError, "a text, a pair"),
        (lambda c: c.add(("a", "b", "c")), TypeError, "a text, a pair"),
        (lambda c: c.add(["a", "b"]), TypeError, "a list of messages"),
        (
            lambda c: c.add([{"role": "judge", "content": "x"}]),
            ValueError,
            "Message 0 has the role",
        ),
        (lambda c: c.add([{"role": "user", "content": 5}]), TypeError, "content of message 0"),
        (lambda c: c.add([{"role": "system", "content": "x"}]), ValueError, "nothing is stored"),
        (lambda c: c.add(" "), ValueError, "nothing is stored"),
        (lambda c: c.add("x", source="robot"), ValueError, "a source is one of user, model"),
        (lambda c: c.add("x", colour="red"), TypeError, "add() takes no colour. It takes expires_"),
        (lambda c: c.search("x", interact=True), TypeError, "call search_memory"),
        (lambda c: c.search("x", limit=3), TypeError, "search() takes no limit. It takes after, "),
        (
            lambda c: c.search("x", user_id="ada", filters={"user_id": "mia"}),
            ValueError,
            "filters: they name another user_id",
        ),
        (
            lambda c: c.search("x", filters={"project": {"like": "g"}}),
            ValueError,
            "filters: a condition needs one of",
        ),
        (lambda c: c.delete_all(), TypeError, "either user_id"),
        (lambda c: c.delete_all(user_id="mia", team="Garden"), TypeError, "either user_id"),
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
