"""Messages of the OpenAI-compatible chat completions and of the list of models."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field, model_validator

from . import limits
from .message import ABSENT_IF_NONE, Body, Id, Message, Misfit, example
from .text import Text

# Fields of a request that this service reads and does not pass on.
_OWN_FIELDS = (
    "messages",
    "model",
    "user",
    "session_id",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
)
_PASSED_ON = ConfigDict(extra="allow")  # unknown fields reach the model as they are
# Fields of completions and of responses.
ToolChoice: TypeAlias = Annotated[
    Text | dict[str, Any] | None, Field(description="Which tool the model must call.")
]
ParallelToolCalls: TypeAlias = Annotated[
    bool | None, Field(description="Several tool calls in one answer.")
]


class TextPart(Body):
    """One text part of a message."""

    model_config = _PASSED_ON

    type: Annotated[Literal["text"], Field(description="`text`.")]
    text: Annotated[Text, Field(description="Text.")]


class MediaPart(Body):
    """An image, a sound or a file of a message. Passed on to the model; memory stores no media."""

    model_config = _PASSED_ON

    type: Annotated[
        Literal["image_url", "input_audio", "file", "video_url", "refusal"],
        Field(description="Kind of the part. Its other fields are those of OpenAI."),
    ]

    @property
    def text(self) -> str:
        """The text that memory stores in place of the part."""
        return f"[{_MEDIA_NAMES[self.type]}]"


_MEDIA_NAMES = {
    "image_url": "image",
    "input_audio": "audio",
    "file": "file",
    "video_url": "video",
    "refusal": "refusal",
}


class Spoken(Body):
    """One message of the conversation."""

    model_config = _PASSED_ON

    role: Annotated[
        Literal["system", "developer", "user", "assistant", "tool", "function"],
        Field(description="Role of the speaker."),
    ]
    content: Annotated[
        Text | list[TextPart | MediaPart] | None,
        Field(description="Content: a string, or a list of parts; null beside tool calls."),
    ] = None
    tool_calls: Annotated[
        list[dict[str, Any]] | None, Field(description="Tool calls of an assistant's message.")
    ] = None
    tool_call_id: Annotated[
        Text | None, Field(description="The tool call that a tool's message answers.")
    ] = None

    @property
    def text(self) -> str:
        """The content as one string."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "".join(part.text for part in self.content)

    @property
    def parts(self) -> list[dict[str, Any]] | None:
        """The content as the client wrote it, if it has other parts than text."""
        if not isinstance(self.content, list):
            return None
        if all(isinstance(part, TextPart) for part in self.content):
            return None
        return [part.model_dump(exclude_unset=True) for part in self.content]

    @property
    def passed_on(self) -> dict[str, Any]:
        """Fields beside role and content, such as tool calls."""
        fields = self.model_dump(exclude_unset=True, exclude_none=True)
        return {name: value for name, value in fields.items() if name not in ("role", "content")}


class StreamOptions(Body):
    """Options of a stream."""

    include_usage: Annotated[
        bool | None, Field(description="Report token usage in a final chunk.")
    ] = None


class AnswerFormat(Body):
    """Requested format of the answer."""

    model_config = _PASSED_ON

    type: Annotated[
        Text, Field(description="`text`, `json_object` or `json_schema`, if the model knows it.")
    ]


class Completion(Body):
    """Body of `POST /v1/chat/completions`. Unknown fields are passed on to the model."""

    model_config = ConfigDict(
        **example(
            {
                "model": "memory",
                "messages": [{"role": "user", "content": "When does the ferry leave?"}],
                "user": "ada",
            }
        ),
        **_PASSED_ON,
    )

    messages: Annotated[
        list[Spoken],
        Field(
            min_length=1,
            max_length=limits.CHAT_HISTORY_MAX,
            description="The conversation. One message at least is the user's and not blank.",
        ),
    ]
    model: Annotated[
        Text | None,
        Field(
            description="`memory` (the configured models, in order), `memory-quotes` (quotes, "
            "without a language model), or one of the configured models. Another name means "
            "`memory`."
        ),
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
    n: Annotated[
        int | None,
        Field(ge=1, le=128, description="Number of answers. Memory stores the first."),
    ] = None
    stop: Annotated[
        Text | list[Text] | None, Field(description="Texts at which the model stops.")
    ] = None
    tools: Annotated[
        list[dict[str, Any]] | None, Field(description="Tools that the model may call.")
    ] = None
    tool_choice: ToolChoice = None
    parallel_tool_calls: ParallelToolCalls = None
    response_format: Annotated[AnswerFormat | None, Field(description="Format of the answer.")] = (
        None
    )

    @property
    def question(self) -> Spoken:
        """The last message of the user."""
        return next(message for message in reversed(self.messages) if message.role == "user")

    @property
    def continues(self) -> bool:
        """Return True if the conversation goes on after the user's last message: tool results."""
        return self.messages[-1].role != "user"

    @property
    def wants_json(self) -> bool:
        """Return True if the answer must be JSON."""
        return self.response_format is not None and self.response_format.type != "text"

    @property
    def passed_on(self) -> dict[str, Any]:
        """Fields that the model receives as they are: tools, formats and sampling."""
        fields = self.model_dump(exclude_unset=True, exclude_none=True, exclude=set(_OWN_FIELDS))
        return {name: value for name, value in fields.items() if value not in ([], {})}

    @model_validator(mode="after")
    def _user_has_spoken(self) -> Completion:
        spoken = [message for message in self.messages if message.role == "user"]
        if not spoken or not spoken[-1].text.strip():
            raise Misfit(
                "messages", "there must be a message of the user, and the last must not be blank"
            )
        return self


class CompletionMessage(Message):
    """The message of the model."""

    model_config = _PASSED_ON

    role: Annotated[Literal["assistant"], Field(description="`assistant`.")] = "assistant"
    content: Annotated[
        str | None, Field(description="The answer; null if the model only calls tools.")
    ]
    tool_calls: Annotated[
        list[dict[str, Any]] | None, ABSENT_IF_NONE, Field(description="Tool calls of the model.")
    ] = None


class Choice(Message):
    """One answer."""

    index: Annotated[int, Field(description="Its number, from 0.")] = 0
    message: Annotated[CompletionMessage, Field(description="Message of the model.")]
    logprobs: Annotated[
        dict[str, Any] | None, ABSENT_IF_NONE, Field(description="As the model gave them.")
    ] = None
    finish_reason: Annotated[
        str,
        Field(description="`stop`, `length` (the token limit), `tool_calls`, or the model's own."),
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

    id: Annotated[
        str,
        Field(description="Event id of the stored turn, or a name if nothing was stored."),
    ]
    object: Annotated[Literal["chat.completion"], Field(description="`chat.completion`.")] = (
        "chat.completion"
    )
    created: Annotated[int, Field(description="Time of creation, in seconds since 1970.")]
    model: Annotated[str, Field(description="The model that answered.")]
    choices: Annotated[list[Choice], Field(description="The answers.")]
    usage: Annotated[CompletionUsage, Field(description="Token usage.")]
    detail: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Notes on storing the turn.")
    ] = None


class ServedModel(Message):
    """One entry of the list of models."""

    id: Annotated[
        str,
        Field(
            description="Value for `model`: `memory`, `memory-quotes`, a configured model as "
            "MODEL@HOST, or `memory-embedder`."
        ),
    ]
    object: Annotated[Literal["model"], Field(description="`model`.")] = "model"
    created: Annotated[int, Field(description="Always 0.")] = 0
    owned_by: Annotated[
        str, Field(description="`remembrancer`, the host of a model, or the embedder's name.")
    ] = "remembrancer"


class ServedModels(Message):
    """Answer of `GET /v1/models`."""

    object: Annotated[Literal["list"], Field(description="`list`.")] = "list"
    data: Annotated[list[ServedModel], Field(description="Models that this account may use.")]
