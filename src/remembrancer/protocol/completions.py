"""Messages of the OpenAI-compatible chat completions, as far as the service supports them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from . import limits
from .message import ABSENT_IF_NONE, Body, Id, Message, Misfit, example
from .text import Text


class TextPart(Body):
    """One text part of a message."""

    type: Annotated[Literal["text"], Field(description="`text` is the only supported type.")]
    text: Annotated[Text, Field(description="Text.")]


class Spoken(Body):
    """One message of the conversation."""

    role: Annotated[
        Literal["system", "developer", "user", "assistant"],
        Field(description="Role of the speaker."),
    ]
    content: Annotated[
        Text | list[TextPart], Field(description="Content: a string, or a list of text parts.")
    ]

    @property
    def text(self) -> str:
        """The content as one string."""
        return (
            self.content
            if isinstance(self.content, str)
            else "".join(part.text for part in self.content)
        )


class StreamOptions(Body):
    """Options of a stream."""

    include_usage: Annotated[
        bool | None, Field(description="Report token usage in a final chunk.")
    ] = None


class AnswerFormat(Body):
    """Requested format of the answer."""

    type: Annotated[Literal["text"], Field(description="`text` is the only supported format.")]


class Completion(Body):
    """Body of `POST /v1/chat/completions`."""

    model_config = example(
        {
            "model": "memory",
            "messages": [{"role": "user", "content": "When does the ferry leave?"}],
            "user": "ada",
        }
    )

    messages: Annotated[
        list[Spoken],
        Field(
            min_length=1,
            max_length=limits.CHAT_HISTORY_MAX,
            description="The conversation. The last message is the user's.",
        ),
    ]
    model: Annotated[
        Text | None,
        Field(description="Accepted and ignored: the server's setting names the model."),
    ] = None
    user: Annotated[
        Id | None,
        Field(
            description="User whose memory to use. Default: the key's pin, else the account's name."
        ),
    ] = None
    session_id: Annotated[Id, Field(description="Session of the message.")] = "default"
    stream: Annotated[bool | None, Field(description="Stream the answer in chunks.")] = None
    stream_options: Annotated[StreamOptions | None, Field(description="Options of the stream.")] = (
        None
    )
    max_tokens: Annotated[
        int | None,
        Field(ge=1, le=limits.TOKENS_MAX, description="Maximum number of tokens to generate."),
    ] = None
    max_completion_tokens: Annotated[
        int | None, Field(ge=1, le=limits.TOKENS_MAX, description="Newer name of `max_tokens`.")
    ] = None
    temperature: Annotated[float | None, Field(ge=0, le=2, description="Sampling temperature.")] = (
        None
    )
    n: Annotated[int | None, Field(ge=1, le=1, description="Number of answers: 1.")] = None
    tools: Annotated[
        list[Message] | None,
        Field(max_length=0, description="Must be empty: tool calls are not supported."),
    ] = None
    response_format: Annotated[AnswerFormat | None, Field(description="Must be text.")] = None

    @model_validator(mode="after")
    def _user_speaks_last(self) -> Completion:
        last = self.messages[-1]
        if last.role != "user" or not last.text.strip():
            raise Misfit("messages", "the last message must be from the user and must not be blank")
        return self


class CompletionMessage(Message):
    """The message of the model."""

    role: Annotated[Literal["assistant"], Field(description="`assistant`.")] = "assistant"
    content: Annotated[str, Field(description="The answer.")]


class Choice(Message):
    """The only answer."""

    index: Annotated[int, Field(description="Always 0.")] = 0
    message: Annotated[CompletionMessage, Field(description="Message of the model.")]
    finish_reason: Annotated[
        Literal["stop", "length"], Field(description="`length`: the token limit was reached.")
    ]


class CompletionUsage(Message):
    """Token usage of all model calls of a request."""

    prompt_tokens: Annotated[
        int, Field(ge=0, description="Tokens read, including what memory added.")
    ]
    completion_tokens: Annotated[int, Field(ge=0, description="Tokens written.")]
    total_tokens: Annotated[int, Field(ge=0, description="Sum of both.")]


class Completed(Message):
    """Answer of `POST /v1/chat/completions`."""

    id: Annotated[str, Field(description="Event id of the stored turn.")]
    object: Annotated[Literal["chat.completion"], Field(description="`chat.completion`.")] = (
        "chat.completion"
    )
    created: Annotated[int, Field(description="Time of creation, in seconds since 1970.")]
    model: Annotated[str, Field(description="The model that answered.")]
    choices: Annotated[list[Choice], Field(description="The answer, as a list of one.")]
    usage: Annotated[CompletionUsage, Field(description="Token usage.")]
    detail: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Notes on storing the turn.")
    ] = None


class ServedModel(Message):
    """One entry of the list of models."""

    id: Annotated[str, Field(description="Value for `model`: `memory`.")]
    object: Annotated[Literal["model"], Field(description="`model`.")] = "model"
    created: Annotated[int, Field(description="Always 0.")] = 0
    owned_by: Annotated[str, Field(description="Owner of the model.")] = "remembrancer"


class ServedModels(Message):
    """Answer of `GET /v1/models`."""

    object: Annotated[Literal["list"], Field(description="`list`.")] = "list"
    data: Annotated[
        list[ServedModel],
        Field(description="`memory`, or an empty list when no chat model is available."),
    ]
