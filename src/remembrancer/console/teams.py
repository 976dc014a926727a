"""The teams page: teams, members, invitations, recent turns and audit entries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from pydantic import BaseModel
from starlette.responses import Response

from ..accounts.teams import enter
from ..memory.history.browse import list_events
from ..memory.history.endings import erase_due
from ..memory.history.forget import delete_team
from ..permissions import teams
from ..protocol.errors import Problem
from ..protocol.memory import EventsQuery
from ..protocol.teams import (
    ROLES,
    InvitationAccept,
    InvitationCreate,
    InvitationCreated,
    InvitationRemoval,
    Team,
    TeamAuditQuery,
    TeamChange,
    TeamCreate,
    TeamDeletion,
    TeamMemberChange,
    TeamMemberRemoval,
)
from . import browser_session
from .browser_session import BrowserRequest, Page
from .layout import link_to, number_in, parse_form

PATH = "/console/teams"
TURNS_SHOWN, ENTRIES_SHOWN = 10, 25


def show(browser: BrowserRequest) -> Response:
    """Show the teams of the account, or one of them."""
    return _page(browser, browser.request.query_params.get("team", ""))


# --- Forms: each returns the team to show next and a notice, or a whole page ------------------

Outcome: TypeAlias = tuple[str, str] | Response


def _create(browser: BrowserRequest, request: TeamCreate) -> Outcome:
    team = teams.create_team(*browser.arguments, request)
    return team.team_id, "The team is created. Invite its members here."


def _accept(browser: BrowserRequest, request: InvitationAccept) -> Outcome:
    team = teams.accept_invitation(*browser.arguments, request)
    return team.team_id, f"You are a member now. Your role: {team.role}."


def _rename(browser: BrowserRequest, request: TeamChange) -> Outcome:
    teams.rename_team(*browser.arguments, _team_id(browser), request)
    return _team_id(browser), "The name is changed."


def _invite(browser: BrowserRequest, request: InvitationCreate) -> Outcome:
    if error_message := browser_session.password_error(browser):
        return _page(browser, _team_id(browser), error=("invite", error_message), status=422)
    invitation = teams.invite_member(*browser.arguments, _team_id(browser), request)
    return _page(browser, _team_id(browser), invitation=invitation)  # its token is shown once


def _withdraw(browser: BrowserRequest, request: InvitationRemoval) -> Outcome:
    teams.withdraw_invitation(*browser.arguments, _team_id(browser), request)
    return _team_id(browser), "The invitation no longer works."


def _change_role(browser: BrowserRequest, request: TeamMemberChange) -> Outcome:
    teams.change_member(*browser.arguments, _team_id(browser), request)
    return _team_id(browser), "The role holds from the next request on."


def _remove(browser: BrowserRequest, request: TeamMemberRemoval) -> Outcome:
    """Remove a member, or leave the team."""
    left = teams.remove_member(*browser.arguments, _team_id(browser), request)
    notice = "The membership has ended. What the member wrote stays with the team."
    return _team_id(browser) if any(row.is_self for row in left.members) else "", notice


def _delete(browser: BrowserRequest, request: TeamDeletion) -> Outcome:
    delete_team(*browser.arguments, _team_id(browser), request)
    return "", "The team and its memory are erased."


# By the last part of its address: the request of a form, its fields, and what it does.
_FORMS: dict[str, tuple[type[BaseModel], tuple[str, ...], Callable[..., Outcome]]] = {
    "create": (TeamCreate, ("name", "user_id"), _create),
    "accept": (InvitationAccept, ("token", "user_id"), _accept),
    "rename": (TeamChange, ("name",), _rename),
    "invite": (InvitationCreate, ("role", "expires_in_hours"), _invite),
    "withdraw": (InvitationRemoval, ("invitation_id",), _withdraw),
    "role": (TeamMemberChange, ("member_id", "role"), _change_role),
    "remove": (TeamMemberRemoval, ("member_id",), _remove),
    "delete": (TeamDeletion, ("confirm",), _delete),
}


def _send(browser: BrowserRequest, *, name: str) -> Response:
    """Do what a form asks for, or show the page with the error of the form."""
    browser.form_session()
    model, fields, act = _FORMS[name]
    values: dict[str, Any] = {field: browser.form.get(field, "").strip() for field in fields}
    if "user_id" in values:
        values["user_id"] = values["user_id"] or None
    if "expires_in_hours" in values:
        values["expires_in_hours"] = number_in(values["expires_in_hours"])
    request = parse_form(model, values)
    if isinstance(request, dict):
        message, status = " ".join(request.values()), 422
    else:
        try:
            outcome = act(browser, request)
        except Problem as error:
            if name == "withdraw" or (error.status in (401, 403, 404) and name != "accept"):
                raise
            message, status = error.detail, error.status
        else:
            if isinstance(outcome, Response):
                return outcome
            team_id, notice = outcome
            return browser.redirect(link_to(PATH, team=team_id), notice=notice)
    place = "role" if name == "remove" else name  # where the page shows it
    return _page(browser, _team_id(browser), error=(place, message), status=status)


# --- The page --------------------------------------------------------------------------------


def _page(
    browser: BrowserRequest,
    team_id: str,
    *,
    invitation: InvitationCreated | None = None,
    error: tuple[str, str] | None = None,
    status: int = 200,
) -> Response:
    context, caller = browser.context, browser.caller()
    team = teams.show_team(context, caller, team_id) if team_id else None
    return browser.page(
        "teams.html",
        status=status,
        teams=teams.list_teams(context, caller).teams,
        team=team,
        invitation=invitation,
        error=error,
        roles=ROLES,
        form=browser.form,
        **(_details(browser, team) if team else {}),
    )


def _details(browser: BrowserRequest, team: Team) -> dict[str, Any]:
    context, caller = browser.context, browser.caller()
    details: dict[str, Any] = {
        "members": teams.list_members(context, caller, team.team_id).members,
        "turns": _recent_turns(browser, team),
        "invitations": [],
        "entries": [],
    }
    if team.role == "owner":
        query = TeamAuditQuery(limit=ENTRIES_SHOWN)
        details["invitations"] = teams.list_invitations(context, caller, team.team_id).invitations
        details["entries"] = teams.team_audit(context, caller, team.team_id, query).entries
    return details


def _recent_turns(browser: BrowserRequest, team: Team) -> list[Any] | None:
    """Return the newest turns; None if only one user of the account is a member.

    The console acts for the account, whose own user is not that user.
    """
    try:
        member = enter(*browser.arguments, team.team_id, None, "reader")
    except Problem:
        return None
    erase_due(browser.context, member.account_id)
    query = EventsQuery(limit=TURNS_SHOWN)
    return list(list_events(browser.context, member, query).events)


def _team_id(browser: BrowserRequest) -> str:
    return browser.form.get("team", "")


PAGES = {
    PATH: Page(get=show),
    **{f"{PATH}/{name}": Page(post=partial(_send, name=name)) for name in _FORMS},
}
