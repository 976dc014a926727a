"""Use of language models by a request."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .message import Message

Tokens = Annotated[int, Field(ge=0)]


class ModelTry(Message):
    """One call of a language model."""

    model: Annotated[str, Field(description="Name of the model.")]
    outcome: Annotated[
        str,
        Field(description="`ok`, or why it gave no answer, such as `timeout` or `refused`."),
    ]
    ms: Annotated[float, Field(ge=0, description="Duration in milliseconds.")]
    prompt_tokens: Annotated[Tokens, Field(description="Tokens read.")]
    completion_tokens: Annotated[Tokens, Field(description="Tokens it wrote.")]


class ModelUsage(Message):
    """Model calls of a request.

    Tokens are as counted by the endpoint, else about a quarter of the characters.
    """

    calls: Annotated[int, Field(ge=0, description="Number of calls.")]
    prompt_tokens: Annotated[Tokens, Field(description="Tokens read in all calls.")]
    completion_tokens: Annotated[Tokens, Field(description="Tokens written in all calls.")]
    ms: Annotated[float, Field(ge=0, description="Duration of all calls in milliseconds.")]
    tries: Annotated[list[ModelTry], Field(description="Calls, in order.")]
