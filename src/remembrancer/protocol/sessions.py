"""Messages of the list of sessions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from . import limits
from .message import Id, InTeam, Message, example

CURSOR_PATTERN = r"^[0-9]{1,16}_[0-9]{1,18}$"  # time of the latest turn in ms and a row number


class SessionsQuery(Message):
    """Parameters of `GET /api/v7/sessions`."""

    model_config = example({"user_id": "ada", "limit": 20})

    user_id: Annotated[
        Id | None,
        Field(
            description="User whose sessions to list. Default: the key's pin, else the account's "
            "name."
        ),
    ] = None
    limit: Annotated[
        int, Field(ge=1, le=limits.SESSIONS_PAGE_MAX, description="Most sessions on a page.")
    ] = 50
    cursor: Annotated[
        str | None,
        Field(
            pattern=CURSOR_PATTERN,
            description="`next` of the page before: where this one begins.",
        ),
    ] = None
    team: InTeam = None


class ListedSession(Message):
    """One session of a list."""

    session_id: Annotated[str, Field(description="Identifier of the session.")]
    turns: Annotated[int, Field(description="Number of turns.")]
    summaries: Annotated[int, Field(description="Number of L1 summaries.")]
    steps: Annotated[int, Field(description="Number of searches that counted a step.")]
    topic: Annotated[str | None, Field(description="Topic of the latest turn, if it has one.")]
    query: Annotated[str, Field(description="Beginning of the latest user message.")]
    task_open: Annotated[bool, Field(description="True if a task was opened and is not done.")]
    created_at: Annotated[str, Field(description="Time the session began (RFC 3339, UTC).")]
    last_turn_at: Annotated[
        str, Field(description="Time the latest turn was stored (RFC 3339, UTC).")
    ]


class SessionList(Message):
    """Answer of `GET /api/v7/sessions`: one page, the latest turn first."""

    user_id: Annotated[str, Field(description="User whose sessions these are.")]
    sessions: Annotated[list[ListedSession], Field(description="Sessions, latest turn first.")]
    next: Annotated[
        str | None, Field(description="`cursor` of the next page; null on the last page.")
    ]
