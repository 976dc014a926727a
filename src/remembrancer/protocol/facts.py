"""Messages about critical facts: statements about a user that hold for a time."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from . import limits
from .filters import ItsMetadata, OfTurn, OnlyPassing, ReplacedMetadata
from .message import Body, Detail, ExactBody, Id, InTeam, Message, Misfit, OrAbsent, RowNumber
from .search import Author
from .sources import ItsSource
from .text import Moment, Telling
from .trust import TextSource

FactStatus = Literal["current", "superseded", "expired", "removed"]
FactText = Annotated[Telling, Field(max_length=limits.CRITICAL_CHARACTERS_MAX)]
_FactId = Annotated[str, Field(description="Identifier of the fact.")]
_FROM = "Time from which it holds (RFC 3339)."
_TO = "Time until which it holds (RFC 3339). It is kept for its history."
_EXPIRES = "Time at which its text is erased (RFC 3339), in the future."
_PINNED = "True: it comes first in every start pack."


class FactVersion(Message):
    """An earlier wording of a fact."""

    text: str
    """The wording."""
    valid_from: str
    """Time from which it held (RFC 3339, UTC)."""
    valid_to: str | None
    """Time until which it held (RFC 3339, UTC)."""


class Fact(Message):
    """A critical fact with its history."""

    fact_id: _FactId
    text: str | None
    """The fact; null once its text is erased."""
    source: ItsSource
    status: FactStatus
    """`current`: it holds. `superseded`: another fact took its place. `expired`: its time is over.
    `removed`: it was deleted."""
    kind: Literal["fact", "instruction", "preference"]
    """Fact, standing instruction or preference."""
    condition: str | None
    """When an instruction applies; null means always."""
    recognised: bool
    """True if it is a sentence of a user's turn, not stated as a fact."""
    valid_from: str
    """Time from which it holds (RFC 3339, UTC)."""
    valid_to: str | None
    """Time until which it holds (RFC 3339, UTC); null: open."""
    expires_at: str | None
    """Time at which it is erased (RFC 3339, UTC); null: never."""
    superseded_by: str | None
    """Fact that took its place; null if none did."""
    supersedes: list[str]
    """Facts whose place it took, oldest first."""
    versions: list[FactVersion]
    """Its earlier wordings, oldest first."""
    pinned: Annotated[bool, Field(description=_PINNED)]
    event_id: str | None
    """Event id of the turn it first came with, if there is one."""
    event_ids: list[str]
    """Event ids of all turns that stated it, at most 20."""
    written_by: str | None
    """Label of the key that stored it, if it is known."""
    created_at: str
    """Time it was stored (RFC 3339, UTC)."""
    metadata: ItsMetadata = None
    author: OrAbsent[Author] = None
    """Who wrote it into the memory of a team; absent for one's own."""


class FactsQuery(Message):
    """Parameters of `GET /api/v7/memory/facts`.

    Example: {"user_id": "ada", "status": "current"}
    """

    user_id: Id | None = None
    """User whose facts to list. Default: the user of the key or the session."""
    session_id: Id = "default"
    """Session whose user to use if `user_id` is missing."""
    status: Literal["current", "superseded", "expired", "removed", "all"] = "current"
    """Only facts with this status."""
    which: Literal["facts", "instructions", "all"] = "facts"
    """`facts`: those stated as facts. `instructions`: standing instructions and preferences, also
    those recognised in turns."""
    as_of: Moment | None = None
    """The facts that held at this time (RFC 3339), not in the future."""
    filters: OnlyPassing = None
    limit: Annotated[int, Field(ge=1, le=limits.FACTS_LISTED_MAX)] = 50
    """Facts on a page."""
    below: RowNumber | None = None
    """`next` of the page before: where this one begins."""
    team: InTeam = None


class FactList(Message):
    """Answer of `GET /api/v7/memory/facts`: pinned facts are not moved, newest first."""

    user_id: str
    """User whose facts these are."""
    facts: list[Fact]
    """Facts, newest first."""
    next: int | None
    """`below` of the next page; null on the last page."""


class InstructionList(Message):
    """Answer of `GET /api/v7/memory/instructions`."""

    user_id: str
    """User whose wishes these are."""
    instructions: list[Fact]
    """Standing instructions and preferences, newest first."""
    next: int | None
    """`below` of the next page; null on the last page."""


def _check_order(one: FactAdd | FactChange) -> None:
    if one.valid_from and one.valid_to and one.valid_to <= one.valid_from:
        raise Misfit("valid_to", "valid_to must be later than valid_from")


class FactAdd(Body):
    """Body of `POST /api/v7/memory/facts`.

    Example: {"user_id": "ada", "text": "Ada is allergic to penicillin."}
    """

    user_id: Id | None = None
    """User whom it is about. Default: the user of the key."""
    session_id: Id = "default"
    """Session whose user to use if `user_id` is missing."""
    text: FactText
    """The fact, as one statement."""
    source: TextSource = "user"
    """Who states it: `user`, `model`, `tool`, `file`, `import` or `other`."""
    valid_from: Annotated[Moment | None, Field(description=f"{_FROM} Default: now.")] = None
    valid_to: Annotated[Moment | None, Field(description=_TO)] = None
    expires_at: Annotated[Moment | None, Field(description=_EXPIRES)] = None
    pinned: Annotated[bool, Field(description=_PINNED)] = False
    metadata: OfTurn = None
    replaces: Id | None = None
    """Fact of the same user whose place this one takes."""
    team: InTeam = None

    @model_validator(mode="after")
    def _ordered(self) -> FactAdd:
        _check_order(self)
        return self


class FactChange(ExactBody):
    """Body of `PATCH /api/v7/memory/facts/{fact_id}`. Absent fields stay as they are.

    Example: {"pinned": true}
    """

    text: FactText | None = None
    """Another wording. The fact keeps its `fact_id`; the old wording becomes one of its
    `versions`."""
    valid_from: Annotated[Moment | None, Field(description=_FROM)] = None
    valid_to: Annotated[Moment | None, Field(description=_TO)] = None
    expires_at: Annotated[Moment | None, Field(description=_EXPIRES)] = None
    pinned: Annotated[bool | None, Field(description=_PINNED)] = None
    metadata: ReplacedMetadata = None
    status: Literal["current"] | None = None
    """`current`: a superseded fact holds again, as if it had no successor."""
    clear: Annotated[list[Literal["valid_to", "expires_at"]], Field(max_length=2)] = []  # noqa: RUF012 - pydantic copies it
    """Times to remove."""
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

    saved: bool
    """True once it is durable."""
    user_id: str
    """User whose memory it is in."""
    outcome: Literal["stored", "known", "changed"]
    """`known`: the same fact was stored before and is kept once."""
    fact: Fact
    """The fact as it is stored now."""
    may_supersede: list[str]
    """Facts that this one may replace. The rules are not sure, so nothing was changed: send
    `replaces`, or change or delete them."""
    detail: Detail = None


class FactRemoved(Message):
    """Answer of `DELETE /api/v7/memory/facts/{fact_id}`."""

    removed: bool
    """True once the text is erased for good."""
    fact_id: _FactId
    user_id: str
    """User whose memory it was in."""
    at: str
    """Time of the deletion (RFC 3339, UTC)."""
