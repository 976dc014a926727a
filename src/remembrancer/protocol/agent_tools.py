"""Inputs and outputs of agent tools that have no endpoint of their own.

`search` and `fetch` have the form that ChatGPT's connectors require.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from . import limits
from .facts import FactChange, FactRemoved, FactStored
from .forget import EventErased, Forget, Forgotten
from .message import ABSENT_IF_NONE, Id, Message, Misfit, example
from .search import MemoryQuery, WorkContext
from .text import Telling, Text


class ToolsQuery(Message):
    """Parameters of `GET /api/v7/tools`."""

    model_config = example({"format": "openai"})

    format: Annotated[
        Literal["openai", "anthropic", "mcp"],
        Field(description="Format: OpenAI (chat completions), Anthropic (messages) or MCP."),
    ] = "openai"


class ToolsListed(Message):
    """Answer of `GET /api/v7/tools`."""

    format: Annotated[str, Field(description="Format of the tools.")]
    tools: Annotated[
        list[dict[str, Any]], Field(description="Tool definitions, ready to pass to that API.")
    ]


class Recall(WorkContext, MemoryQuery):
    """Input of `recall`: what `POST /api/v7/memory` takes, with the fields of `work` beside the
    others, so that no argument is nested.
    """

    @property
    def query(self) -> MemoryQuery:
        """The search, with `work` if any of its fields is set."""
        names = tuple(WorkContext.model_fields)
        values = {name: getattr(self, name) for name in self.model_fields_set.difference(names)}
        work = {name: value for name in names if (value := getattr(self, name))}
        return MemoryQuery.model_validate({**values, "work": work} if work else values)


class EventNamed(Message):
    """An event id."""

    event_id: Annotated[Id, Field(description="Event id, as returned by recall or remember.")]


class FactCorrection(FactChange):
    """Input of `correct_fact`: what `PATCH /api/v7/memory/facts/{fact_id}` takes, or `remove`."""

    model_config = ConfigDict(json_schema_extra={})

    fact_id: Annotated[Id, Field(description="Fact id, as returned by recall or list_facts.")]
    remove: Annotated[
        bool, Field(description="True: erase its text for good; leave the other fields out.")
    ] = False


class FactCorrected(Message):
    """Output of `correct_fact`: one of both."""

    changed: Annotated[
        FactStored | None, ABSENT_IF_NONE, Field(description="The fact as it is now.")
    ] = None
    removed: Annotated[
        FactRemoved | None, ABSENT_IF_NONE, Field(description="Receipt of the deletion.")
    ] = None


class ForgetAsked(Forget):
    """Input of `forget`: one event, or what `POST /api/v7/memory/forget` takes."""

    model_config = ConfigDict(json_schema_extra={})

    event_id: Annotated[
        Id | None, Field(description="Forget this event only; leave the other fields out.")
    ] = None

    @model_validator(mode="after")
    def _is_one(self) -> ForgetAsked:
        if self.event_id is not None and (self.is_narrowed or self.account or self.dry_run):
            raise Misfit(
                "event_id",
                "with event_id, leave session_id, after, before, account and dry_run out",
            )
        return self


class Erasing(Message):
    """Output of `forget`: one of the two fields."""

    event: Annotated[
        EventErased | None, ABSENT_IF_NONE, Field(description="Result when one event was named.")
    ] = None
    memory: Annotated[Forgotten | None, ABSENT_IF_NONE, Field(description="Result otherwise.")] = (
        None
    )


class Wanted(Message):
    """Input of `search`."""

    query: Annotated[
        Telling,
        Field(max_length=limits.QUERY_CHARACTERS_MAX, description="Search query, in any language."),
    ]


class Found(Message):
    """One search result."""

    id: Annotated[str, Field(description="Id to pass to `fetch`.")]
    title: Annotated[str, Field(description="Topic, or the beginning of the user's message.")]
    url: Annotated[str, Field(description="Address of the event in the console.")]


class FoundAll(Message):
    """Output of `search`."""

    results: Annotated[list[Found], Field(description="Events found, best first.")]


class Named(Message):
    """Input of `fetch`."""

    id: Annotated[Id, Field(description="An id that `search` returned.")]


class Document(Message):
    """Output of `fetch`."""

    id: Annotated[str, Field(description="Identifier.")]
    title: Annotated[str, Field(description="Topic, or the beginning of the user's message.")]
    text: Annotated[
        Text, Field(description="Both sides of the turn, word for word, each with its role.")
    ]
    url: Annotated[str, Field(description="Address of the event in the console.")]
    metadata: Annotated[
        dict[str, str], Field(description="`occurred_at`, `session_id`, `user_id`.")
    ]
