"""Requests of the client about teams: a part of `requests.py`."""

from __future__ import annotations

from ..protocol.teams import (
    InvitationAccept,
    InvitationCreate,
    InvitationCreated,
    InvitationList,
    InvitationRemoval,
    Team,
    TeamAudit,
    TeamAuditQuery,
    TeamChange,
    TeamCreate,
    TeamDeleted,
    TeamDeletion,
    TeamList,
    TeamMemberChange,
    TeamMemberRemoval,
    TeamMembers,
)
from .api_request import ApiRequest, delete, get, parse_as, path_segment, post, write

__all__ = [
    "accept_invitation",
    "change_member",
    "create_team",
    "delete_team",
    "invite_member",
    "list_invitations",
    "list_members",
    "list_teams",
    "remove_member",
    "rename_team",
    "show_team",
    "team_audit",
    "withdraw_invitation",
]

_TEAMS = "/api/v7/teams"


def _team(team_id: str) -> str:
    return f"{_TEAMS}/{path_segment(team_id)}"


def list_teams() -> ApiRequest[TeamList]:
    """List the teams that the key may work in."""
    return get(TeamList, _TEAMS)


def create_team(team: TeamCreate, *, idempotency_key: str | None = None) -> ApiRequest[Team]:
    """Create a team, of which the key's account becomes the owner."""
    return write(Team, _TEAMS, team, idempotency_key)


def accept_invitation(
    invitation: InvitationAccept, *, idempotency_key: str | None = None
) -> ApiRequest[Team]:
    """Become a member of a team with the token of an invitation."""
    return write(Team, f"{_TEAMS}/accept", invitation, idempotency_key)


def show_team(team_id: str) -> ApiRequest[Team]:
    """Return one team, by its id or name."""
    return get(Team, _team(team_id))


def rename_team(
    team_id: str, change: TeamChange, *, idempotency_key: str | None = None
) -> ApiRequest[Team]:
    """Change the name of a team. Only for its owners."""
    return write(Team, _team(team_id), change, idempotency_key, method="PATCH")


def delete_team(
    team_id: str, query: TeamDeletion | None = None, *, idempotency_key: str | None = None
) -> ApiRequest[TeamDeleted]:
    """Erase the memory of a team and end it; `confirm` is its name. Only for its owners."""
    return delete(TeamDeleted, _team(team_id), idempotency_key, query)


def list_members(team_id: str) -> ApiRequest[TeamMembers]:
    """List the members of a team."""
    return get(TeamMembers, _team(team_id) + "/members")


def change_member(
    team_id: str, change: TeamMemberChange, *, idempotency_key: str | None = None
) -> ApiRequest[TeamMembers]:
    """Change the role of a member. Only for owners of the team."""
    path = _team(team_id) + "/members"
    return write(TeamMembers, path, change, idempotency_key, method="PATCH")


def remove_member(
    team_id: str, query: TeamMemberRemoval | None = None, *, idempotency_key: str | None = None
) -> ApiRequest[TeamMembers]:
    """Remove a member, which only owners may; without a query, leave the team."""
    return delete(TeamMembers, _team(team_id) + "/members", idempotency_key, query)


def list_invitations(team_id: str) -> ApiRequest[InvitationList]:
    """List the open invitations of a team. Only for its owners."""
    return get(InvitationList, _team(team_id) + "/invitations")


def invite_member(team_id: str, invitation: InvitationCreate) -> ApiRequest[InvitationCreated]:
    """Create an invitation, whose token is only in this answer. Only for owners of the team.

    The request is not retried: each one creates an invitation.
    """
    path = _team(team_id) + "/invitations"
    return post(parse_as(InvitationCreated), path, invitation, is_retry_safe=False)


def withdraw_invitation(
    team_id: str, query: InvitationRemoval, *, idempotency_key: str | None = None
) -> ApiRequest[InvitationList]:
    """Withdraw an invitation. Only for owners of the team."""
    return delete(InvitationList, _team(team_id) + "/invitations", idempotency_key, query)


def team_audit(team_id: str, query: TeamAuditQuery | None = None) -> ApiRequest[TeamAudit]:
    """List the audit entries of a team, newest first. Only for its owners."""
    return get(TeamAudit, _team(team_id) + "/audit", query)
