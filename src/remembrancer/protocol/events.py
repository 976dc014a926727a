"""Messages of the list of events."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from . import limits
from .message import ABSENT_IF_NONE, Created, Id, InTeam, Message, example
from .search import Author, EventId, Occurred
from .text import Moment

CURSOR_PATTERN = r"^-?[0-9]{1,16}_[0-9]{1,10}$"  # a time in ms and a number in the space


class EventsQuery(Message):
    """Parameters of `GET /api/v7/events`."""

    model_config = example({"user_id": "ada", "limit": 20})

    user_id: Annotated[
        Id | None,
        Field(
            description="User whose events to list. Default: the user of the key or the session."
        ),
    ] = None
    session_id: Annotated[Id | None, Field(description="Only turns of this session.")] = None
    after: Annotated[
        Moment | None,
        Field(description="Only events that occurred at or after this time (RFC 3339)."),
    ] = None
    before: Annotated[
        Moment | None, Field(description="Only events that occurred before this time (RFC 3339).")
    ] = None
    order: Annotated[Literal["newest", "oldest"], Field(description="Which events come first.")] = (
        "newest"
    )
    limit: Annotated[
        int, Field(ge=1, le=limits.EVENTS_PAGE_MAX, description="Most events on a page.")
    ] = 50
    cursor: Annotated[
        str | None,
        Field(
            pattern=CURSOR_PATTERN,
            description="`next` of the page before: where this one begins.",
        ),
    ] = None
    team: InTeam = None


class ListedEvent(Message):
    """One turn of a list, complete."""

    event_id: EventId
    session_id: Annotated[str, Field(description="Session of the turn.")]
    topic: Annotated[str | None, Field(description="Topic, if it has one.")]
    query: Annotated[str, Field(description="The user's message, complete.")]
    response: Annotated[str, Field(description="The response, complete.")]
    flags: Annotated[list[str], Field(description="Flags, as in the event's detail.")]
    occurred_at: Occurred
    created_at: Created
    author: Annotated[
        Author | None,
        ABSENT_IF_NONE,
        Field(description="Who wrote it into the memory of a team; absent for one's own."),
    ] = None


class EventList(Message):
    """Answer of `GET /api/v7/events`: one page, in the order of `occurred_at`."""

    user_id: Annotated[str, Field(description="User whose events these are.")]
    events: Annotated[list[ListedEvent], Field(description="Events, complete.")]
    next: Annotated[
        str | None, Field(description="`cursor` of the next page; null on the last page.")
    ]
