"""Every endpoint has its method, typed with the models of the protocol, and it works against the real service."""

from __future__ import annotations

import asyncio
import inspect
import json
from datetime import UTC, datetime
from typing import Any, get_args, get_type_hints

import pytest

from remembrancer.client import AsyncClient, Client, asks
from remembrancer.client.asks import Ask
from remembrancer.client.errors import Conflict
from remembrancer.http.endpoint import AnyEndpoint
from remembrancer.http.routes import ROUTES
from remembrancer.protocol.chat import Chat
from remembrancer.protocol.cubes import CubeCreate, CubeVote
from remembrancer.protocol.feedback import Feedback, FeedbackQuery
from remembrancer.protocol.files import DownloadQuery, FileCreate
from remembrancer.protocol.memory import EventWrite, MemoryQuery, Turn
from remembrancer.protocol.prompts import PromptQuery, PromptWrite
from remembrancer.protocol.second_look import SecondLook
from remembrancer.protocol.summaries import (
    AgentMemoryQuery,
    MapQuery,
    MapRequest,
    StartQuery,
    Summary,
)

ENDPOINTS = [endpoint for endpoint in ROUTES if endpoint.operation_id != "execute_code_v7"]  # the same as execute_code, under another path
BY_NAME = {endpoint.operation_id: endpoint for endpoint in ENDPOINTS}


def _example(model: Any) -> Any:
    [said] = model.model_config["json_schema_extra"]["examples"]
    return model.model_validate_json(json.dumps(said))


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.operation_id)
def test_every_endpoint_has_a_method(endpoint: AnyEndpoint) -> None:
    """The clients cover every endpoint."""
    ask = getattr(asks, endpoint.operation_id)
    hints = get_type_hints(ask)
    answer, taken = hints.pop("return"), {one for hint in hints.values() for one in (hint, *get_args(hint))}

    assert callable(getattr(Client, endpoint.operation_id))
    assert inspect.iscoroutinefunction(getattr(AsyncClient, endpoint.operation_id))
    assert endpoint.answer is None or get_args(answer) == (endpoint.answer,)
    assert {model for model in (endpoint.body, endpoint.query) if model} <= taken


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.operation_id)
def test_it_asks_what_the_endpoint_takes(endpoint: AnyEndpoint) -> None:
    ask: Ask[Any] = getattr(asks, endpoint.operation_id)(*_arguments(endpoint))

    assert (ask.method, ask.path) == (endpoint.method, endpoint.path.replace("{event_id}", "evt%2F1").replace("{filename}", "a%20b.txt"))
    assert ("Idempotency-Key" in ask.headers) == endpoint.takes_idempotency_key
    assert ask.is_safe_twice == (endpoint.method == "GET" or endpoint.takes_idempotency_key or endpoint.operation_id in {"look_again", "explain_search"})


def _arguments(endpoint: AnyEndpoint) -> list[Any]:
    if "{" in endpoint.path:
        return ["evt/1" if "event" in endpoint.path else "a b.txt"]
    if endpoint.body:
        return [_example(endpoint.body)]
    return [PromptQuery(user_id="ada")] if endpoint.query is PromptQuery else []


def test_no_method_is_left_over() -> None:
    own = {"send", "close", "from_environment", "other"}

    assert {name for name in vars(Client) if not name.startswith("_")} - own == set(BY_NAME)
    assert {name for name in vars(AsyncClient) if not name.startswith("_")} - own == set(BY_NAME)


def test_a_method_says_what_it_takes_and_gives() -> None:
    signature = inspect.signature(asks.remember_turn)

    assert Client.remember_turn.__doc__ == "Keep a turn, and what was learned from it."
    assert list(signature.parameters) == ["turn", "idempotency_key"]


def test_memory_through_the_client(client: Client) -> None:
    told = client.remember_turn(Turn(query="When does the ferry leave?", response="At 9:40.", occurred_at=datetime(2026, 3, 1, tzinfo=UTC)))
    also = client.save_event(EventWrite(query="Where is the key?", response="Under the pot.", user_id="owner"))

    assert told.event_id
    assert client.search_memory(MemoryQuery(query_text="ferry", user_id="owner")).hits[0].event_id == told.event_id
    assert client.get_event(also.event_id).response == "Under the pot."
    agent = client.get_agent_memory(AgentMemoryQuery(query="ferry", top_k=1))
    assert agent.hits is not None
    assert [hit.event_id for hit in agent.hits] == [told.event_id]


def test_summaries_through_the_client(client: Client) -> None:
    client.remember_turn(Turn(query="q", response="The ferry leaves at 9:40 from Piombino.", session_id="trip"))
    saved = client.save_summary(Summary(user_id="owner", session_id="trip", summary_text="The ferry leaves at 9:40 from Piombino."))
    made = client.make_map(MapRequest(user_id="owner"))

    assert saved.saved
    assert client.get_map(MapQuery(version=made.version)).map_text == made.map_text
    assert "Piombino" in client.get_start_pack(StartQuery(session_id="trip", format="json")).prompt_text


def test_prompts_feedback_and_cubes_through_the_client(client: Client) -> None:
    client.put_prompt(PromptWrite(user_id="ada", prompt="Answer in Italian."))
    client.submit_feedback(Feedback(type="bug", title="t", description="d"))
    cube = client.create_cube(_example(CubeCreate))

    assert client.get_prompt(PromptQuery(user_id="ada")).user_part == "Answer in Italian."
    assert [item.title for item in client.list_feedback(FeedbackQuery(limit=5)).feedback] == ["t"]
    assert client.vote_on_cube(CubeVote(cube_id=cube.cube_id, user_id="ada", vote=1)).voted


def test_files_through_the_client(url: str, client: Client) -> None:
    made = client.make_file(FileCreate(filename="Fähre & Zug", content="abc", type="txt"))
    signed = dict(pair.split("=") for pair in made.download_url.partition("?")[2].split("&"))

    with Client(url) as nobody:
        assert nobody.download(made.filename, DownloadQuery(exp=int(signed["exp"]), sig=signed["sig"])) == b"abc"
    assert client.download(made.filename) == b"abc"


def test_a_second_look_through_the_client(client: Client) -> None:
    told = client.remember_turn(Turn(query="When does the ferry leave?", response="I do not know."))

    looked = client.look_again(SecondLook(draft="I do not know."))

    assert (looked.status, looked.event_id) == ("pass", told.event_id)


def test_the_chat_through_the_client(client: Client) -> None:
    client.remember_turn(Turn(query="When does the ferry leave?", response="At 9:40 from Piombino."))

    told = client.chat_with_agent(Chat(user_id="owner", message="When does the ferry leave?"))

    assert (told.answer_mode, "9:40" in told.reply) == ("extractive", True)


def test_what_needs_no_key(url: str) -> None:
    with Client(url) as nobody:
        assert nobody.alive()
        assert nobody.ready().ready
        assert nobody.status_record().interface_version == "8.3"
        assert nobody.home().service == nobody.status_record().service
        assert nobody.openapi_document()["openapi"].startswith("3.1")
        assert "<html" in nobody.docs_page()
        assert "{" in nobody.style_sheet()
        assert "remembrancer" in nobody.prometheus_metrics()


def test_what_has_no_method_yet_can_be_asked_all_the_same(client: Client) -> None:
    assert client.other("GET", "/api/v7/status")["version"] == "6.0"
    assert client.other("POST", "/api/v7/memory", {"query_text": "ferry", "user_id": "owner"})["hits"] == []


def test_the_same_for_asyncio(url: str, key: str) -> None:
    async def talk() -> tuple[str | None, list[str]]:
        async with AsyncClient(url, key) as client:
            told = await client.remember_turn(Turn(query="When does the ferry leave?", response="At 9:40."))
            found = await client.search_memory(MemoryQuery(query_text="ferry", user_id="owner"))
            return told.event_id, [hit.event_id for hit in found.hits]

    event_id, hits = asyncio.run(talk())

    assert hits == [event_id]


def test_a_write_with_a_key_of_the_callers_own_is_done_once(client: Client) -> None:
    first = client.create_cube(_example(CubeCreate), idempotency_key="mine")

    assert client.create_cube(_example(CubeCreate), idempotency_key="mine") == first
    with pytest.raises(Conflict):
        client.create_cube(_example(CubeCreate).model_copy(update={"topic": "pots"}), idempotency_key="mine")
