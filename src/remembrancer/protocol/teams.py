"""Messages of teams: members, roles, invitations, and the team that a request works in."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from . import limits
from .forget import Erased, SignedReceipt
from .message import Body, Id, InTeam, Message, OrAbsent, RowNumber
from .permissions import AuditEntry
from .text import Text

TeamRole: TypeAlias = Literal["reader", "writer", "owner"]
ROLES: tuple[TeamRole, ...] = ("reader", "writer", "owner")  # each may do what those before it may

TeamId = Annotated[str, Field(description="Identifier of the team.")]
TeamName = Annotated[
    Text, Field(min_length=1, max_length=limits.TEAM_NAME_CHARACTERS_MAX, description="Its name.")
]
Role = Annotated[
    TeamRole,
    Field(
        description="`reader`: search and read. `writer`: also store, and change or erase what one "
        "wrote. `owner`: also manage members, invitations and the team, and erase everything."
    ),
]


class TeamQuery(Message):
    """The parameter `team` of requests that have no other parameters and no body."""

    team: InTeam = None


class Team(Message):
    """A team, as one of its members sees it."""

    team_id: TeamId
    name: str
    """Its name."""
    role: Role
    members: Annotated[int, Field(ge=1)]
    """Number of members."""
    created_at: str
    """Time it was created (RFC 3339, UTC)."""


class TeamList(Message):
    """Answer of `GET /api/v7/teams`."""

    teams: list[Team]
    """The teams that this key may work in, oldest first."""


class TeamCreate(Body):
    """Body of `POST /api/v7/teams`.

    Example: {"name": "Garden"}
    """

    name: TeamName
    user_id: Id | None = None
    """The one user of your account who is a member. Default: the key's pin, else every user of the
    account."""


class TeamChange(Body):
    """Body of `PATCH /api/v7/teams/{team_id}`.

    Example: {"name": "Garden and orchard"}
    """

    name: TeamName


class TeamDeletion(Message):
    """Parameters of `DELETE /api/v7/teams/{team_id}`."""

    confirm: Annotated[Text | None, Field(max_length=limits.TEAM_NAME_CHARACTERS_MAX)] = None
    """The team's name: everything in its memory is erased."""


class TeamDeleted(Message):
    """Answer of `DELETE /api/v7/teams/{team_id}`."""

    deleted: bool
    """True: the team and its memory are gone."""
    team_id: TeamId
    counts: Erased
    """What was erased."""
    receipt: OrAbsent[SignedReceipt] = None
    """Signed receipt of the erasure."""


class TeamMemberRow(Message):
    """One member of a team: an account, or one user of it."""

    member_id: str
    """Identifier of the membership."""
    account: str
    """Account."""
    user_id: str | None
    """Its one user who is a member; null: all of its users."""
    role: Role
    joined_at: str
    """Time of joining (RFC 3339, UTC)."""
    is_self: bool
    """True if it is a membership of this key's account."""


class TeamMembers(Message):
    """Answer of `GET /api/v7/teams/{team_id}/members` and of changes of it."""

    members: list[TeamMemberRow]
    """Members, oldest first."""


class TeamMemberChange(Body):
    """Body of `PATCH /api/v7/teams/{team_id}/members`.

    Example: {"member_id": "m_2daxjc42wy6rv", "role": "writer"}
    """

    member_id: Id
    """Member whose role to change."""
    role: Role


class TeamMemberRemoval(Message):
    """Parameters of `DELETE /api/v7/teams/{team_id}/members`."""

    member_id: Id | None = None
    """Member to remove. Default: this key's account, which leaves the team."""


class InvitationCreate(Body):
    """Body of `POST /api/v7/teams/{team_id}/invitations`.

    Example: {"role": "writer", "expires_in_hours": 24}
    """

    role: Role = "reader"
    expires_in_hours: Annotated[int, Field(ge=1, le=limits.TEAM_INVITATION_HOURS_MAX)] = (
        limits.TEAM_INVITATION_HOURS_DEFAULT
    )
    """Hours during which it can be accepted, once."""


class TeamInvitation(Message):
    """An invitation that nobody has accepted yet."""

    invitation_id: str
    """Identifier of the invitation."""
    role: Role
    invited_by: str
    """Account that created it."""
    created_at: str
    """Time it was created (RFC 3339, UTC)."""
    expires_at: str
    """Time at which it expires (RFC 3339, UTC)."""


class InvitationCreated(TeamInvitation):
    """Answer of `POST /api/v7/teams/{team_id}/invitations`."""

    token: str
    """What the invited account sends to accept. It is shown only here."""


class InvitationList(Message):
    """Answer of `GET /api/v7/teams/{team_id}/invitations` and of withdrawing one."""

    invitations: list[TeamInvitation]
    """Invitations that can be accepted, oldest first."""


class InvitationRemoval(Message):
    """Parameters of `DELETE /api/v7/teams/{team_id}/invitations`.

    Example: {"invitation_id": "i_2daxjc42wy6rv"}
    """

    invitation_id: Id
    """Invitation to withdraw."""


class InvitationAccept(Body):
    """Body of `POST /api/v7/teams/accept`.

    Example: {"token": "tmi_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"}
    """

    token: Annotated[Text, Field(min_length=1, max_length=limits.ID_CHARACTERS_MAX)]
    """Token of the invitation."""
    user_id: Id | None = None
    """The one user of your account who becomes a member. Default: the key's pin, else every user of
    the account."""


class TeamAuditQuery(Message):
    """Parameters of `GET /api/v7/teams/{team_id}/audit`."""

    limit: Annotated[int, Field(ge=1, le=limits.AUDIT_LISTED_MAX)] = 50
    """Most entries on a page."""
    before: RowNumber | None = None
    """`next` of the page before: only older entries."""


class TeamAudit(Message):
    """Answer of `GET /api/v7/teams/{team_id}/audit`."""

    entries: list[AuditEntry]
    """Entries about the team, newest first."""
    next: int | None
    """`before` of the next page; null on the last page."""
