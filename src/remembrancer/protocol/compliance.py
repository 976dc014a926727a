"""How well agents keep to the protocol: what they did of what was due."""

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
            description="The last so many days, to the millisecond.",
        ),
    ] = 30
    user_id: Annotated[
        Id | None,
        Field(
            description="Only what was done for this user. Default: all, with a pinned key its own."
        ),
    ] = None
    session_id: Annotated[Id | None, Field(description="Only sessions of this name.")] = None
    all: Annotated[
        bool,
        Field(
            description="Agents of all accounts, for an owner; sessions are always of the own account."
        ),
    ] = False


class Part(Message):
    """What was done of what was due."""

    done: Annotated[Count, Field(description="How often it was done.")]
    of: Annotated[Count, Field(description="How often it was due.")]
    share: Annotated[
        float | None,
        Field(ge=0, le=1, description="The one by the other; null while nothing was due."),
    ]


class Figures(Message):
    """The figures of an agent, a session, or all together."""

    searches: Annotated[Count, Field(description="Searches that counted.")]
    turns: Annotated[
        Count | None,
        ABSENT_IF_NONE,
        Field(description="Turns kept; absent for a key, for a turn does not know its key."),
    ]
    looks: Annotated[Count, Field(description="Second looks.")]
    searched: Annotated[
        Part | None,
        ABSENT_IF_NONE,
        Field(description="Turns that came after a search of their own; absent for a key."),
    ]
    remembered: Annotated[
        Part, Field(description="Searches whose turn was remembered before the next one.")
    ]
    sealed: Annotated[
        Part, Field(description="Replies whose seal came with the next search, and was right.")
    ]
    rated: Annotated[
        Part,
        Field(description="Cubes shown as new that were rated, 0 and `vote_nothing` included."),
    ]
    looked: Annotated[
        Part | None,
        ABSENT_IF_NONE,
        Field(description="Turns that had a second look; absent for a key."),
    ]
    passed: Annotated[Part, Field(description="Turns looked at that passed their last look.")]


class AgentFigures(Message):
    """What one agent did: one key, or what was done before searches knew their key."""

    account: Annotated[str, Field(description="Whose agent.")]
    hint: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="The first hex digits of its key; absent where it is not known."),
    ]
    label: Annotated[str | None, ABSENT_IF_NONE, Field(description="What the key is called.")]
    figures: Annotated[Figures, Field(description="What it did.")]


class SessionFigures(Message):
    """What was done in one session."""

    user_id: Annotated[str, Field(description="Whose session.")]
    session_id: Annotated[str, Field(description="Which.")]
    last_at: Annotated[
        str, Field(description="When something was last done in it (RFC 3339, UTC).")
    ]
    figures: Annotated[Figures, Field(description="What was done.")]


class Compliance(Message):
    """Answer of `GET /api/v7/agent/compliance`."""

    since: Annotated[str, Field(description="From when on (RFC 3339, UTC).")]
    total: Annotated[Figures, Field(description="All together.")]
    agents: Annotated[
        list[AgentFigures],
        Field(description="Each key that searched or looked, the busiest first."),
    ]
    sessions: Annotated[
        list[SessionFigures],
        Field(description="The sessions where something was done last, newest first."),
    ]
    sessions_left_out: Annotated[
        Count, Field(description="How many older ones are not listed; they are in the total.")
    ]
