"""Requests of the client agree with the endpoints and work against the real service."""

from __future__ import annotations

import asyncio
import inspect
import json
from datetime import UTC, datetime
from typing import Any, get_args, get_type_hints

import pytest

from remembrancer.client import AsyncClient, Client, api, requests
from remembrancer.client.api_request import ApiRequest
from remembrancer.client.errors import ConflictError
from remembrancer.client.plans import Pages, Verb
from remembrancer.http.endpoint import AnyEndpoint
from remembrancer.http.routes import ROUTES
from remembrancer.protocol.chat import Chat
from remembrancer.protocol.cubes import CubeCreate, CubeVote
from remembrancer.protocol.experience import EffectQuery
from remembrancer.protocol.feedback import Feedback, FeedbackQuery
from remembrancer.protocol.files import DownloadQuery, FileCreate
from remembrancer.protocol.memory import EventWrite, Turn
from remembrancer.protocol.prompts import PromptQuery, PromptWrite
from remembrancer.protocol.search import MemoryQuery, WorkContext
from remembrancer.protocol.second_look import SecondLook
from remembrancer.protocol.summaries import (
    AgentMemoryQuery,
    MapQuery,
    MapRequest,
    StartQuery,
    Summary,
)
from remembrancer.protocol.teams import InvitationRemoval

ALIASES = {"execute_code_v7"}  # operations that repeat another one under a second path
ENDPOINTS = [endpoint for endpoint in ROUTES if endpoint.operation_id not in ALIASES]
BY_NAME = {endpoint.operation_id: endpoint for endpoint in ENDPOINTS}


def _example(model: Any) -> Any:
    [example] = model.model_config["json_schema_extra"]["examples"]
    return model.model_validate_json(json.dumps(example))


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.operation_id)
def test_every_endpoint_has_a_method(endpoint: AnyEndpoint) -> None:
    """The clients cover every endpoint."""
    request = getattr(requests, endpoint.operation_id)
    hints = get_type_hints(request)
    answer = hints.pop("return")
    parameter_models = {model for hint in hints.values() for model in (hint, *get_args(hint))}

    assert callable(getattr(Client, endpoint.operation_id))
    assert inspect.iscoroutinefunction(getattr(AsyncClient, endpoint.operation_id))
    assert endpoint.answer is None or get_args(answer) == (endpoint.answer,)
    assert {model for model in (endpoint.body, endpoint.query) if model} <= parameter_models


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.operation_id)
def test_request_matches_the_endpoint(endpoint: AnyEndpoint) -> None:
    request: ApiRequest[Any] = getattr(requests, endpoint.operation_id)(*_arguments(endpoint))

    path = endpoint.path.replace("{event_id}", "evt%2F1").replace("{filename}", "a%20b.txt")
    path = (
        path.replace("{fact_id}", "a%20b.txt")
        .replace("{model}", "a%20b.txt")
        .replace("{page}", "a%20b.txt")
        .replace("{team_id}", "a%20b.txt")
    )
    assert (request.method, request.path) == (endpoint.method, path)
    assert ("Idempotency-Key" in request.headers) == endpoint.takes_idempotency_key
    assert request.is_retry_safe == (
        endpoint.method == "GET"
        or endpoint.takes_idempotency_key
        or endpoint.operation_id in {"look_again", "explain_search", "embed"}
    )


def _arguments(endpoint: AnyEndpoint) -> list[Any]:
    if "{" in endpoint.path:
        named = ["evt/1" if "event" in endpoint.path else "a b.txt"]
        model = endpoint.body or (
            InvitationRemoval if endpoint.query is InvitationRemoval else None
        )
        return [*named, _example(model)] if model else named
    if endpoint.body:
        return [_example(endpoint.body)]
    return [PromptQuery(user_id="ada")] if endpoint.query is PromptQuery else []


def test_every_method_has_an_endpoint() -> None:
    verbs = {name for name, one in vars(api._Verbs).items() if isinstance(one, Verb | Pages)}
    own = {"send", "close", "from_environment", "other", *verbs}

    assert {name for name in dir(Client) if not name.startswith("_")} - own == set(BY_NAME)
    assert {name for name in dir(AsyncClient) if not name.startswith("_")} - own == set(BY_NAME)


def test_method_has_signature_and_documentation() -> None:
    signature = inspect.signature(requests.remember_turn)

    assert Client.remember_turn.__doc__ == "Save a turn and what was learned from it."
    assert list(signature.parameters) == ["turn", "idempotency_key"]


def test_turns_and_events_are_saved_and_found(client: Client) -> None:
    turn = client.remember_turn(
        Turn(
            query="When does the ferry leave?",
            response="At 9:40.",
            occurred_at=datetime(2026, 3, 1, tzinfo=UTC),
        )
    )
    event = client.save_event(
        EventWrite(query="Where is the key?", response="Under the pot.", user_id="owner")
    )

    assert turn.event_id
    assert (
        client.search_memory(MemoryQuery(query_text="ferry", user_id="owner")).hits[0].event_id
        == turn.event_id
    )
    assert client.get_event(event.event_id).response == "Under the pot."
    agent = client.get_agent_memory(AgentMemoryQuery(query="ferry", top_k=1))
    assert agent.hits is not None
    assert [hit.event_id for hit in agent.hits] == [turn.event_id]


def test_summaries_and_maps_are_saved_and_read(client: Client) -> None:
    client.remember_turn(
        Turn(query="q", response="The ferry leaves at 9:40 from Piombino.", session_id="trip")
    )
    saved = client.save_summary(
        Summary(
            user_id="owner",
            session_id="trip",
            summary_text="The ferry leaves at 9:40 from Piombino.",
        )
    )
    created = client.make_map(MapRequest(user_id="owner"))

    assert saved.saved
    assert client.get_map(MapQuery(version=created.version)).map_text == created.map_text
    assert (
        "Piombino"
        in client.get_start_pack(StartQuery(session_id="trip", format="json")).prompt_text
    )


def test_prompts_feedback_and_cubes_are_saved_and_read(client: Client) -> None:
    client.put_prompt(PromptWrite(user_id="ada", prompt="Answer in Italian."))
    client.submit_feedback(Feedback(type="bug", title="t", description="d"))
    cube = client.create_cube(_example(CubeCreate))

    assert client.get_prompt(PromptQuery(user_id="ada")).user_part == "Answer in Italian."
    assert [item.title for item in client.list_feedback(FeedbackQuery(limit=5)).feedback] == ["t"]
    assert client.vote_on_cube(CubeVote(cube_id=cube.cube_id, user_id="ada", vote=1)).voted


def test_search_takes_work_and_effects_are_read(client: Client) -> None:
    """A search for an error returns its lesson, and the effect counts it."""
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

    [effect] = client.cube_effects(EffectQuery(cube_id=cube_id)).cubes

    assert (served.cube_id, effect.cube_id, effect.exposures) == (cube_id, cube_id, 1)


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


def test_chat_answers_from_memory(client: Client) -> None:
    client.remember_turn(
        Turn(query="When does the ferry leave?", response="At 9:40 from Piombino.")
    )

    turn = client.chat_with_agent(Chat(user_id="owner", message="When does the ferry leave?"))

    assert (turn.answer_mode, "9:40" in turn.reply) == ("extractive", True)


def test_public_endpoints_need_no_key(url: str) -> None:
    with Client(url) as anonymous:
        assert anonymous.alive()
        assert anonymous.ready().ready
        assert anonymous.status_record().interface_version == "8.3"
        assert anonymous.home().service == anonymous.status_record().service
        assert anonymous.openapi_document()["openapi"].startswith("3.1")
        assert "<html" in anonymous.docs_page()
        assert "Require exact words" in anonymous.docs_article("guides/search")
        assert "{" in anonymous.style_sheet()
        assert "remembrancer" in anonymous.prometheus_metrics()


def test_other_sends_any_request(client: Client) -> None:
    assert client.other("GET", "/api/v7/status")["version"] == "6.0"
    assert (
        client.other("POST", "/api/v7/memory", {"query_text": "ferry", "user_id": "owner"})["hits"]
        == []
    )


def test_async_client_saves_and_searches(url: str, key: str) -> None:
    async def run() -> tuple[str | None, list[str]]:
        async with AsyncClient(url, key) as client:
            turn = await client.remember_turn(
                Turn(query="When does the ferry leave?", response="At 9:40.")
            )
            results = await client.search_memory(MemoryQuery(query_text="ferry", user_id="owner"))
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
