"""`remembrancer teams`: list and create teams, invite, list and remove members."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .commands import DataFolder, open_store_records, print_table
from .output import Commands

app = Commands(
    no_args_is_help=True,
    help="Create teams and manage their members. Works while a server is running.",
)
Team = Annotated[str, typer.Argument(metavar="TEAM", help="Id or name of the team.")]
Account = Annotated[str | None, typer.Option(help="Account that acts. Default: the owner's.")]


@app.command("list")
def list_teams(context: typer.Context, account: Account = None, data: DataFolder = None) -> None:
    """List the teams of an account."""
    from ..accounts import caller_for
    from ..permissions import teams

    with open_store_records(context, data) as records:
        rows = teams.list_teams(records, caller_for(records, account)).teams
    print_table(
        ("team", "name", "role", "members", "created"),
        [(row.team_id, row.name, row.role, str(row.members), row.created_at) for row in rows],
    )


@app.command("create")
def create(
    context: typer.Context, name: str, account: Account = None, data: DataFolder = None
) -> None:
    """Create a team, whose owner the account becomes. Its id is the last line of stdout.

    Args:
        name: Name of the team.
    """
    from ..accounts import caller_for
    from ..permissions import teams
    from ..protocol.teams import TeamCreate

    with open_store_records(context, data) as records:
        name = teams.team_name(name)
        team = teams.create_team(records, caller_for(records, account), TeamCreate(name=name))
    print(team.team_id)


@app.command("members")
def members(
    context: typer.Context, team: Team, account: Account = None, data: DataFolder = None
) -> None:
    """List the members of a team."""
    from ..accounts import caller_for
    from ..permissions import teams

    with open_store_records(context, data) as records:
        rows = teams.list_members(records, caller_for(records, account), team).members
    print_table(
        ("member", "account", "user_id", "role", "since"),
        [
            (row.member_id, row.account, row.user_id or "every user", row.role, row.joined_at)
            for row in rows
        ],
    )


@app.command("invite")
def invite(
    context: typer.Context,
    team: Team,
    role: str = "reader",
    hours: int = 168,
    account: Account = None,
    data: DataFolder = None,
) -> None:
    """Create an invitation. Its token is printed once, as the last line of stdout.

    Args:
        role: `reader`, `writer` or `owner`.
        hours: Hours during which the invitation works.
    """
    from pydantic import ValidationError

    from ..accounts import caller_for
    from ..permissions import teams
    from ..protocol.teams import InvitationCreate

    try:
        request = InvitationCreate.model_validate({"role": role, "expires_in_hours": hours})
    except ValidationError as error:
        fault = error.errors()[0]
        option = "role" if fault["loc"][0] == "role" else "hours"
        raise typer.BadParameter(str(fault["msg"]), param_hint=f"--{option}") from error
    with open_store_records(context, data) as records:
        invitation = teams.invite_member(records, caller_for(records, account), team, request)
    print(f"Role {invitation.role}, works once until {invitation.expires_at}.", file=sys.stderr)
    print(invitation.token)


@app.command("accept")
def accept(
    context: typer.Context,
    token: str,
    account: Account = None,
    user_id: str | None = None,
    data: DataFolder = None,
) -> None:
    """Accept an invitation for an account.

    Args:
        token: Token of the invitation.
        user_id: Only this user of the account becomes a member.
    """
    from ..accounts import caller_for
    from ..permissions import teams
    from ..protocol.teams import InvitationAccept

    with open_store_records(context, data) as records:
        request = InvitationAccept.model_construct(token=token, user_id=user_id)
        team = teams.accept_invitation(records, caller_for(records, account), request)
    print(f"{team.team_id} {team.name}: {team.role}")


@app.command("remove")
def remove(
    context: typer.Context,
    team: Team,
    member: Annotated[str | None, typer.Argument(metavar="MEMBER")] = None,
    account: Account = None,
    data: DataFolder = None,
) -> None:
    """Remove a member, or leave a team.

    Args:
        member: Id of the member in `teams members`. Default: the account itself leaves.
    """
    from ..accounts import caller_for
    from ..permissions import teams
    from ..protocol.teams import TeamMemberRemoval

    with open_store_records(context, data) as records:
        removal = TeamMemberRemoval(member_id=member)
        teams.remove_member(records, caller_for(records, account), team, removal)
    print("The membership has ended.", file=sys.stderr)
