"""What an answer took of language models."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .message import Message

Tokens = Annotated[int, Field(ge=0)]


class ModelTry(Message):
    """One call of one language model."""

    model: Annotated[str, Field(description="The model.")]
    outcome: Annotated[
        str,
        Field(description="`ok`, or why it gave no answer: a word such as `timeout` or `refused`."),
    ]
    ms: Annotated[float, Field(ge=0, description="How long it took.")]
    prompt_tokens: Annotated[Tokens, Field(description="Tokens it read.")]
    completion_tokens: Annotated[Tokens, Field(description="Tokens it wrote.")]


class ModelUsage(Message):
    """What an answer took of language models.

    Tokens are the endpoints' count, else about a quarter of the characters.
    """

    calls: Annotated[int, Field(ge=0, description="How many calls were made.")]
    prompt_tokens: Annotated[Tokens, Field(description="Tokens read, all calls together.")]
    completion_tokens: Annotated[Tokens, Field(description="Tokens written, all calls together.")]
    ms: Annotated[float, Field(ge=0, description="Milliseconds, all calls together.")]
    tries: Annotated[list[ModelTry], Field(description="Each call, in order.")]
