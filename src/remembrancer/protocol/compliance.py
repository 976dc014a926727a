"""Protocol compliance of agents: how often they did what was due."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from . import limits
from .message import ABSENT_IF_NONE, Id, Message, example

Count = Annotated[int, Field(ge=0)]


class ComplianceQuery(Message):
    """Parameters of `GET /api/v7/agent/compliance`."""

    model_config = example({"days": 7})

    days: Annotated[
        int,
        Field(
            ge=1,
            le=limits.COMPLIANCE_DAYS_MAX,
            description="Length of the period in days, counted back from now.",
        ),
    ] = 30
    user_id: Annotated[
        Id | None,
        Field(description="Only this user. Default: all users, or the user of a pinned key."),
    ] = None
    session_id: Annotated[Id | None, Field(description="Only sessions with this name.")] = None
    all: Annotated[
        bool,
        Field(
            description="Owner only: include agents of all accounts. Sessions are always those "
            "of the own account."
        ),
    ] = False


class Part(Message):
    """One duty: how often it was done and how often it was due."""

    done: Annotated[Count, Field(description="How many times the agent did it.")]
    of: Annotated[Count, Field(description="How many times it was due.")]
    share: Annotated[
        float | None,
        Field(ge=0, le=1, description="`done` divided by `of`; null when nothing was due."),
    ]


class Figures(Message):
    """Compliance figures of an agent, a session, or all agents."""

    searches: Annotated[Count, Field(description="Interacting searches.")]
    turns: Annotated[
        Count | None,
        ABSENT_IF_NONE,
        Field(
            description="Turns stored that take part. Absent per key, because a turn does not "
            "record its key."
        ),
    ]
    looks: Annotated[Count, Field(description="Second looks.")]
    searched: Annotated[
        Part | None,
        ABSENT_IF_NONE,
        Field(description="Turns preceded by a search of their own. Absent per key."),
    ]
    remembered: Annotated[
        Part, Field(description="Searches whose turn was remembered before the next search.")
    ]
    sealed: Annotated[
        Part, Field(description="Replies whose correct seal came with the next search.")
    ]
    rated: Annotated[
        Part,
        Field(description="Cubes shown as new that were rated, including 0 and `vote_nothing`."),
    ]
    looked: Annotated[
        Part | None,
        ABSENT_IF_NONE,
        Field(description="Turns with a second look. Absent per key."),
    ]
    passed: Annotated[Part, Field(description="Turns that passed their last second look.")]


class AgentFigures(Message):
    """Figures of one key, or of searches from before keys were recorded."""

    account: Annotated[str, Field(description="Account of the agent.")]
    hint: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="First hex digits of the key. Absent when unknown."),
    ]
    label: Annotated[str | None, ABSENT_IF_NONE, Field(description="Label of the key.")]
    figures: Annotated[Figures, Field(description="Figures of the agent.")]


class SessionFigures(Message):
    """Figures of one session."""

    user_id: Annotated[str, Field(description="User of the session.")]
    session_id: Annotated[str, Field(description="Session id.")]
    last_at: Annotated[str, Field(description="Time of the last activity (RFC 3339, UTC).")]
    figures: Annotated[Figures, Field(description="Figures of the session.")]


class Compliance(Message):
    """Answer of `GET /api/v7/agent/compliance`."""

    since: Annotated[str, Field(description="Start of the period (RFC 3339, UTC).")]
    total: Annotated[Figures, Field(description="Totals.")]
    agents: Annotated[
        list[AgentFigures],
        Field(description="Keys that searched or asked for a second look, most active first."),
    ]
    sessions: Annotated[
        list[SessionFigures],
        Field(description="Sessions, most recently active first."),
    ]
    sessions_left_out: Annotated[
        Count,
        Field(description="Number of older sessions that are not listed. The totals include them."),
    ]
