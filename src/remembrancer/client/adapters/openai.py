"""Drafts by the OpenAI SDK: chat completions and the Responses API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..runtime.session import ChatMessage
from .text import (
    AsyncDraftFunction,
    DraftFunction,
    NoDraftError,
    require_sync,
    split_system,
    text_attribute,
)


class CreateResource(Protocol):
    """A resource of an SDK client with a method `create`."""

    @property
    def create(self) -> Callable[..., Any]:
        """Create an answer; a coroutine function in asynchronous clients."""


class ChatResource(Protocol):
    """`client.chat` of the OpenAI SDK."""

    @property
    def completions(self) -> CreateResource:
        """Chat completions."""


class ChatClient(Protocol):
    """`OpenAI`, `AsyncOpenAI` or another client with chat completions."""

    @property
    def chat(self) -> ChatResource:
        """The chat resource."""


class ResponsesClient(Protocol):
    """`OpenAI` or `AsyncOpenAI`."""

    @property
    def responses(self) -> CreateResource:
        """The responses resource."""


def openai_chat(client: ChatClient, model: str, **options: Any) -> DraftFunction:
    """Draft with chat completions.

    `options` are added to each request: temperature, max_completion_tokens, ...
    """

    def draft(messages: list[ChatMessage]) -> str:
        create = client.chat.completions.create
        return _completion_text(require_sync(create(model=model, messages=messages, **options)))

    return draft


def async_openai_chat(client: ChatClient, model: str, **options: Any) -> AsyncDraftFunction:
    """Draft like `openai_chat`, with `AsyncOpenAI`."""

    async def draft(messages: list[ChatMessage]) -> str:
        create = client.chat.completions.create
        return _completion_text(await create(model=model, messages=messages, **options))

    return draft


def openai_responses(client: ResponsesClient, model: str, **options: Any) -> DraftFunction:
    """Draft with the Responses API. Answers are not stored there: the runtime has the history."""

    def draft(messages: list[ChatMessage]) -> str:
        answer = client.responses.create(**_responses_arguments(model, messages, options))
        return text_attribute(require_sync(answer), "output_text")

    return draft


def async_openai_responses(
    client: ResponsesClient, model: str, **options: Any
) -> AsyncDraftFunction:
    """Draft like `openai_responses`, with `AsyncOpenAI`."""

    async def draft(messages: list[ChatMessage]) -> str:
        answer = await client.responses.create(**_responses_arguments(model, messages, options))
        return text_attribute(answer, "output_text")

    return draft


def _completion_text(answer: Any) -> str:
    """Return the text of a chat completion; of a refusal, its reason.

    A completion without text, such as a tool call, is an empty draft: the runtime asks again.
    """
    choices = getattr(answer, "choices", None)
    if not choices:
        raise NoDraftError(
            f"the model's answer ({type(answer).__name__}) has no choices: check the base URL"
        )
    message = choices[0].message
    return message.content or getattr(message, "refusal", None) or ""


def _responses_arguments(
    model: str, messages: Sequence[ChatMessage], options: Mapping[str, Any]
) -> dict[str, Any]:
    system, others = split_system(messages)
    return {"store": False, **options, "model": model, "instructions": system, "input": others}
