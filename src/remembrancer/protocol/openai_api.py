"""Messages of the OpenAI-compatible interface: chat completions, responses, embeddings, errors."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field, model_validator

from . import limits
from .errors import Problem, TooManyRequests, Unauthorized
from .filters import OfTurn
from .message import Body, Described, Id, Message, Misfit, OrAbsent
from .text import Text

# --- Messages of the OpenAI-compatible chat completions and of the list of models ------------

# Fields of a request that this service reads and does not pass on.
_OWN_FIELDS = (
    "metadata",
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

    type: Literal["text"]
    """`text`."""
    text: Text
    """Text."""


class MediaPart(Body):
    """An image, a sound or a file of a message. Passed on to the model; memory stores no media."""

    model_config = _PASSED_ON

    type: Literal["image_url", "input_audio", "file", "video_url", "refusal"]
    """Kind of the part. Its other fields are those of OpenAI."""

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

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    """Role of the speaker."""
    content: Text | list[TextPart | MediaPart] | None = None
    """Content: a string, or a list of parts; null beside tool calls."""
    tool_calls: list[dict[str, Any]] | None = None
    """Tool calls of an assistant's message."""
    tool_call_id: Text | None = None
    """The tool call that a tool's message answers."""

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

    include_usage: bool | None = None
    """Report token usage in a final chunk."""


class AnswerFormat(Body):
    """Requested format of the answer."""

    model_config = _PASSED_ON

    type: Text
    """`text`, `json_object` or `json_schema`, if the model knows it."""


class Completion(Body):
    """Body of `POST /v1/chat/completions`. Unknown fields are passed on to the model.

    Example: {
      "model": "memory",
      "messages": [{"role": "user", "content": "When does the ferry leave?"}],
      "user": "ada"
    }
    """

    model_config = _PASSED_ON

    messages: Annotated[list[Spoken], Field(min_length=1, max_length=limits.CHAT_HISTORY_MAX)]
    """The conversation. One message at least is the user's and not blank."""
    model: Text | None = None
    """`memory` (the configured models, in order), `memory-quotes` (quotes, without a language
    model), or one of the configured models. Another name means `memory`."""
    user: Id | None = None
    """User whose memory to use. Default: the key's pin, else the account's name."""
    session_id: Id = "default"
    """Session of the message."""
    metadata: OfTurn = None
    stream: bool | None = None
    """Stream the answer in chunks."""
    stream_options: StreamOptions | None = None
    """Options of the stream."""
    max_tokens: Annotated[int | None, Field(ge=1, le=limits.TOKENS_MAX)] = None
    """Maximum number of tokens to generate."""
    max_completion_tokens: Annotated[int | None, Field(ge=1, le=limits.TOKENS_MAX)] = None
    """Newer name of `max_tokens`."""
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    """Sampling temperature."""
    n: Annotated[int | None, Field(ge=1, le=128)] = None
    """Number of answers. Memory stores the first."""
    stop: Text | list[Text] | None = None
    """Texts at which the model stops."""
    tools: list[dict[str, Any]] | None = None
    """Tools that the model may call."""
    tool_choice: ToolChoice = None
    parallel_tool_calls: ParallelToolCalls = None
    response_format: AnswerFormat | None = None
    """Format of the answer."""

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

    role: Literal["assistant"] = "assistant"
    """`assistant`."""
    content: str | None
    """The answer; null if the model only calls tools."""
    tool_calls: OrAbsent[list[dict[str, Any]]] = None
    """Tool calls of the model."""


class Choice(Message):
    """One answer."""

    index: int = 0
    """Its number, from 0."""
    message: CompletionMessage
    """Message of the model."""
    logprobs: OrAbsent[dict[str, Any]] = None
    """As the model gave them."""
    finish_reason: str
    """`stop`, `length` (the token limit), `tool_calls`, or the model's own."""


class CompletionUsage(Message):
    """Token usage of all model calls of a request."""

    prompt_tokens: Annotated[int, Field(ge=0)]
    """Tokens read, including what memory added."""
    completion_tokens: Annotated[int, Field(ge=0)]
    """Tokens written."""
    total_tokens: Annotated[int, Field(ge=0)]
    """Sum of both."""


class Completed(Message):
    """Answer of `POST /v1/chat/completions`."""

    id: str
    """Event id of the stored turn, or a name if nothing was stored."""
    object: Literal["chat.completion"] = "chat.completion"
    """`chat.completion`."""
    created: int
    """Time of creation, in seconds since 1970."""
    model: str
    """The model that answered."""
    choices: list[Choice]
    """The answers."""
    usage: CompletionUsage
    """Token usage."""
    detail: OrAbsent[str] = None
    """Notes on storing the turn."""


class ServedModel(Message):
    """One entry of the list of models."""

    id: str
    """Value for `model`: `memory`, `memory-quotes`, a configured model as MODEL@HOST, or
    `memory-embedder`."""
    object: Literal["model"] = "model"
    """`model`."""
    created: int = 0
    """Always 0."""
    owned_by: str = "remembrancer"
    """`remembrancer`, the host of a model, or the embedder's name."""


class ServedModels(Message):
    """Answer of `GET /v1/models`."""

    object: Literal["list"] = "list"
    """`list`."""
    data: list[ServedModel]
    """Models that this account may use."""


# --- Messages of the OpenAI-compatible Responses API, as far as the service supports it ------


class TextFormat(Body):
    """Options of the answer's text."""

    format: dict[str, Any] | None = None
    """`{"type": "text"}`, `json_object`, or `json_schema` with its schema."""


class ResponseRequest(Body):
    """Body of `POST /v1/responses`.

    Example: {"model": "memory", "input": "When does the ferry leave?", "user": "ada"}
    """

    model_config = ConfigDict(extra="allow")

    input: (
        Text
        | Annotated[list[dict[str, Any]], Field(min_length=1, max_length=limits.CHAT_HISTORY_MAX)]
    )
    """The user's message, or the conversation: messages, `function_call` and
    `function_call_output`."""
    instructions: Text | None = None
    """System message before the input."""
    model: Text | None = None
    """As in `POST /v1/chat/completions`."""
    user: Id | None = None
    """User whose memory to use. Default: the key's pin, else the account's name."""
    session_id: Id = "default"
    """Session of the message."""
    metadata: OfTurn = None
    stream: bool | None = None
    """Stream the answer as events."""
    max_output_tokens: Annotated[int | None, Field(ge=1, le=limits.TOKENS_MAX)] = None
    """Maximum number of tokens to generate."""
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    """Sampling temperature."""
    top_p: Annotated[float | None, Field(ge=0, le=1)] = None
    """Nucleus sampling."""
    text: TextFormat | None = None
    """Format of the answer."""
    tools: list[dict[str, Any]] | None = None
    """Tools of the type `function`."""
    tool_choice: ToolChoice = None
    parallel_tool_calls: ParallelToolCalls = None
    previous_response_id: Text | None = None
    """Not supported: send the conversation in `input`."""


class ResponseUsage(Message):
    """Token usage of all model calls of a request."""

    model_config = ConfigDict(extra="allow")

    input_tokens: Annotated[int, Field(ge=0)]
    """Tokens read."""
    output_tokens: Annotated[int, Field(ge=0)]
    """Tokens written."""
    total_tokens: Annotated[int, Field(ge=0)]
    """Sum of both."""


class ResponseObject(Message):
    """Answer of `POST /v1/responses`; it has further fields, as OpenAI's."""

    model_config = ConfigDict(extra="allow")

    id: str
    """`resp_` and the event id of the stored turn, or a name."""
    object: Literal["response"] = "response"
    """`response`."""
    created_at: int
    """Time of creation, in seconds since 1970."""
    status: Literal["in_progress", "completed", "incomplete"]
    """`incomplete`: the token limit was reached."""
    model: str
    """The model that answered."""
    output: list[dict[str, Any]]
    """A message, function calls, or both."""
    usage: ResponseUsage | None = None
    """Token usage."""


# --- Messages of the OpenAI-compatible embeddings --------------------------------------------


class Embed(Body):
    """Body of `POST /v1/embeddings`.

    Example: {"model": "memory-embedder", "input": "When does the ferry leave?"}
    """

    input: Text | Annotated[list[Text], Field(min_length=1, max_length=limits.EMBEDDING_INPUTS_MAX)]
    """One text, or a list of texts. Tokens in their place are rejected."""
    model: Text | None = None
    """Accepted and ignored: the server has one embedder."""
    encoding_format: Literal["float", "base64"] = "float"
    """`float`: lists of numbers. `base64`: 32-bit floats, little endian."""
    dimensions: Annotated[int | None, Field(ge=1)] = None
    """Number of dimensions: that of the embedder, or absent."""
    input_type: Literal["query", "document"] = "document"
    """Whether the texts are searched or search (our addition)."""

    @model_validator(mode="before")
    @classmethod
    def _has_texts(cls, body: Any) -> Any:
        texts = body.get("input") if isinstance(body, dict) else None
        if isinstance(texts, list) and any(isinstance(text, (int, list)) for text in texts):
            raise Misfit(
                "input",
                "must be text: the embedder has tokens of its own. For LangChain's "
                "OpenAIEmbeddings, set `check_embedding_ctx_length=False`",
            )
        return body


class TextVector(Message):
    """The vector of one text."""

    object: Literal["embedding"] = "embedding"
    """`embedding`."""
    index: int
    """Position of its text, from 0."""
    embedding: list[float] | str
    """The vector, of unit length, in `encoding_format`."""


class EmbeddingUsage(Message):
    """Size of the input."""

    prompt_tokens: Annotated[int, Field(ge=0)]
    """About a quarter of the characters that were read."""
    total_tokens: Annotated[int, Field(ge=0)]
    """The same."""


class Embedded(Message):
    """Answer of `POST /v1/embeddings`."""

    object: Literal["list"] = "list"
    """`list`."""
    data: list[TextVector]
    """One vector per text, in their order."""
    model: str
    """The embedder, with its version."""
    usage: EmbeddingUsage
    """Tokens of the input."""


# --- Errors in the shape that OpenAI's clients read, for the paths under `/v1` ---------------

PREFIX = "/v1"
# Codes that clients compare with; the other codes are those of docs/reference/errors.md.
_CODES: dict[str, str] = {
    Unauthorized.error: "invalid_api_key",
    TooManyRequests.error: "rate_limit_exceeded",
}
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_INDEX = re.compile(r"/(\d+)(?=/|$)")
# Parts of a pointer that name the type of an alternative, not a field.
_TYPE = re.compile(
    r"/(?:(?:constrained-)?(?:str|int|float|bool|list|dict)(?=/|\[|$)|function-|nullable|"
    r"TextPart|MediaPart).*"
)


def is_openai_path(path: str) -> bool:
    """Return True if errors of this path have OpenAI's shape."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


class OpenAIError(Described):
    """The error of a response."""

    message: str
    """Explanation, for people."""
    type: str
    """Kind of error, such as `invalid_request_error`."""
    param: str | None
    """The invalid field, such as `messages[0].content`, or null."""
    code: str
    """Stable error code: `invalid_api_key`, `rate_limit_exceeded`, `model_not_found`, or a code of
    the other endpoints."""


class OpenAIErrorBody(Described):
    """Body of every error response under `/v1`."""

    model_config = ConfigDict(title="OpenAIError")

    error: OpenAIError
    """The error."""


def openai_body(problem: Problem) -> dict[str, Any]:
    """Return the response body of a problem in OpenAI's shape."""
    faults = problem.extra.get("errors") or []
    error = OpenAIError(
        message=problem.detail,
        type=_TYPES.get(
            problem.status, "server_error" if problem.status >= 500 else "invalid_request_error"
        ),
        param=_field_name(faults[0]["pointer"]) if faults else None,
        code=problem.extra.get("code") or _CODES.get(problem.error, problem.error),
    )
    return {"error": error.model_dump()}


def _field_name(pointer: str) -> str | None:
    """Return a JSON pointer as OpenAI writes it: /messages/0/content as messages[0].content."""
    return _INDEX.sub(r"[\1]", _TYPE.sub("", pointer)).lstrip("/").replace("/", ".") or None
