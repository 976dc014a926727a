"""Requests of the client agree with the endpoints and work against the real service."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from pydantic import BaseModel

from remembrancer.client import AsyncClient, Client
from remembrancer.client.api import Verbs
from remembrancer.client.api_request import request_of
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
    bare = [name for name in METHODS if name not in vars(Verbs)]  # others say more

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
