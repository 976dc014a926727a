"""Requests of the client agree with the endpoints and work against the real service."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime
from typing import Any, get_type_hints

import pytest
from pydantic import BaseModel
from service import new_key

from remembrancer.client import AsyncClient, Client
from remembrancer.client.api_request import request_of
from remembrancer.client.errors import ConflictError
from remembrancer.context import Context
from remembrancer.protocol.agent import Chat, PromptQuery, PromptWrite, SecondLook
from remembrancer.protocol.cubes import CubeCreate, CubeVote
from remembrancer.protocol.feedback import Feedback, FeedbackQuery
from remembrancer.protocol.files import DownloadQuery, FileCreate
from remembrancer.protocol.memory import EventWrite, Turn
from remembrancer.protocol.operation import Operation
from remembrancer.protocol.operations import Operations
from remembrancer.protocol.search import MemoryAnswer, MemoryQuery, WorkContext
from remembrancer.protocol.summaries import (
    AgentMemoryQuery,
    MapQuery,
    MapRequest,
    StartQuery,
    Summary,
)

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
    async def methods_of_async_client() -> list[str]:
        async with AsyncClient(url, key) as client:
            return [getattr(client, name).__doc__ for name in METHODS]

    with Client(url, key) as client:
        documented = [getattr(client, name).__doc__ for name in METHODS]

    assert documented == [operation.summary for operation in METHODS.values()]
    assert asyncio.run(methods_of_async_client()) == documented


def test_methods_show_their_messages() -> None:
    with Client("http://127.0.0.1:9") as client:
        shown = get_type_hints(client.search_memory)

    assert (shown["body"], shown["return"]) == (MemoryQuery, MemoryAnswer)


def test_turns_and_events_are_saved_and_found(client: Client, account: str) -> None:
    turn = client.remember_turn(
        Turn(
            query="When does the ferry leave?",
            response="At 9:40.",
            occurred_at=datetime(2026, 3, 1, tzinfo=UTC),
        )
    )
    event = client.save_event(
        EventWrite(query="Where is the key?", response="Under the pot.", user_id=account)
    )

    assert turn.event_id
    assert (
        client.search_memory(MemoryQuery(query_text="ferry", user_id=account)).hits[0].event_id
        == turn.event_id
    )
    assert client.get_event(event.event_id).response == "Under the pot."
    agent = client.get_agent_memory(AgentMemoryQuery(query="ferry", top_k=1))
    assert agent.hits is not None
    assert [hit.event_id for hit in agent.hits] == [turn.event_id]


def test_summaries_and_maps_are_saved_and_read(client: Client, account: str) -> None:
    client.remember_turn(
        Turn(query="q", response="The ferry leaves at 9:40 from Piombino.", session_id="trip")
    )
    saved = client.save_summary(
        Summary(
            user_id=account,
            session_id="trip",
            summary_text="The ferry leaves at 9:40 from Piombino.",
        )
    )
    created = client.make_map(MapRequest(user_id=account))

    assert saved.saved
    assert client.get_map(MapQuery(version=created.version)).map_text == created.map_text
    assert (
        "Piombino"
        in client.get_start_pack(StartQuery(session_id="trip", format="json")).prompt_text
    )


def test_prompts_feedback_and_cubes_are_saved_and_read(
    client: Client, context: Context, url: str
) -> None:
    client.put_prompt(PromptWrite(user_id="ada", prompt="Answer in Italian."))
    client.submit_feedback(Feedback(type="bug", title="t", description="d"))
    cube = client.create_cube(_example(CubeCreate))

    assert client.get_prompt(PromptQuery(user_id="ada")).user_part == "Answer in Italian."
    with Client(url, new_key(context)) as owner:
        assert [one.title for one in owner.list_feedback(FeedbackQuery(limit=5)).feedback] == ["t"]
    assert client.vote_on_cube(CubeVote(cube_id=cube.cube_id, user_id="ada", vote=1)).voted


def test_search_takes_work_and_effects_are_read(client: Client) -> None:
    """A search for an error returns its lesson."""
    lesson = CubeCreate(
        topic="json keys",
        essence="json.dumps raises TypeError: keys must be str, int, float, bool or None.",
        rules_markdown="- MUST convert tuple keys to text before json.dumps.",
        evidence="docs",
    )
    cube_id = client.create_cube(lesson).cube_id
    error = "TypeError: keys must be str, int, float, bool or None, not tuple"
    query = MemoryQuery(query_text="it fails", user_id="ada", work=WorkContext(error=error))
    [served] = client.search_memory(query).shared_cubes

    assert served.cube_id == cube_id


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


def test_second_look_checks_a_saved_draft(client: Client) -> None:
    turn = client.remember_turn(Turn(query="When does the ferry leave?", response="I do not know."))

    result = client.look_again(SecondLook(draft="I do not know."))

    assert (result.status, result.event_id) == ("pass", turn.event_id)


def test_chat_answers_from_memory(client: Client, account: str) -> None:
    client.remember_turn(
        Turn(query="When does the ferry leave?", response="At 9:40 from Piombino.")
    )

    turn = client.chat_with_agent(Chat(user_id=account, message="When does the ferry leave?"))

    assert (turn.answer_mode, "9:40" in turn.reply) == ("extractive", True)


def test_public_endpoints_need_no_key(url: str) -> None:
    with Client(url) as anonymous:
        assert anonymous.ready().ready
        assert anonymous.status_record().interface_version == "8.3"


def test_other_sends_any_request(client: Client, account: str) -> None:
    assert client.other("GET", "/api/v7/status")["version"] == "6.0"
    assert (
        client.other("POST", "/api/v7/memory", {"query_text": "ferry", "user_id": account})["hits"]
        == []
    )


def test_async_client_saves_and_searches(url: str, key: str, account: str) -> None:
    async def run() -> tuple[str | None, list[str]]:
        async with AsyncClient(url, key) as client:
            turn = await client.remember_turn(
                Turn(query="When does the ferry leave?", response="At 9:40.")
            )
            results = await client.search_memory(MemoryQuery(query_text="ferry", user_id=account))
            return turn.event_id, [hit.event_id for hit in results.hits]

    event_id, hits = asyncio.run(run())

    assert hits == [event_id]


def test_idempotency_key_of_the_caller_is_used(client: Client) -> None:
    first = client.create_cube(_example(CubeCreate), idempotency_key="mine")

    assert client.create_cube(_example(CubeCreate), idempotency_key="mine") == first
    with pytest.raises(ConflictError):
        client.create_cube(
            _example(CubeCreate).model_copy(update={"topic": "pots"}), idempotency_key="mine"
        )
