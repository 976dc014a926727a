"""Messages about retention: how long an account keeps turns, and what was removed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from . import limits
from .message import ExactBody, Id, InTeam, Message, example

_DAYS = "Turns older than this many days are erased; null keeps them for ever."
_EVENTS = "Only this many of a user's newest turns are kept; null keeps all."
_USER = "User whose turns it bounds; null: every user of the account without a rule of its own."


class RetentionSet(ExactBody):
    """Body of `PUT /api/v7/memory/retention`. Without `days` and `events` the rule is removed."""

    model_config = example({"user_id": "ada", "days": 365})

    user_id: Annotated[Id | None, Field(description=_USER)] = None
    days: Annotated[int | None, Field(ge=1, le=limits.RETENTION_DAYS_MAX, description=_DAYS)] = None
    events: Annotated[
        int | None, Field(ge=1, le=limits.RETENTION_EVENTS_MAX, description=_EVENTS)
    ] = None
    team: InTeam = None


class RetentionQuery(Message):
    """Parameters of `GET /api/v7/memory/retention`."""

    model_config = example({"user_id": "ada"})

    user_id: Annotated[
        Id | None, Field(description="Only what applies to this user. Default: everything.")
    ] = None
    team: InTeam = None


class RetentionRule(Message):
    """A bound on the turns of users."""

    user_id: Annotated[str | None, Field(description=_USER)]
    days: Annotated[int | None, Field(description=_DAYS)]
    events: Annotated[int | None, Field(description=_EVENTS)]
    set_by: Annotated[
        Literal["account", "server"],
        Field(description="`server`: the default of the settings, for accounts without a rule."),
    ]


class Sweep(Message):
    """Counts of one removal by expiry or retention."""

    user_id: Annotated[str | None, Field(description="User whose memory it was; null: cubes.")]
    reason: Annotated[
        Literal["expired", "days", "events"],
        Field(description="`expired`: `expires_at` had passed. Else the bound that was exceeded."),
    ]
    events: Annotated[int, Field(description="Number of turns.")]
    facts: Annotated[int, Field(description="Number of facts.")]
    summaries: Annotated[int, Field(description="Number of L1s that told of the turns.")]
    cubes: Annotated[int, Field(description="Number of cubes.")]
    at: Annotated[str, Field(description="Time of the removal (RFC 3339, UTC).")]


class Retention(Message):
    """Answer about retention."""

    rules: Annotated[list[RetentionRule], Field(description="Rules that apply, by user.")]
    sweeps: Annotated[
        list[Sweep], Field(description="The latest removals, newest first, at most 50.")
    ]
