"""Adapters: the real SDKs against a model on a port of this machine, and what comes back when it is no model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
import scripted_model
from anthropic import Anthropic, AsyncAnthropic
from client.wire import answer, saying
from openai import AsyncOpenAI, OpenAI
from pydantic_ai import Agent, TextOutput
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from remembrancer.client import Client, adapters
from remembrancer.client.adapters import NoDraft
from remembrancer.client.runtime import AsyncRuntime, Message, Runtime

ASKED: list[Message] = [
    {"role": "system", "content": "You plan journeys."},
    {"role": "user", "content": "Hello."},
    {"role": "assistant", "content": "Good day."},
    {"role": "user", "content": "[event e_7] user: it leaves Piombino at 9:40\n\nThe user says:\nWhen does it leave?"},
]
SAID = "It leaves at 9:40 (ref: e_7).\nCUBE_NOTHING: nothing new"


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    """The address of a scripted model."""
    with scripted_model.serving() as url:
        yield url


@pytest.mark.parametrize("adapter", [adapters.openai_chat, adapters.openai_responses])
def test_openais_client_drafts(model_url: str, adapter: Callable[..., adapters.Draft]) -> None:
    with OpenAI(base_url=f"{model_url}/v1", api_key="none") as client:
        assert adapter(client, "scripted", temperature=0)(ASKED) == SAID


@pytest.mark.parametrize("adapter", [adapters.async_openai_chat, adapters.async_openai_responses])
def test_openais_asynchronous_client_drafts(model_url: str, adapter: Callable[..., adapters.AsyncDraft]) -> None:
    async def drafted() -> str:
        async with AsyncOpenAI(base_url=f"{model_url}/v1", api_key="none") as client:
            return await adapter(client, "scripted")(ASKED)

    assert asyncio.run(drafted()) == SAID


def test_anthropics_clients_draft(model_url: str) -> None:
    async def drafted() -> str:
        async with AsyncAnthropic(base_url=model_url, api_key="none") as client:
            return await adapters.async_anthropic_messages(client, "scripted")(ASKED)

    with Anthropic(base_url=model_url, api_key="none") as client:
        assert adapters.anthropic_messages(client, "scripted")(ASKED) == SAID
    assert asyncio.run(drafted()) == SAID


class Recorded:
    """Stands for an SDK's client: keeps what it was asked, and answers what it was given."""

    def __init__(self, given: Any) -> None:
        self.given, self.asked = given, dict[str, Any]()
        self.chat = SimpleNamespace(completions=self)
        self.responses = self.messages = self

    def create(self, **asked: Any) -> Any:
        self.asked = asked
        return self.given


def test_anthropic_and_responses_get_the_system_text_where_they_want_it() -> None:
    anthropic, responses = Recorded(SimpleNamespace(content="yes")), Recorded(SimpleNamespace(output_text="yes"))

    assert adapters.anthropic_messages(anthropic, "m", max_tokens=9)(ASKED) == "yes"
    assert adapters.openai_responses(responses, "m")(ASKED) == "yes"
    assert anthropic.asked == {"model": "m", "max_tokens": 9, "system": "You plan journeys.", "messages": ASKED[1:]}
    assert responses.asked == {"model": "m", "store": False, "instructions": "You plan journeys.", "input": ASKED[1:]}


def test_pydantic_ais_agent_keeps_its_own_instructions_and_is_shown_the_history() -> None:
    seen: list[tuple[list[ModelMessage], str | None]] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append((messages, info.instructions))
        return ModelResponse(parts=[TextPart("At 9:40.")])

    agent = Agent(FunctionModel(model), instructions="Be brief.")

    assert asyncio.run(_awaited(adapters.async_pydantic_ai_agent(agent))) == "At 9:40."
    with closing(asyncio.new_event_loop()) as loop:  # run_sync leaves the one that it makes itself open
        asyncio.set_event_loop(loop)
        assert adapters.pydantic_ai_agent(agent)(ASKED) == "At 9:40."
        asyncio.set_event_loop(None)
    for messages, instructions in seen:
        assert [part.content for message in messages for part in message.parts if hasattr(part, "content")] == [
            message["content"] for message in ASKED[1:]
        ]
        assert "Be brief." in str(instructions)
        assert "You plan journeys." in str(instructions)


async def _awaited(draft: adapters.AsyncDraft) -> str:
    return await draft(ASKED)


def test_an_agent_whose_output_is_no_text_is_told_apart() -> None:
    def length(text: str) -> int:
        return len(text)

    counting = Agent(FunctionModel(lambda *_: ModelResponse(parts=[TextPart("7")])), output_type=TextOutput(length))

    with pytest.raises(NoDraft, match="int"):
        asyncio.run(_awaited(adapters.async_pydantic_ai_agent(counting)))


class Graph:
    """Stands for a compiled graph of LangGraph: adds a message to its state."""

    def __init__(self, last: Any) -> None:
        self.last, self.given = last, list[Any]()

    def invoke(self, state: Any, **_: Any) -> Any:
        self.given.append(state)
        return {"messages": [*state["messages"], self.last]}

    async def ainvoke(self, state: Any, **options: Any) -> Any:
        return self.invoke(state, **options)


@pytest.mark.parametrize(
    "last",
    [
        {"role": "assistant", "content": "At 9:40."},
        ("assistant", "At 9:40."),
        SimpleNamespace(content="At 9:40."),
        SimpleNamespace(content=[{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "At "}, "9:40."]),
    ],
)
def test_a_graphs_last_message_is_the_draft(last: Any) -> None:
    graph = Graph(last)

    assert adapters.langgraph_graph(graph)(ASKED) == "At 9:40."
    assert asyncio.run(_awaited(adapters.async_langgraph_graph(graph))) == "At 9:40."
    assert graph.given[0] == {"messages": ASKED}


def test_a_node_answers_in_the_session_that_its_thread_is(client: Client) -> None:
    made: dict[str, Runtime] = {}

    def runtime_of(thread: str) -> Runtime:
        return made.setdefault(thread, Runtime(client, lambda _: "Noted.", user_id="owner", session_id=thread))

    node = adapters.langgraph_node(runtime_of)
    state = node({"messages": [SimpleNamespace(content="The ferry leaves at 9:40.")]}, {"configurable": {"thread_id": "trip"}})

    assert state == {"messages": [{"role": "assistant", "content": "Noted."}]}
    assert list(made) == ["trip"]
    assert made["trip"].counts.remembered == 1


def test_a_node_can_be_awaited(url: str, key: str) -> None:
    async def answered() -> dict[str, Any]:
        from remembrancer.client import AsyncClient

        async with AsyncClient(url, key) as memory:
            agent = AsyncRuntime(memory, lambda _: "Noted.", user_id="owner")
            return await adapters.async_langgraph_node(lambda _: agent)({"messages": [("user", "It leaves at 9:40.")]}, {})

    assert asyncio.run(answered()) == {"messages": [{"role": "assistant", "content": "Noted."}]}


def test_a_page_where_the_api_should_be_is_no_draft() -> None:
    """The SDK gives the page as a text and says nothing."""
    page = answer(200, "<html>Sign in</html>", Content_Type="text/html")
    with (
        saying([page]) as wire,
        OpenAI(base_url=wire.url, api_key="none", max_retries=0) as client,
        pytest.raises(NoDraft, match="no choices"),
    ):
        adapters.openai_chat(client, "m")(ASKED)


@pytest.mark.parametrize("wrong", [SimpleNamespace(choices=[]), SimpleNamespace(choices=None), "text"])
def test_a_completion_without_choices_is_no_draft(wrong: Any) -> None:
    with pytest.raises(NoDraft, match="no choices"):
        adapters.openai_chat(Recorded(wrong), "m")(ASKED)


def test_a_graph_without_messages_is_no_draft() -> None:
    graph = SimpleNamespace(invoke=lambda *_, **__: {"answer": "yes"}, ainvoke=None)
    with pytest.raises(NoDraft, match="messages"):
        adapters.langgraph_graph(graph)(ASKED)


def test_a_refusal_is_a_draft_and_a_call_of_a_tool_an_empty_one() -> None:
    refusing = SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=None, refusal="I will not."))])
    calling = SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=None))])

    assert adapters.openai_chat(Recorded(refusing), "m")(ASKED) == "I will not."
    assert adapters.openai_chat(Recorded(calling), "m")(ASKED) == ""


@pytest.mark.parametrize("adapter", [adapters.openai_chat, adapters.openai_responses, adapters.anthropic_messages])
def test_an_asynchronous_client_is_refused_by_an_adapter_that_waits(adapter: Callable[..., adapters.Draft]) -> None:
    class Asynchronous(Recorded):
        async def create(self, **_: Any) -> Any:
            raise AssertionError

    with pytest.raises(TypeError, match="async_"):
        adapter(Asynchronous(None), "m")(ASKED)
