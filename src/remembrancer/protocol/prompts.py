"""Messages about the agent prompt."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from . import limits
from .constitution import ClientKind
from .message import Body, Detail, Id, Message, example
from .text import Text


class PromptQuery(Message):
    """Parameters of `GET /api/v7/agent/prompt`."""

    model_config = example({"user_id": "ada"})

    user_id: Annotated[Id, Field(description="User of the prompt.")]
    client: Annotated[
        ClientKind,
        Field(
            description="How the reader uses the service: `http` (paths), `mcp` (tools) or `hooks` "
            "(hooks search and store for it)."
        ),
    ] = "http"


class PromptWrite(Body):
    """Body of `PUT /api/v7/agent/prompt`."""

    model_config = example({"user_id": "ada", "prompt": "Answer in Italian. Ada is an architect."})

    prompt: Annotated[
        Text,
        Field(
            max_length=limits.PROMPT_CHARACTERS_MAX,
            description="The user's own part. An empty text removes it.",
        ),
    ]
    user_id: Annotated[
        Id | None,
        Field(
            description="User whose memory to use. Default: the key's pin, else the account's name."
        ),
    ] = None


class AgentPrompt(Message):
    """Answer of both endpoints: the complete prompt for an agent."""

    prompt: Annotated[
        str, Field(description="Constitution, service lines and seal, then the user's own part.")
    ]
    user_id: Annotated[str, Field(description="User of the prompt.")]
    user_part: Annotated[str, Field(description="The user's own part; empty if there is none.")]
    updated_at: Annotated[
        str | None,
        Field(
            description="Time the user's own part was set (RFC 3339, UTC); null if there is none."
        ),
    ]
    detail: Detail = None
