"""Adapters: the real SDKs against a scripted model, and errors when the server is not a model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
import scripted_model
from anthropic import Anthropic, AsyncAnthropic
from client.runtime.scripted_turn import HIT
from client.scripted_server import ScriptedServer, answer
from openai import AsyncOpenAI, OpenAI
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from remembrancer.client import Client, adapters
from remembrancer.client.adapters import NoDraftError
from remembrancer.client.adapters.endpoint import ModelEndpoint, ModelEndpointError
from remembrancer.client.adapters.extractive import HEADER, extractive_answer
from remembrancer.client.runtime import ChatMessage, Draft, Runtime
from remembrancer.protocol.search import Hit

MESSAGES: list[ChatMessage] = [
    {"role": "system", "content": "You plan journeys."},
    {"role": "user", "content": "Hello."},
    {"role": "assistant", "content": "Good day."},
    {
        "role": "user",
        "content": "[event e_7] user: it leaves Piombino at 9:40\n\n"
        "The user says:\nWhen does it leave?",
    },
]
REPLY = "It leaves at 9:40 (ref: e_7).\nCUBE_NOTHING: nothing new"


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    """Address of a scripted model."""
    with scripted_model.serving() as url:
        yield url


def test_adapters_of_openai_and_anthropic_return_the_reply(model_url: str) -> None:
    async def drafts() -> list[str | Draft]:
        async with (
            AsyncOpenAI(base_url=f"{model_url}/v1", api_key="none") as openai,
            AsyncAnthropic(base_url=model_url, api_key="none") as anthropic,
        ):
            return [
                await adapters.async_openai_chat(openai, "scripted")(MESSAGES),
                await adapters.async_openai_responses(openai, "scripted")(MESSAGES),
                await adapters.async_anthropic_messages(anthropic, "scripted")(MESSAGES),
            ]

    with (
        OpenAI(base_url=f"{model_url}/v1", api_key="none") as openai,
        Anthropic(base_url=model_url, api_key="none") as anthropic,
    ):
        assert adapters.openai_chat(openai, "scripted", temperature=0)(MESSAGES) == REPLY
        assert adapters.openai_responses(openai, "scripted", temperature=0)(MESSAGES) == REPLY
        assert adapters.anthropic_messages(anthropic, "scripted")(MESSAGES) == REPLY
    assert asyncio.run(drafts()) == [REPLY] * 3


class RecordingClient:
    """Stand-in for an SDK client: records its arguments and returns a fixed answer."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.arguments = answer, dict[str, Any]()
        self.chat = SimpleNamespace(completions=self)
        self.responses = self.messages = self

    def create(self, **arguments: Any) -> Any:
        self.arguments = arguments
        return self.answer


def test_pydantic_ai_agent_gets_history_and_both_instructions() -> None:
    calls: list[tuple[list[ModelMessage], str | None]] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        calls.append((messages, info.instructions))
        return ModelResponse(parts=[TextPart("At 9:40.")])

    agent = Agent(FunctionModel(model), instructions="Be brief.")

    assert asyncio.run(_awaited(adapters.async_pydantic_ai_agent(agent))) == "At 9:40."
    with closing(
        asyncio.new_event_loop()
    ) as loop:  # run_sync does not close a loop that it creates
        asyncio.set_event_loop(loop)
        assert adapters.pydantic_ai_agent(agent)(MESSAGES) == "At 9:40."
        asyncio.set_event_loop(None)
    for messages, instructions in calls:
        assert [
            part.content
            for message in messages
            for part in message.parts
            if hasattr(part, "content")
        ] == [message["content"] for message in MESSAGES[1:]]
        assert "Be brief." in str(instructions)
        assert "You plan journeys." in str(instructions)


async def _awaited(draft: adapters.AsyncDraftFunction) -> str | Draft:
    return await draft(MESSAGES)


class Graph:
    """Stand-in for a compiled LangGraph graph: appends results and a message to its state."""

    def __init__(self, last: Any) -> None:
        self.last, self.answer, self.results = last, list[Any](), list[Any]()

    def invoke(self, state: Any, **_: Any) -> Any:
        self.answer.append(state)
        return {"messages": [*state["messages"], *self.results, self.last]}

    async def ainvoke(self, state: Any, **options: Any) -> Any:
        return self.invoke(state, **options)


def test_last_message_of_a_graph_is_the_draft() -> None:
    """Values of tool results need no ref (specification.md#look-when)."""
    thought = {"type": "reasoning", "reasoning": "hm"}
    parts = [thought, {"type": "text", "text": "At "}, "9:40."]
    for last in (
        {"role": "assistant", "content": "At 9:40."},
        ("assistant", "At 9:40."),
        SimpleNamespace(content="At 9:40."),
        SimpleNamespace(content=parts),
    ):
        graph = Graph(last)
        assert adapters.langgraph_graph(graph)(MESSAGES) == "At 9:40."
        assert asyncio.run(_awaited(adapters.async_langgraph_graph(graph))) == "At 9:40."
        assert graph.answer[0] == {"messages": MESSAGES}
        graph.results = [SimpleNamespace(type="tool", content="ferry 9:40")]
        assert adapters.langgraph_graph(graph)(MESSAGES) == Draft("At 9:40.", ("ferry 9:40",))


def test_node_uses_the_session_of_its_thread(client: Client) -> None:
    runtimes: dict[str, Runtime] = {}

    def runtime_of(thread: str) -> Runtime:
        return runtimes.setdefault(
            thread, Runtime(client, lambda _: "Noted.", user_id="owner", session_id=thread)
        )

    node = adapters.langgraph_node(runtime_of)
    state = node(
        {"messages": [SimpleNamespace(content="The ferry leaves at 9:40.")]},
        {"configurable": {"thread_id": "trip"}},
    )

    assert state == {"messages": [{"role": "assistant", "content": "Noted."}]}
    assert list(runtimes) == ["trip"]
    assert runtimes["trip"].counts.turns_saved == 1


def test_answer_without_a_draft_raises_no_draft_error() -> None:
    """The SDK returns an HTML page as text and raises nothing."""
    page = answer(200, "<html>Sign in</html>", Content_Type="text/html")
    with (
        ScriptedServer([page]) as server,
        OpenAI(base_url=server.url, api_key="none", max_retries=0) as client,
        pytest.raises(NoDraftError, match="no choices"),
    ):
        adapters.openai_chat(client, "m")(MESSAGES)
    for wrong in (SimpleNamespace(choices=[]), SimpleNamespace(choices=None), "text"):
        with pytest.raises(NoDraftError, match="no choices"):
            adapters.openai_chat(RecordingClient(wrong), "m")(MESSAGES)
    graph = SimpleNamespace(invoke=lambda *_, **__: {"answer": "yes"}, ainvoke=None)
    with pytest.raises(NoDraftError, match="messages"):
        adapters.langgraph_graph(graph)(MESSAGES)


def test_sync_adapter_rejects_an_async_client() -> None:
    class Asynchronous(RecordingClient):
        async def create(self, **_: Any) -> Any:
            raise AssertionError

    for adapter in (adapters.openai_chat, adapters.openai_responses, adapters.anthropic_messages):
        with pytest.raises(TypeError, match="async_"):
            adapter(Asynchronous(None), "m")(MESSAGES)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (b"", "gave no answer"),
        (answer(500, "abc123 broke"), "answered 500: (the key) broke"),
        (answer(307, "", Location="http://127.0.0.1:9/"), "answered 307"),
        (answer(200, "<html>Sign in</html>"), "no chat completion: <html>Sign in</html>"),
        (answer(200, {"choices": []}), "no chat completion"),
        (answer(200, {"choices": [{"message": {"content": None}}]}), "reply is empty"),
        (answer(200, {"choices": [{"message": {"content": " "}}]}), "reply is empty"),
        (answer(200, "x" * (8 << 20) + "x"), "more than"),
    ],
)
def test_invalid_reply_is_reported_on_one_line_without_the_key(
    response: bytes, expected: str
) -> None:
    with ScriptedServer([response]) as server, pytest.raises(ModelEndpointError) as raised:
        ModelEndpoint(server.url, "small", "abc123")(MESSAGES)

    assert expected in str(raised.value)
    assert "abc123" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_invalid_address_and_key_are_rejected_without_quoting_the_key() -> None:
    for address in (
        "127.0.0.1:8460",
        "http://",
        "http://ada:pw@host/v1",
        "http://host/v1?key=1",
        "http://host:port/",
        "ftp://x/",
    ):
        with pytest.raises(ValueError, match="address"):
            ModelEndpoint(address, "small")
    for key in ("", "two words", "sch\u00f6n", "a\nb"):
        with pytest.raises(ValueError, match="key") as raised:
            ModelEndpoint("http://127.0.0.1:9", "small", key)
        assert not key or key not in str(raised.value)
    endpoint = ModelEndpoint("http://127.0.0.1:9/v1", "small", "abc123")
    assert repr(endpoint) == "ModelEndpoint('http://127.0.0.1:9/v1/chat/completions', 'small')"


def hit(query: str, response: str, event_id: str = "e_1") -> Hit:
    """Return a hit."""
    return HIT.model_copy(update={"query": query, "response": response, "event_id": event_id})


def test_nearest_sentence_is_quoted_with_the_next() -> None:
    event = hit(
        "Hello.", "The sea is calm. The ferry leaves at 9.40. It costs 12 euros. Is that all?"
    )

    assert extractive_answer("When does the ferry leave?", [event]) == (
        f"{HEADER}\n\n- \u201cThe ferry leaves at 9.40.\u201d (ref: e_1) "
        "\u201cIt costs 12 euros.\u201d (ref: e_1)"
    )


def test_at_most_three_distinct_events_are_quoted() -> None:
    same = [hit("q?", "It leaves at 9:40.", f"e_{n}") for n in range(3)]
    others = [hit("q?", f"It leaves from pier {n}.", f"e_{n}") for n in range(3, 9)]

    lines = extractive_answer("When?", [*same, *others]).splitlines()[2:]

    assert [line.rpartition(": ")[2] for line in lines] == ["e_0)", "e_3)", "e_4)"]
