"""Messages of the OpenAI-compatible Responses API, as far as the service supports it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from . import limits
from .completions import ParallelToolCalls, ToolChoice
from .message import Body, Id, Message, example
from .text import Text


class TextFormat(Body):
    """Options of the answer's text."""

    format: Annotated[
        dict[str, Any] | None,
        Field(description='`{"type": "text"}`, `json_object`, or `json_schema` with its schema.'),
    ] = None


class ResponseRequest(Body):
    """Body of `POST /v1/responses`."""

    model_config = ConfigDict(
        **example({"model": "memory", "input": "When does the ferry leave?", "user": "ada"}),
        extra="allow",
    )

    input: Annotated[
        Text
        | Annotated[list[dict[str, Any]], Field(min_length=1, max_length=limits.CHAT_HISTORY_MAX)],
        Field(
            description="The user's message, or the conversation: messages, `function_call` and "
            "`function_call_output`."
        ),
    ]
    instructions: Annotated[Text | None, Field(description="System message before the input.")] = (
        None
    )
    model: Annotated[Text | None, Field(description="As in `POST /v1/chat/completions`.")] = None
    user: Annotated[
        Id | None,
        Field(
            description="User whose memory to use. Default: the key's pin, else the account's name."
        ),
    ] = None
    session_id: Annotated[Id, Field(description="Session of the message.")] = "default"
    stream: Annotated[bool | None, Field(description="Stream the answer as events.")] = None
    max_output_tokens: Annotated[
        int | None,
        Field(ge=1, le=limits.TOKENS_MAX, description="Maximum number of tokens to generate."),
    ] = None
    temperature: Annotated[float | None, Field(ge=0, le=2, description="Sampling temperature.")] = (
        None
    )
    top_p: Annotated[float | None, Field(ge=0, le=1, description="Nucleus sampling.")] = None
    text: Annotated[TextFormat | None, Field(description="Format of the answer.")] = None
    tools: Annotated[
        list[dict[str, Any]] | None, Field(description="Tools of the type `function`.")
    ] = None
    tool_choice: ToolChoice = None
    parallel_tool_calls: ParallelToolCalls = None
    previous_response_id: Annotated[
        Text | None, Field(description="Not supported: send the conversation in `input`.")
    ] = None


class ResponseUsage(Message):
    """Token usage of all model calls of a request."""

    model_config = ConfigDict(extra="allow")

    input_tokens: Annotated[int, Field(ge=0, description="Tokens read.")]
    output_tokens: Annotated[int, Field(ge=0, description="Tokens written.")]
    total_tokens: Annotated[int, Field(ge=0, description="Sum of both.")]


class ResponseObject(Message):
    """Answer of `POST /v1/responses`; it has further fields, as OpenAI's."""

    model_config = ConfigDict(extra="allow")

    id: Annotated[str, Field(description="`resp_` and the event id of the stored turn, or a name.")]
    object: Annotated[Literal["response"], Field(description="`response`.")] = "response"
    created_at: Annotated[int, Field(description="Time of creation, in seconds since 1970.")]
    status: Annotated[
        Literal["in_progress", "completed", "incomplete"],
        Field(description="`incomplete`: the token limit was reached."),
    ]
    model: Annotated[str, Field(description="The model that answered.")]
    output: Annotated[
        list[dict[str, Any]], Field(description="A message, function calls, or both.")
    ]
    usage: Annotated[ResponseUsage | None, Field(description="Token usage.")] = None
