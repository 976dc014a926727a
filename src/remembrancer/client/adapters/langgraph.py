"""LangGraph: drafts by a graph, and a graph node that answers through the runtime."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias

from ..runtime.drivers import AsyncRuntime, Runtime
from ..runtime.session import ChatMessage, Draft, TurnReply
from .text import AsyncDraftFunction, DraftFunction, NoDraftError, content_text

# LangGraph passes its configuration to a node if the annotation has exactly this name.
RunnableConfig: TypeAlias = Mapping[str, Any]
Node: TypeAlias = Callable[[Mapping[str, Any], RunnableConfig], dict[str, Any]]
AsyncNode: TypeAlias = Callable[[Mapping[str, Any], RunnableConfig], Awaitable[dict[str, Any]]]


class CompiledGraph(Protocol):
    """A compiled LangGraph graph whose state has `messages`."""

    @property
    def invoke(self) -> Callable[..., Any]:
        """Run the graph and return its state."""

    @property
    def ainvoke(self) -> Callable[..., Awaitable[Any]]:
        """Run the graph asynchronously."""


def langgraph_graph(graph: CompiledGraph, **options: Any) -> DraftFunction:
    """Draft with a graph: the draft is its last message.

    `options` are passed to `invoke`. The graph needs no checkpointer.
    """
    return lambda messages: _draft(
        graph.invoke({"messages": list(messages)}, **options), len(messages)
    )


def async_langgraph_graph(graph: CompiledGraph, **options: Any) -> AsyncDraftFunction:
    """Draft like `langgraph_graph`, with the method `ainvoke`."""

    async def draft(messages: list[ChatMessage]) -> str | Draft:
        state = await graph.ainvoke({"messages": list(messages)}, **options)
        return _draft(state, len(messages))

    return draft


def langgraph_node(runtime_of: Callable[[str], Runtime]) -> Node:
    """Return a node that answers the last message through a runtime.

    `runtime_of` returns the runtime of a thread id; it must return the same one each time.
    """

    def node(state: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
        runtime = runtime_of(_thread_id(config))
        return _state_update(runtime.turn(content_text(_last_content(state))))

    return node


def async_langgraph_node(runtime_of: Callable[[str], AsyncRuntime]) -> AsyncNode:
    """Return a node like `langgraph_node`, for asyncio."""

    async def node(state: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
        runtime = runtime_of(_thread_id(config))
        return _state_update(await runtime.turn(content_text(_last_content(state))))

    return node


def _draft(state: Any, prompt_length: int) -> str | Draft:
    """Return the last message of a graph's state, with the results of tools if it used any.

    Messages after the first `prompt_length` ones are new. Raises NoDraftError.
    """
    answer = content_text(_last_content(state))
    results = tuple(
        content_text(message.content)
        for message in state["messages"][prompt_length:-1]
        if getattr(message, "type", "") == "tool"
    )
    return Draft(answer, results) if results else answer


def _last_content(state: Any) -> Any:
    """Return the content of the last message of a graph's state. Raises NoDraftError."""
    messages = state.get("messages") if isinstance(state, Mapping) else None
    if not messages:
        raise NoDraftError("the graph's state has no `messages`")
    last = messages[-1]
    if isinstance(last, Mapping):
        return last["content"]
    return last[1] if isinstance(last, tuple) else last.content


def _thread_id(config: RunnableConfig) -> str:
    return str(config.get("configurable", {}).get("thread_id", "default"))


def _state_update(reply: TurnReply) -> dict[str, Any]:
    return {"messages": [{"role": "assistant", "content": reply.text}]}
