"""Text of a model's answer, whatever object it comes in."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from ..runtime.session import ChatMessage, Draft
from ..turns import message_text

DraftFunction: TypeAlias = Callable[[list[ChatMessage]], str | Draft]
AsyncDraftFunction: TypeAlias = Callable[[list[ChatMessage]], Awaitable[str | Draft]]
T = TypeVar("T")


class NoDraftError(Exception):
    """The model's answer contains no text."""


def require_sync(answer: T) -> T:
    """Return the answer. Raises TypeError if it is awaitable."""
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError(
            "this client is asynchronous: use the adapter with the prefix async_, and AsyncRuntime"
        )
    return answer


def split_system(messages: Sequence[ChatMessage]) -> tuple[str, list[ChatMessage]]:
    """Return the system text and the other messages."""
    system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    return system, [message for message in messages if message["role"] != "system"]


def text_attribute(answer: Any, name: str) -> str:
    """Return an attribute that must be a string. Raises NoDraftError."""
    text = getattr(answer, name, None)
    if not isinstance(text, str):
        raise NoDraftError(
            f"`{name}` of the model's answer ({type(answer).__name__}) must be a string, not "
            f"{type(text).__name__}"
        )
    return text


def content_text(content: Any) -> str:
    """Return the text of a message's content: a string, or the text blocks of a list.

    Raises NoDraftError for anything else.
    """
    text = message_text(content)
    if text is None:
        raise NoDraftError(f"the message content ({type(content).__name__}) contains no text")
    return text
