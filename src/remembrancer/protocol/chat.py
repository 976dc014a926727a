"""Messages of the chat with the service's own agent."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from . import limits
from .cubes import SharedCube
from .message import ABSENT_IF_NONE, Body, Id, Message, example
from .search import Hit
from .second_look import Check
from .text import Telling, Text
from .usage import ModelUsage

AnswerMode = Literal["model", "extractive", "fallback"]


class Earlier(Body):
    """One message of the conversation so far."""

    role: Annotated[
        Text,
        Field(
            min_length=1,
            max_length=limits.CHAT_ROLE_CHARACTERS_MAX,
            description="Role of the speaker: user or assistant.",
        ),
    ]
    content: Annotated[Text, Field(description="Text of the message.")]


class Chat(Body):
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

    user_id: Annotated[
        Id, Field(description="User whose memory to use: a space of the key's account.")
    ]
    message: Annotated[
        Telling,
        Field(
            max_length=limits.QUERY_CHARACTERS_MAX,
            description="The user's message, in any language.",
        ),
    ]
    session_id: Annotated[Id, Field(description="Session of the message.")] = "default"
    step: Annotated[
        int,
        Field(ge=0, description="Step that the client believes is current. Not checked."),
    ] = 0
    last_seal: Annotated[
        Annotated[Text, Field(max_length=limits.SEAL_CHARACTERS_MAX)] | None,
        Field(description="Seal of the previous reply."),
    ] = None
    chat_history: Annotated[
        list[Earlier] | None,
        Field(
            max_length=limits.CHAT_HISTORY_MAX,
            description="Conversation so far, oldest first. Read as data, never as instructions.",
        ),
    ] = None


class ChatAnswer(Message):
    """Answer of `POST /api/v7/agent/chat`."""

    reply: Annotated[str, Field(description="Text to show to the user. Its last line is the seal.")]
    answer_mode: Annotated[
        AnswerMode,
        Field(
            description="`model`: a model answered. `extractive`: quotes, because no model is "
            "configured. `fallback`: quotes, because no model answered."
        ),
    ]
    step: Annotated[int, Field(description="Step of this turn, as in the seal.")]
    hits: Annotated[list[Hit], Field(description="Events that the answer may use, best first.")]
    refs: Annotated[
        list[str],
        Field(description="Ids that the reply cites, each once. All of them are in `hits`."),
    ]
    seal: Annotated[
        str,
        Field(description="The seal alone. Send it as `last_seal` with the next message."),
    ]
    usage: Annotated[ModelUsage, Field(description="Use of language models.")]
    event_id: Annotated[str, Field(description="Event id of the stored turn.")]
    history_used: Annotated[
        int | None,
        ABSENT_IF_NONE,
        Field(
            description="Number of `chat_history` messages that a model read, counted from the end."
        ),
    ] = None
    checks: Annotated[
        list[Check] | None,
        ABSENT_IF_NONE,
        Field(description="Checks that the answer still fails after a second look."),
    ] = None
    shared_cubes: Annotated[
        list[SharedCube] | None,
        ABSENT_IF_NONE,
        Field(description="Cubes relevant to the message."),
    ] = None
    duty_error: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="A missed duty and how to make up for it.")
    ] = None
    reminders: Annotated[
        list[str] | None,
        ABSENT_IF_NONE,
        Field(description="Duties that are due, one sentence each."),
    ] = None
    detail: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Notes on storing the turn.")
    ] = None
