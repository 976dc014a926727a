"""What tools for agents take and give where no endpoint does; ChatGPT's connectors want `search`
and `fetch` as they are here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from . import limits
from .forget import EventErased, Forget, Forgotten
from .message import ABSENT_IF_NONE, Id, Message, Misfit, example
from .text import Telling, Text


class ToolsQuery(Message):
    """Parameters of `GET /api/v7/tools`."""

    model_config = example({"format": "openai"})

    format: Annotated[
        Literal["openai", "anthropic", "mcp"],
        Field(description="As OpenAI (chat completions), Anthropic (messages) or MCP wants them."),
    ] = "openai"


class ToolsListed(Message):
    """Answer of `GET /api/v7/tools`."""

    format: Annotated[str, Field(description="Whose format it is.")]
    tools: Annotated[
        list[dict[str, Any]], Field(description="The tools, to be passed to that API as they are.")
    ]


class EventNamed(Message):
    """An event by its id."""

    event_id: Annotated[Id, Field(description="The event, as recall or remember named it.")]


class ForgetAsked(Forget):
    """What to forget: one event, or what `POST /api/v7/memory/forget` takes."""

    model_config = ConfigDict(json_schema_extra={})

    event_id: Annotated[
        Id | None, Field(description="Only this one event; then nothing else is named.")
    ] = None

    @model_validator(mode="after")
    def _is_one(self) -> ForgetAsked:
        if self.event_id is not None and (self.is_narrowed or self.account or self.dry_run):
            raise Misfit(
                "event_id",
                "one event is forgotten by itself: leave session_id, after, before, account and dry_run out",
            )
        return self


class Erasing(Message):
    """What `forget` gives: one of the two."""

    event: Annotated[
        EventErased | None, ABSENT_IF_NONE, Field(description="Where one event was named.")
    ] = None
    memory: Annotated[Forgotten | None, ABSENT_IF_NONE, Field(description="Where more was.")] = None


class Wanted(Message):
    """What `search` takes."""

    query: Annotated[
        Telling,
        Field(
            max_length=limits.QUERY_CHARACTERS_MAX, description="What to look for, in any language."
        ),
    ]


class Found(Message):
    """One event that was found."""

    id: Annotated[str, Field(description="For `fetch`.")]
    title: Annotated[str, Field(description="Its topic, or how its first message begins.")]
    url: Annotated[str, Field(description="Where a person reads it.")]


class FoundAll(Message):
    """What `search` gives."""

    results: Annotated[list[Found], Field(description="The events found, best first.")]


class Named(Message):
    """What `fetch` takes."""

    id: Annotated[Id, Field(description="An id that `search` gave.")]


class Document(Message):
    """What `fetch` gives."""

    id: Annotated[str, Field(description="Its id.")]
    title: Annotated[str, Field(description="Its topic, or how its first message begins.")]
    text: Annotated[Text, Field(description="Both sides word for word, each after who said it.")]
    url: Annotated[str, Field(description="Where a person reads it.")]
    metadata: Annotated[
        dict[str, str], Field(description="`occurred_at`, `session_id`, `user_id`.")
    ]
