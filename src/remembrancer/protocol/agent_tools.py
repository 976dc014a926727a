"""Inputs and outputs of agent tools that have no endpoint of their own.

`search` and `fetch` have the form that ChatGPT's connectors require.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from . import limits
from .facts import FactChange, FactRemoved, FactStored
from .forget import EventErased, Forget, Forgotten
from .message import Id, Message, Misfit, OrAbsent
from .search import MemoryQuery, WorkContext
from .text import Telling, Text


class ToolsQuery(Message):
    """Parameters of `GET /api/v7/tools`.

    Example: {"format": "openai"}
    """

    format: Literal["openai", "anthropic", "mcp"] = "openai"
    """Format: OpenAI (chat completions), Anthropic (messages) or MCP."""


class ToolsListed(Message):
    """Answer of `GET /api/v7/tools`."""

    format: str
    """Format of the tools."""
    tools: list[dict[str, Any]]
    """Tool definitions, ready to pass to that API."""


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

    event_id: Id
    """Event id, as returned by recall or remember."""


class FactCorrection(FactChange):
    """Input of `correct_fact`: what `PATCH /api/v7/memory/facts/{fact_id}` takes, or `remove`."""

    model_config = ConfigDict(json_schema_extra={})

    fact_id: Id
    """Fact id, as returned by recall or list_facts."""
    remove: bool = False
    """True: erase its text for good; leave the other fields out."""


class FactCorrected(Message):
    """Output of `correct_fact`: one of both."""

    changed: OrAbsent[FactStored] = None
    """The fact as it is now."""
    removed: OrAbsent[FactRemoved] = None
    """Receipt of the deletion."""


class ForgetAsked(Forget):
    """Input of `forget`: one event, or what `POST /api/v7/memory/forget` takes."""

    model_config = ConfigDict(json_schema_extra={})

    event_id: Id | None = None
    """Forget this event only; leave the other fields out."""

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

    event: OrAbsent[EventErased] = None
    """Result when one event was named."""
    memory: OrAbsent[Forgotten] = None
    """Result otherwise."""


class Wanted(Message):
    """Input of `search`."""

    query: Annotated[Telling, Field(max_length=limits.QUERY_CHARACTERS_MAX)]
    """Search query, in any language."""


class Found(Message):
    """One search result."""

    id: str
    """Id to pass to `fetch`."""
    title: str
    """Topic, or the beginning of the user's message."""
    url: str
    """Address of the event in the console."""


class FoundAll(Message):
    """Output of `search`."""

    results: list[Found]
    """Events found, best first."""


class Named(Message):
    """Input of `fetch`."""

    id: Id
    """An id that `search` returned."""


class Document(Message):
    """Output of `fetch`."""

    id: str
    """Identifier."""
    title: str
    """Topic, or the beginning of the user's message."""
    text: Text
    """Both sides of the turn, word for word, each with its role."""
    url: str
    """Address of the event in the console."""
    metadata: dict[str, str]
    """`occurred_at`, `session_id`, `user_id`."""
