"""Endpoints of teams: the teams themselves, their members, invitations and audit entries."""

from __future__ import annotations

from ..accounts.idempotency import IdempotentRequest
from ..context import Caller, Context
from ..memory.history.teams import delete_team
from ..permissions.teams import (
    accept_invitation,
    change_member,
    create_team,
    invite_member,
    list_invitations,
    list_members,
    list_teams,
    remove_member,
    rename_team,
    show_team,
    team_audit,
    withdraw_invitation,
)
from ..protocol.errors import Conflict, NotFound
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
from .endpoint import AddressedBody, AnyEndpoint, Call, Endpoint, ThreadPool

TEAMS = "/api/v7/teams"
TEAM = TEAMS + "/{team_id}"


def _list(context: Context, caller: Caller, _: None) -> TeamList:
    return list_teams(context, caller)


def _rename(
    context: Context, caller: Caller, call: AddressedBody, once: IdempotentRequest | None
) -> Team:
    return rename_team(context, caller, call.id, call.body, once)


def _delete(
    context: Context, caller: Caller, call: AddressedBody, once: IdempotentRequest | None
) -> TeamDeleted:
    return delete_team(context, caller, call.id, call.body, once)


def _change_member(
    context: Context, caller: Caller, call: AddressedBody, once: IdempotentRequest | None
) -> TeamMembers:
    return change_member(context, caller, call.id, call.body, once)


def _remove_member(
    context: Context, caller: Caller, call: AddressedBody, once: IdempotentRequest | None
) -> TeamMembers:
    return remove_member(context, caller, call.id, call.body.member_id, once)


def _invite(call: Call[AddressedBody]) -> InvitationCreated:
    return invite_member(call.context, call.caller, call.input.id, call.input.body)


def _withdraw(
    context: Context, caller: Caller, call: AddressedBody, once: IdempotentRequest | None
) -> InvitationList:
    return withdraw_invitation(context, caller, call.id, call.body.invitation_id, once)


def _audit(context: Context, caller: Caller, call: AddressedBody) -> TeamAudit:
    return team_audit(context, caller, call.id, call.body)


ROUTES: tuple[AnyEndpoint, ...] = (
    Endpoint(
        method="GET",
        path=TEAMS,
        operation_id="list_teams",
        summary="List teams",
        description="List the teams that the key may work in, with its role in each.",
        read=_list,
        answer=TeamList,
        pool=ThreadPool.WRITE,
    ),
    Endpoint(
        method="POST",
        path=TEAMS,
        operation_id="create_team",
        summary="Create a team",
        description="Create a team with a memory of its own. The key's account becomes its owner.",
        write=create_team,
        body=TeamCreate,
        answer=Team,
        pool=ThreadPool.WRITE,
    ),
    Endpoint(
        method="POST",
        path=TEAMS + "/accept",
        operation_id="accept_invitation",
        summary="Accept an invitation",
        description="Become a member of a team with the token of an invitation, which works once. "
        "Any account of the server may accept it.",
        write=accept_invitation,
        body=InvitationAccept,
        answer=Team,
        pool=ThreadPool.WRITE,
        errors=(NotFound,),
    ),
    Endpoint(
        method="GET",
        path=TEAM,
        operation_id="show_team",
        summary="Show a team",
        description="Return one team. A team of which the key's account is no member answers 404, "
        "the same as one that does not exist.",
        read=show_team,
        answer=Team,
        pool=ThreadPool.WRITE,
    ),
    Endpoint(
        method="PATCH",
        path=TEAM,
        operation_id="rename_team",
        summary="Rename a team",
        description="Change the name of a team. For owners of the team.",
        write=_rename,
        body=TeamChange,
        answer=Team,
        pool=ThreadPool.WRITE,
    ),
    Endpoint(
        method="DELETE",
        path=TEAM,
        operation_id="delete_team",
        summary="Delete a team",
        description="Erase the memory of a team permanently, with a signed receipt, and end the "
        "team. For owners of the team; `confirm` must be its name.",
        write=_delete,
        query=TeamDeletion,
        answer=TeamDeleted,
        pool=ThreadPool.WRITE,
        errors=(Conflict,),
    ),
    Endpoint(
        method="GET",
        path=TEAM + "/members",
        operation_id="list_members",
        summary="List members",
        description="List the members of a team with their roles.",
        read=list_members,
        answer=TeamMembers,
        pool=ThreadPool.WRITE,
    ),
    Endpoint(
        method="PATCH",
        path=TEAM + "/members",
        operation_id="change_member",
        summary="Change a member's role",
        description="Change the role of a member, effective with the next request. For owners of "
        "the team, which keeps at least one owner.",
        write=_change_member,
        body=TeamMemberChange,
        answer=TeamMembers,
        pool=ThreadPool.WRITE,
        errors=(Conflict,),
    ),
    Endpoint(
        method="DELETE",
        path=TEAM + "/members",
        operation_id="remove_member",
        summary="Remove a member, or leave",
        description="Remove a member, who has no access from the next request on; without "
        "`member_id`, leave the team. What the member wrote stays with the team.",
        write=_remove_member,
        query=TeamMemberRemoval,
        answer=TeamMembers,
        pool=ThreadPool.WRITE,
        errors=(Conflict,),
    ),
    Endpoint(
        method="GET",
        path=TEAM + "/invitations",
        operation_id="list_invitations",
        summary="List invitations",
        description="List the invitations that nobody has accepted yet. For owners of the team.",
        read=list_invitations,
        answer=InvitationList,
        pool=ThreadPool.WRITE,
    ),
    Endpoint(
        method="POST",
        path=TEAM + "/invitations",
        operation_id="invite_member",
        summary="Invite a member",
        description="Create an invitation with a role. Its token is shown once, expires, and "
        "makes one account a member. For owners of the team.",
        handle=_invite,
        body=InvitationCreate,
        answer=InvitationCreated,
        pool=ThreadPool.WRITE,
    ),
    Endpoint(
        method="DELETE",
        path=TEAM + "/invitations",
        operation_id="withdraw_invitation",
        summary="Withdraw an invitation",
        description="Withdraw an invitation, so that nobody can accept it. For owners of the team.",
        write=_withdraw,
        query=InvitationRemoval,
        answer=InvitationList,
        pool=ThreadPool.WRITE,
    ),
    Endpoint(
        method="GET",
        path=TEAM + "/audit",
        operation_id="team_audit",
        summary="Audit entries of a team",
        description="Return the entries of the audit trail about a team, newest first: creation, "
        "names, invitations, members and roles. For owners of the team.",
        read=_audit,
        query=TeamAuditQuery,
        answer=TeamAudit,
        pool=ThreadPool.WRITE,
    ),
)
