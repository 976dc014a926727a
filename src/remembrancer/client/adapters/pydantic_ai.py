"""Drafts by an agent of pydantic-ai."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from ..runtime.session import ChatMessage, Draft
from .text import AsyncDraftFunction, DraftFunction, split_system, text_attribute


class PydanticAgent(Protocol):
    """An agent of pydantic-ai whose output is a string."""

    @property
    def run_sync(self) -> Callable[..., Any]:
        """Run the agent and return its result."""

    @property
    def run(self) -> Callable[..., Awaitable[Any]]:
        """Run the agent asynchronously."""


def pydantic_ai_agent(agent: PydanticAgent, **options: Any) -> DraftFunction:
    """Draft with an agent of pydantic-ai, including its tools and instructions.

    `options` are passed to `run_sync`: deps, usage_limits, ...
    """
    return lambda messages: _draft(agent.run_sync(**_run_arguments(messages), **options))


def async_pydantic_ai_agent(agent: PydanticAgent, **options: Any) -> AsyncDraftFunction:
    """Draft like `pydantic_ai_agent`, with the method `run`."""

    async def draft(messages: list[ChatMessage]) -> str | Draft:
        return _draft(await agent.run(**_run_arguments(messages), **options))

    return draft


def _draft(result: Any) -> str | Draft:
    """Return the output of a run, with the results of its tools if it used any."""
    messages = result.new_messages() if hasattr(result, "new_messages") else ()
    results = tuple(
        str(getattr(part, "content", ""))
        for message in messages
        for part in message.parts
        if getattr(part, "part_kind", "") == "tool-return"
    )
    output = text_attribute(result, "output")
    return Draft(output, results) if results else output


def _run_arguments(messages: Sequence[ChatMessage]) -> dict[str, Any]:
    # Imported here because the client works without the package.
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

    system, others = split_system(messages)
    history = [
        ModelRequest(parts=[UserPromptPart(content=message["content"])])
        if message["role"] == "user"
        else ModelResponse(parts=[TextPart(content=message["content"])])
        for message in others[:-1]
    ]
    return {
        "user_prompt": others[-1]["content"],
        "message_history": history,
        "instructions": system,
    }
