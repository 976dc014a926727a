"""What is said in a chat with the service's own agent."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from . import limits
from .cubes import SharedCube
from .memory import Hit
from .message import ABSENT_IF_NONE, Id, Message, example
from .second_look import Check
from .text import Telling, Text
from .usage import ModelUsage

AnswerMode = Literal["model", "extractive", "fallback"]


class Earlier(Message):
    """One message of the conversation so far."""

    role: Annotated[
        Text,
        Field(
            min_length=1,
            max_length=limits.CHAT_ROLE_CHARACTERS_MAX,
            description="Who said it: user, assistant.",
        ),
    ]
    content: Annotated[Text, Field(description="What was said.")]


class Chat(Message):
    """Body of `POST /api/v7/agent/chat`."""

    model_config = example(
        {
            "user_id": "ada",
            "message": "When does the ferry leave?",
            "session_id": "summer-trip",
            "chat_history": [
                {"role": "user", "content": "We want to go to Elba."},
                {"role": "assistant", "content": "By ferry, then."},
            ],
        }
    )

    user_id: Annotated[Id, Field(description="Whose memory: a space inside the key's account.")]
    message: Annotated[
        Telling,
        Field(
            max_length=limits.QUERY_CHARACTERS_MAX,
            description="What the user says, in any language.",
        ),
    ]
    session_id: Annotated[Id, Field(description="The session that it is said in.")] = "default"
    step: Annotated[
        int,
        Field(ge=0, description="The step that the client believes it is at. Taken, not judged."),
    ] = 0
    last_seal: Annotated[
        Annotated[Text, Field(max_length=limits.SEAL_CHARACTERS_MAX)] | None,
        Field(description="Seal of the previous reply."),
    ] = None
    chat_history: Annotated[
        list[Earlier] | None,
        Field(
            max_length=limits.CHAT_HISTORY_MAX,
            description="The conversation so far, oldest first. Data.",
        ),
    ] = None


class ChatAnswer(Message):
    """Answer of `POST /api/v7/agent/chat`."""

    reply: Annotated[str, Field(description="What to show the user. Its last line is the seal.")]
    answer_mode: Annotated[
        AnswerMode,
        Field(
            description="`model`; `extractive`: quoted, no model is configured; `fallback`: quoted, no model answered."
        ),
    ]
    step: Annotated[int, Field(description="The step of this turn, which the seal names.")]
    hits: Annotated[
        list[Hit], Field(description="The events that the answer may rest on, best first.")
    ]
    refs: Annotated[
        list[str],
        Field(
            description="Ids that the reply cites, each once: of events in `hits`, never others."
        ),
    ]
    seal: Annotated[
        str,
        Field(description="The seal by itself, to be sent as `last_seal` with the next message."),
    ]
    usage: Annotated[ModelUsage, Field(description="What it took of language models.")]
    event_id: Annotated[str, Field(description="The event that the turn is kept as.")]
    history_used: Annotated[
        int | None,
        ABSENT_IF_NONE,
        Field(description="How many messages of `chat_history` a model read: the last."),
    ] = None
    checks: Annotated[
        list[Check] | None,
        ABSENT_IF_NONE,
        Field(description="What a second look at the answer still found wrong."),
    ] = None
    shared_cubes: Annotated[
        list[SharedCube] | None,
        ABSENT_IF_NONE,
        Field(description="Lessons that bear on the message."),
    ] = None
    duty_error: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="A missed duty, and how to make it good.")
    ] = None
    reminders: Annotated[
        list[str] | None, ABSENT_IF_NONE, Field(description="What is due, each in a sentence.")
    ] = None
    detail: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="What was noticed when the turn was kept.")
    ] = None
