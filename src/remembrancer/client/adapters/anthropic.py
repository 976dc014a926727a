"""Drafts by the Anthropic SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..runtime.session import ChatMessage
from .openai import CreateResource
from .text import AsyncDraftFunction, DraftFunction, content_text, require_sync, split_system


class MessagesClient(Protocol):
    """`Anthropic` or `AsyncAnthropic`."""

    @property
    def messages(self) -> CreateResource:
        """The messages resource."""


def anthropic_messages(
    client: MessagesClient, model: str, *, max_tokens: int = 4096, **options: Any
) -> DraftFunction:
    """Draft with the Messages API, which requires `max_tokens`, the limit of a reply."""

    def draft(messages: list[ChatMessage]) -> str:
        arguments = _arguments(model, max_tokens, messages, options)
        return content_text(require_sync(client.messages.create(**arguments)).content)

    return draft


def async_anthropic_messages(
    client: MessagesClient, model: str, *, max_tokens: int = 4096, **options: Any
) -> AsyncDraftFunction:
    """Draft like `anthropic_messages`, with `AsyncAnthropic`."""

    async def draft(messages: list[ChatMessage]) -> str:
        arguments = _arguments(model, max_tokens, messages, options)
        return content_text((await client.messages.create(**arguments)).content)

    return draft


def _arguments(
    model: str, max_tokens: int, messages: Sequence[ChatMessage], options: Mapping[str, Any]
) -> dict[str, Any]:
    system, others = split_system(messages)
    return {
        **options,
        "model": model,
        "max_tokens": max_tokens,
        "system": system,
        "messages": others,
    }
