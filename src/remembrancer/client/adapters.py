"""Drafts for the runtime by the models of others: each function takes your own client, agent or graph and gives a `draft(messages)`.

Nothing is imported here but what the object that you give has brought along. What a library raises is raised as it is;
NoDraft is for an answer without the text that belongs there. docs/guides/adapters.md shows each.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from .runtime import AsyncRuntime, Reply, Runtime
from .runtime_prompts import Message

Draft = Callable[[list[Message]], str]
AsyncDraft = Callable[[list[Message]], Awaitable[str]]
RunnableConfig = Mapping[str, Any]  # of this name, by which LangGraph knows that a node wants it
T = TypeVar("T")


class NoDraft(Exception):
    """The answer holds no text where a model's words belong."""


class Creates(Protocol):
    """A part of an SDK's client that makes an answer: `create(**request)`, or awaited."""

    @property
    def create(self) -> Callable[..., Any]:
        """Makes it."""


class Completions(Protocol):
    """`client.chat` of the OpenAI SDK."""

    @property
    def completions(self) -> Creates:
        """Chat completions."""


class ChatClient(Protocol):
    """`OpenAI` or `AsyncOpenAI`, or another client with chat completions."""

    @property
    def chat(self) -> Completions:
        """Its chats."""


class ResponsesClient(Protocol):
    """`OpenAI` or `AsyncOpenAI`."""

    @property
    def responses(self) -> Creates:
        """Its responses."""


class MessagesClient(Protocol):
    """`Anthropic` or `AsyncAnthropic`."""

    @property
    def messages(self) -> Creates:
        """Its messages."""


class Agent(Protocol):
    """An agent of pydantic-ai whose output is a text."""

    @property
    def run_sync(self) -> Callable[..., Any]:
        """Runs and waits."""

    @property
    def run(self) -> Callable[..., Awaitable[Any]]:
        """Runs, to be awaited."""


class Graph(Protocol):
    """A compiled graph of LangGraph whose state has `messages`."""

    @property
    def invoke(self) -> Callable[..., Any]:
        """Runs and waits."""

    @property
    def ainvoke(self) -> Callable[..., Awaitable[Any]]:
        """Runs, to be awaited."""


def openai_chat(client: ChatClient, model: str, **options: Any) -> Draft:
    """A draft by chat completions. `options` go into each request as they are: temperature, max_completion_tokens, ..."""
    return lambda messages: _chat_text(_here(client.chat.completions.create(model=model, messages=messages, **options)))


def async_openai_chat(client: ChatClient, model: str, **options: Any) -> AsyncDraft:
    """The same by `AsyncOpenAI`."""

    async def draft(messages: list[Message]) -> str:
        return _chat_text(await client.chat.completions.create(model=model, messages=messages, **options))

    return draft


def openai_responses(client: ResponsesClient, model: str, **options: Any) -> Draft:
    """A draft by the Responses API. It keeps nothing there: the runtime has the history."""
    return lambda messages: _text(_here(client.responses.create(**_responses(model, messages, options))), "output_text")


def async_openai_responses(client: ResponsesClient, model: str, **options: Any) -> AsyncDraft:
    """The same by `AsyncOpenAI`."""

    async def draft(messages: list[Message]) -> str:
        return _text(await client.responses.create(**_responses(model, messages, options)), "output_text")

    return draft


def anthropic_messages(client: MessagesClient, model: str, *, max_tokens: int = 4096, **options: Any) -> Draft:
    """A draft by Anthropic's messages. `max_tokens` bounds a reply, which that API asks for."""
    return lambda messages: _blocks(_here(client.messages.create(**_anthropic(model, max_tokens, messages, options))).content)


def async_anthropic_messages(client: MessagesClient, model: str, *, max_tokens: int = 4096, **options: Any) -> AsyncDraft:
    """The same by `AsyncAnthropic`."""

    async def draft(messages: list[Message]) -> str:
        return _blocks((await client.messages.create(**_anthropic(model, max_tokens, messages, options))).content)

    return draft


def pydantic_ai_agent(agent: Agent, **options: Any) -> Draft:
    """A draft by an agent of pydantic-ai, its tools and instructions included. `options` go to `run_sync`: deps, usage_limits, ..."""
    return lambda messages: _text(agent.run_sync(**_run(messages), **options), "output")


def async_pydantic_ai_agent(agent: Agent, **options: Any) -> AsyncDraft:
    """The same by `run`."""

    async def draft(messages: list[Message]) -> str:
        return _text(await agent.run(**_run(messages), **options), "output")

    return draft


def langgraph_graph(graph: Graph, **options: Any) -> Draft:
    """A draft by a whole graph, whose last message is taken. `options` go to `invoke`; it needs no checkpointer."""
    return lambda messages: _blocks(_last(graph.invoke({"messages": list(messages)}, **options)))


def async_langgraph_graph(graph: Graph, **options: Any) -> AsyncDraft:
    """The same by `ainvoke`."""

    async def draft(messages: list[Message]) -> str:
        return _blocks(_last(await graph.ainvoke({"messages": list(messages)}, **options)))

    return draft


def langgraph_node(runtime_of: Callable[[str], Runtime]) -> Callable[[Mapping[str, Any], RunnableConfig], dict[str, Any]]:
    """A node that answers the last message through a runtime. `runtime_of` gives that of a thread, the same one each time."""

    def node(state: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
        return _answered(runtime_of(_thread(config)).turn(_blocks(_last(state))))

    return node


def async_langgraph_node(
    runtime_of: Callable[[str], AsyncRuntime],
) -> Callable[[Mapping[str, Any], RunnableConfig], Awaitable[dict[str, Any]]]:
    """The same for asyncio."""

    async def node(state: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
        return _answered(await runtime_of(_thread(config)).turn(_blocks(_last(state))))

    return node


def _here(answer: T) -> T:
    """The answer, which must be there already. Raises TypeError for one that is to be awaited."""
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError("this client answers asynchronously: use the adapter whose name begins with async_, and AsyncRuntime")
    return answer


def _text(answer: Any, member: str) -> str:
    text = getattr(answer, member, None)
    if not isinstance(text, str):
        raise NoDraft(f"`{member}` of the model's answer, a {type(answer).__name__}, is no text but {type(text).__name__}")
    return text


def _chat_text(answer: Any) -> str:
    """A refusal is a text, too; no text at all, as beside a call of a tool, is an empty draft, which the runtime has mended."""
    choices = getattr(answer, "choices", None)
    if not choices:
        raise NoDraft(f"the model's answer, a {type(answer).__name__}, has no choices: is this the address of an API?")
    message = choices[0].message
    return message.content or getattr(message, "refusal", None) or ""


def _split(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    """The system text, and the rest."""
    system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    return system, [message for message in messages if message["role"] != "system"]


def _responses(model: str, messages: Sequence[Message], options: Mapping[str, Any]) -> dict[str, Any]:
    system, rest = _split(messages)
    return {"store": False, **options, "model": model, "instructions": system, "input": rest}


def _anthropic(model: str, max_tokens: int, messages: Sequence[Message], options: Mapping[str, Any]) -> dict[str, Any]:
    system, rest = _split(messages)
    return {**options, "model": model, "max_tokens": max_tokens, "system": system, "messages": rest}


def _run(messages: Sequence[Message]) -> dict[str, Any]:
    """What an agent of pydantic-ai is run with."""
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

    system, rest = _split(messages)
    before = [
        ModelRequest(parts=[UserPromptPart(content=message["content"])])
        if message["role"] == "user"
        else ModelResponse(parts=[TextPart(content=message["content"])])
        for message in rest[:-1]
    ]
    return {"user_prompt": rest[-1]["content"], "message_history": before, "instructions": system}


def _last(state: Any) -> Any:
    """What the last message of a graph's state says."""
    messages = state.get("messages") if isinstance(state, Mapping) else None
    if not messages:
        raise NoDraft("the graph's state has no `messages`")
    last = messages[-1]
    return last["content"] if isinstance(last, Mapping) else last[1] if isinstance(last, tuple) else last.content


def _blocks(content: Any) -> str:
    """The text of a message's content: a text, or blocks of which some are texts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        raise NoDraft(f"there is no text in a message's content, a {type(content).__name__}")
    found = (
        block.get("text") if isinstance(block, Mapping) else block if isinstance(block, str) else getattr(block, "text", None)
        for block in content
    )
    return "".join(text for text in found if isinstance(text, str))


def _thread(config: RunnableConfig) -> str:
    return str(config.get("configurable", {}).get("thread_id", "default"))


def _answered(reply: Reply) -> dict[str, Any]:
    return {"messages": [{"role": "assistant", "content": reply.text}]}
