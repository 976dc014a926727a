"""Messages about critical facts: statements about a user that hold for a time."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from . import limits
from .message import (
    ABSENT_IF_NONE,
    Body,
    Detail,
    ExactBody,
    Id,
    InTeam,
    Message,
    Misfit,
    RowNumber,
    example,
)
from .search import Author
from .text import Moment, Telling

FactStatus = Literal["current", "superseded", "expired", "removed"]
FactText = Annotated[Telling, Field(max_length=limits.CRITICAL_CHARACTERS_MAX)]
_FactId = Annotated[str, Field(description="Identifier of the fact.")]
_FROM = "Time from which it holds (RFC 3339)."
_TO = "Time until which it holds (RFC 3339). It is kept for its history."
_EXPIRES = "Time at which its text is erased (RFC 3339), in the future."
_PINNED = "True: it comes first in every start pack."


class Fact(Message):
    """A critical fact with its history."""

    fact_id: _FactId
    text: Annotated[str | None, Field(description="The fact; null once its text is erased.")]
    status: Annotated[
        FactStatus,
        Field(
            description="`current`: it holds. `superseded`: another fact took its place. "
            "`expired`: its time is over. `removed`: it was deleted."
        ),
    ]
    kind: Annotated[
        Literal["fact", "instruction", "preference"],
        Field(description="Fact, standing instruction or preference."),
    ]
    condition: Annotated[
        str | None, Field(description="When an instruction applies; null means always.")
    ]
    recognised: Annotated[
        bool, Field(description="True if it is a sentence of a user's turn, not stated as a fact.")
    ]
    valid_from: Annotated[str, Field(description="Time from which it holds (RFC 3339, UTC).")]
    valid_to: Annotated[
        str | None, Field(description="Time until which it holds (RFC 3339, UTC); null: open.")
    ]
    expires_at: Annotated[
        str | None, Field(description="Time at which it is erased (RFC 3339, UTC); null: never.")
    ]
    superseded_by: Annotated[
        str | None, Field(description="Fact that took its place; null if none did.")
    ]
    supersedes: Annotated[list[str], Field(description="Facts whose place it took, oldest first.")]
    pinned: Annotated[bool, Field(description=_PINNED)]
    event_id: Annotated[
        str | None, Field(description="Event id of the turn it first came with, if there is one.")
    ]
    event_ids: Annotated[
        list[str], Field(description="Event ids of all turns that stated it, at most 20.")
    ]
    written_by: Annotated[
        str | None, Field(description="Label of the key that stored it, if it is known.")
    ]
    created_at: Annotated[str, Field(description="Time it was stored (RFC 3339, UTC).")]
    author: Annotated[
        Author | None,
        ABSENT_IF_NONE,
        Field(description="Who wrote it into the memory of a team; absent for one's own."),
    ] = None


class FactsQuery(Message):
    """Parameters of `GET /api/v7/memory/facts`."""

    model_config = example({"user_id": "ada", "status": "current"})

    user_id: Annotated[
        Id | None,
        Field(description="User whose facts to list. Default: the user of the key or the session."),
    ] = None
    session_id: Annotated[
        Id, Field(description="Session whose user to use if `user_id` is missing.")
    ] = "default"
    status: Annotated[
        Literal["current", "superseded", "expired", "removed", "all"],
        Field(description="Only facts with this status."),
    ] = "current"
    which: Annotated[
        Literal["facts", "instructions", "all"],
        Field(
            description="`facts`: those stated as facts. `instructions`: standing instructions and "
            "preferences, also those recognised in turns."
        ),
    ] = "facts"
    as_of: Annotated[
        Moment | None,
        Field(description="The facts that held at this time (RFC 3339), not in the future."),
    ] = None
    limit: Annotated[
        int, Field(ge=1, le=limits.FACTS_LISTED_MAX, description="Facts on a page.")
    ] = 50
    below: Annotated[
        RowNumber | None, Field(description="`next` of the page before: where this one begins.")
    ] = None
    team: InTeam = None


class FactList(Message):
    """Answer of `GET /api/v7/memory/facts`: pinned facts are not moved, newest first."""

    user_id: Annotated[str, Field(description="User whose facts these are.")]
    facts: Annotated[list[Fact], Field(description="Facts, newest first.")]
    next: Annotated[
        int | None, Field(description="`below` of the next page; null on the last page.")
    ]


class InstructionList(Message):
    """Answer of `GET /api/v7/memory/instructions`."""

    user_id: Annotated[str, Field(description="User whose wishes these are.")]
    instructions: Annotated[
        list[Fact], Field(description="Standing instructions and preferences, newest first.")
    ]
    next: Annotated[
        int | None, Field(description="`below` of the next page; null on the last page.")
    ]


def _check_order(one: FactAdd | FactChange) -> None:
    if one.valid_from and one.valid_to and one.valid_to <= one.valid_from:
        raise Misfit("valid_to", "valid_to must be later than valid_from")


class FactAdd(Body):
    """Body of `POST /api/v7/memory/facts`."""

    model_config = example({"user_id": "ada", "text": "Ada is allergic to penicillin."})

    user_id: Annotated[
        Id | None, Field(description="User whom it is about. Default: the user of the key.")
    ] = None
    session_id: Annotated[
        Id, Field(description="Session whose user to use if `user_id` is missing.")
    ] = "default"
    text: Annotated[FactText, Field(description="The fact, as one statement.")]
    valid_from: Annotated[Moment | None, Field(description=f"{_FROM} Default: now.")] = None
    valid_to: Annotated[Moment | None, Field(description=_TO)] = None
    expires_at: Annotated[Moment | None, Field(description=_EXPIRES)] = None
    pinned: Annotated[bool, Field(description=_PINNED)] = False
    replaces: Annotated[
        Id | None, Field(description="Fact of the same user whose place this one takes.")
    ] = None
    team: InTeam = None

    @model_validator(mode="after")
    def _ordered(self) -> FactAdd:
        _check_order(self)
        return self


class FactChange(ExactBody):
    """Body of `PATCH /api/v7/memory/facts/{fact_id}`. Absent fields stay as they are."""

    model_config = example({"pinned": True})

    text: Annotated[
        FactText | None,
        Field(
            description="Another wording. It becomes a new fact, which supersedes this one: the "
            "answer has its `fact_id`."
        ),
    ] = None
    valid_from: Annotated[Moment | None, Field(description=_FROM)] = None
    valid_to: Annotated[Moment | None, Field(description=_TO)] = None
    expires_at: Annotated[Moment | None, Field(description=_EXPIRES)] = None
    pinned: Annotated[bool | None, Field(description=_PINNED)] = None
    status: Annotated[
        Literal["current"] | None,
        Field(description="`current`: a superseded fact holds again, as if it had no successor."),
    ] = None
    clear: Annotated[
        list[Literal["valid_to", "expires_at"]],
        Field(max_length=2, description="Times to remove."),
    ] = []  # noqa: RUF012 - pydantic copies it
    team: InTeam = None

    @model_validator(mode="after")
    def _ordered(self) -> FactChange:
        _check_order(self)
        for name in self.clear:
            if getattr(self, name) is not None:
                raise Misfit(name, f"{name} is both set and cleared")
        return self


class FactStored(Message):
    """Answer to a fact that was added or changed."""

    saved: Annotated[bool, Field(description="True once it is durable.")]
    user_id: Annotated[str, Field(description="User whose memory it is in.")]
    outcome: Annotated[
        Literal["stored", "known", "changed"],
        Field(description="`known`: the same fact was stored before and is kept once."),
    ]
    fact: Annotated[Fact, Field(description="The fact as it is stored now.")]
    may_supersede: Annotated[
        list[str],
        Field(
            description="Facts that this one may replace. The rules are not sure, so nothing was "
            "changed: send `replaces`, or change or delete them."
        ),
    ]
    detail: Detail = None


class FactRemoved(Message):
    """Answer of `DELETE /api/v7/memory/facts/{fact_id}`."""

    removed: Annotated[bool, Field(description="True once the text is erased for good.")]
    fact_id: _FactId
    user_id: Annotated[str, Field(description="User whose memory it was in.")]
    at: Annotated[str, Field(description="Time of the deletion (RFC 3339, UTC).")]
