"""What is said at the OpenAI-compatible door:

chat completions, as far as a memory takes part in them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from . import limits
from .message import ABSENT_IF_NONE, Id, Message, Misfit, example
from .text import Text


class TextPart(Message):
    """A part of a message's content; there are none but texts here."""

    type: Annotated[Literal["text"], Field(description="`text`: nothing else can be remembered.")]
    text: Annotated[Text, Field(description="What is said.")]


class Spoken(Message):
    """One message of the conversation."""

    role: Annotated[
        Literal["system", "developer", "user", "assistant"], Field(description="Who says it.")
    ]
    content: Annotated[
        Text | list[TextPart], Field(description="What is said: a text, or texts in parts.")
    ]

    @property
    def text(self) -> str:
        """All that is said."""
        return (
            self.content
            if isinstance(self.content, str)
            else "".join(part.text for part in self.content)
        )


class StreamOptions(Message):
    """How a stream is to be."""

    include_usage: Annotated[bool | None, Field(description="Tell the tokens in a last chunk.")] = (
        None
    )


class AnswerFormat(Message):
    """What the answer is to look like."""

    type: Annotated[
        Literal["text"], Field(description="`text`: an answer that memory takes part in is prose.")
    ]


class Completion(Message):
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
            description="The conversation; the user speaks last.",
        ),
    ]
    model: Annotated[
        Text | None,
        Field(description="Taken, not judged: the models of the server's setting answer."),
    ] = None
    user: Annotated[
        Id | None,
        Field(description="Whose memory; default: the key's pin, else the account's own name."),
    ] = None
    session_id: Annotated[Id, Field(description="The session that it is said in.")] = "default"
    stream: Annotated[bool | None, Field(description="Answer in chunks as they are written.")] = (
        None
    )
    stream_options: Annotated[
        StreamOptions | None, Field(description="How the stream is to be.")
    ] = None
    max_tokens: Annotated[
        int | None, Field(ge=1, le=limits.TOKENS_MAX, description="What the model may write.")
    ] = None
    max_completion_tokens: Annotated[
        int | None, Field(ge=1, le=limits.TOKENS_MAX, description="The same by its newer name.")
    ] = None
    temperature: Annotated[
        float | None, Field(ge=0, le=2, description="How freely the model chooses its words.")
    ] = None
    n: Annotated[Literal[1] | None, Field(description="One answer.")] = None
    tools: Annotated[
        list[Message] | None, Field(max_length=0, description="None: the models here call nothing.")
    ] = None
    response_format: Annotated[AnswerFormat | None, Field(description="Text only.")] = None

    @model_validator(mode="after")
    def _user_speaks_last(self) -> Completion:
        last = self.messages[-1]
        if last.role != "user" or not last.text.strip():
            raise Misfit("messages", "the last message must be the user's and say something")
        return self


class CompletionMessage(Message):
    """The answer."""

    role: Annotated[Literal["assistant"], Field(description="`assistant`.")] = "assistant"
    content: Annotated[str, Field(description="The clean answer.")]


class Choice(Message):
    """The one answer there is."""

    index: Annotated[int, Field(description="0.")] = 0
    message: Annotated[CompletionMessage, Field(description="What the model says.")]
    finish_reason: Annotated[
        Literal["stop", "length"], Field(description="`length`: it had no more tokens.")
    ]


class CompletionUsage(Message):
    """Tokens of all calls it took."""

    prompt_tokens: Annotated[
        int, Field(ge=0, description="Tokens read, what memory added included.")
    ]
    completion_tokens: Annotated[int, Field(ge=0, description="Tokens written.")]
    total_tokens: Annotated[int, Field(ge=0, description="Both.")]


class Completed(Message):
    """Answer of `POST /v1/chat/completions`."""

    id: Annotated[str, Field(description="The event that the turn is kept as.")]
    object: Annotated[Literal["chat.completion"], Field(description="`chat.completion`.")] = (
        "chat.completion"
    )
    created: Annotated[int, Field(description="When (seconds since 1970).")]
    model: Annotated[str, Field(description="The model that answered.")]
    choices: Annotated[list[Choice], Field(description="The answer.")]
    usage: Annotated[CompletionUsage, Field(description="What it took.")]
    detail: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="What was noticed when the turn was kept.")
    ] = None


class ServedModel(Message):
    """One model of the list."""

    id: Annotated[str, Field(description="What to name in `model`: `memory`.")]
    object: Annotated[Literal["model"], Field(description="`model`.")] = "model"
    created: Annotated[int, Field(description="0: it is as old as the service.")] = 0
    owned_by: Annotated[str, Field(description="Who serves it.")] = "remembrancer"


class ServedModels(Message):
    """Answer of `GET /v1/models`."""

    object: Annotated[Literal["list"], Field(description="`list`.")] = "list"
    data: Annotated[
        list[ServedModel], Field(description="`memory`, or nothing where no chat model may answer.")
    ]
