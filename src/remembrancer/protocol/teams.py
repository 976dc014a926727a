"""Messages of teams: members, roles, invitations, and the team that a request works in."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from . import limits
from .forget import Erased, SignedReceipt
from .message import ABSENT_IF_NONE, Body, Id, InTeam, Message, RowNumber, example
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
    name: Annotated[str, Field(description="Its name.")]
    role: Role
    members: Annotated[int, Field(ge=1, description="Number of members.")]
    created_at: Annotated[str, Field(description="Time it was created (RFC 3339, UTC).")]


class TeamList(Message):
    """Answer of `GET /api/v7/teams`."""

    teams: Annotated[
        list[Team], Field(description="The teams that this key may work in, oldest first.")
    ]


class TeamCreate(Body):
    """Body of `POST /api/v7/teams`."""

    model_config = example({"name": "Garden"})

    name: TeamName
    user_id: Annotated[
        Id | None,
        Field(
            description="The one user of your account who is a member. Default: the key's pin, "
            "else every user of the account."
        ),
    ] = None


class TeamChange(Body):
    """Body of `PATCH /api/v7/teams/{team_id}`."""

    model_config = example({"name": "Garden and orchard"})

    name: TeamName


class TeamDeletion(Message):
    """Parameters of `DELETE /api/v7/teams/{team_id}`."""

    confirm: Annotated[
        Text | None,
        Field(
            max_length=limits.TEAM_NAME_CHARACTERS_MAX,
            description="The team's name: everything in its memory is erased.",
        ),
    ] = None


class TeamDeleted(Message):
    """Answer of `DELETE /api/v7/teams/{team_id}`."""

    deleted: Annotated[bool, Field(description="True: the team and its memory are gone.")]
    team_id: TeamId
    counts: Annotated[Erased, Field(description="What was erased.")]
    receipt: Annotated[
        SignedReceipt | None, ABSENT_IF_NONE, Field(description="Signed receipt of the erasure.")
    ] = None


class TeamMemberRow(Message):
    """One member of a team: an account, or one user of it."""

    member_id: Annotated[str, Field(description="Identifier of the membership.")]
    account: Annotated[str, Field(description="Account.")]
    user_id: Annotated[
        str | None, Field(description="Its one user who is a member; null: all of its users.")
    ]
    role: Role
    joined_at: Annotated[str, Field(description="Time of joining (RFC 3339, UTC).")]
    is_self: Annotated[bool, Field(description="True if it is a membership of this key's account.")]


class TeamMembers(Message):
    """Answer of `GET /api/v7/teams/{team_id}/members` and of changes of it."""

    members: Annotated[list[TeamMemberRow], Field(description="Members, oldest first.")]


class TeamMemberChange(Body):
    """Body of `PATCH /api/v7/teams/{team_id}/members`."""

    model_config = example({"member_id": "m_2daxjc42wy6rv", "role": "writer"})

    member_id: Annotated[Id, Field(description="Member whose role to change.")]
    role: Role


class TeamMemberRemoval(Message):
    """Parameters of `DELETE /api/v7/teams/{team_id}/members`."""

    member_id: Annotated[
        Id | None,
        Field(description="Member to remove. Default: this key's account, which leaves the team."),
    ] = None


class InvitationCreate(Body):
    """Body of `POST /api/v7/teams/{team_id}/invitations`."""

    model_config = example({"role": "writer", "expires_in_hours": 24})

    role: Role = "reader"
    expires_in_hours: Annotated[
        int,
        Field(
            ge=1,
            le=limits.TEAM_INVITATION_HOURS_MAX,
            description="Hours during which it can be accepted, once.",
        ),
    ] = limits.TEAM_INVITATION_HOURS_DEFAULT


class TeamInvitation(Message):
    """An invitation that nobody has accepted yet."""

    invitation_id: Annotated[str, Field(description="Identifier of the invitation.")]
    role: Role
    invited_by: Annotated[str, Field(description="Account that created it.")]
    created_at: Annotated[str, Field(description="Time it was created (RFC 3339, UTC).")]
    expires_at: Annotated[str, Field(description="Time at which it expires (RFC 3339, UTC).")]


class InvitationCreated(TeamInvitation):
    """Answer of `POST /api/v7/teams/{team_id}/invitations`."""

    token: Annotated[
        str, Field(description="What the invited account sends to accept. It is shown only here.")
    ]


class InvitationList(Message):
    """Answer of `GET /api/v7/teams/{team_id}/invitations` and of withdrawing one."""

    invitations: Annotated[
        list[TeamInvitation], Field(description="Invitations that can be accepted, oldest first.")
    ]


class InvitationRemoval(Message):
    """Parameters of `DELETE /api/v7/teams/{team_id}/invitations`."""

    model_config = example({"invitation_id": "i_2daxjc42wy6rv"})

    invitation_id: Annotated[Id, Field(description="Invitation to withdraw.")]


class InvitationAccept(Body):
    """Body of `POST /api/v7/teams/accept`."""

    model_config = example({"token": "tmi_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"})

    token: Annotated[
        Text,
        Field(
            min_length=1,
            max_length=limits.ID_CHARACTERS_MAX,
            description="Token of the invitation.",
        ),
    ]
    user_id: Annotated[
        Id | None,
        Field(
            description="The one user of your account who becomes a member. Default: the key's "
            "pin, else every user of the account."
        ),
    ] = None


class TeamAuditQuery(Message):
    """Parameters of `GET /api/v7/teams/{team_id}/audit`."""

    limit: Annotated[
        int, Field(ge=1, le=limits.AUDIT_LISTED_MAX, description="Most entries on a page.")
    ] = 50
    before: Annotated[
        RowNumber | None, Field(description="`next` of the page before: only older entries.")
    ] = None


class TeamAudit(Message):
    """Answer of `GET /api/v7/teams/{team_id}/audit`."""

    entries: Annotated[list[AuditEntry], Field(description="Entries about the team, newest first.")]
    next: Annotated[
        int | None, Field(description="`before` of the next page; null on the last page.")
    ]
