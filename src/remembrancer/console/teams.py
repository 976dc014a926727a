"""The teams page: teams, members, invitations, recent turns and audit entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

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
    Team,
    TeamAuditQuery,
    TeamChange,
    TeamCreate,
    TeamDeletion,
    TeamMemberChange,
)
from . import browser_session
from .browser_session import BrowserRequest, Page
from .layout import number_in, parse_form

PATH = "/console/teams"
TURNS_SHOWN, ENTRIES_SHOWN = 10, 25


def show(browser: BrowserRequest) -> Response:
    """Show the teams of the account, or one of them."""
    return _page(browser, browser.request.query_params.get("team", ""))


def create(browser: BrowserRequest) -> Response:
    """Create a team."""

    def act(request: TeamCreate) -> Response:
        team = teams.create_team(*browser.arguments, request)
        return _to(browser, team.team_id, "The team is created. Invite its members here.")

    form = {"name": browser.form.get("name", ""), "user_id": _optional(browser, "user_id")}
    return _act(browser, "create", TeamCreate, form, act)


def accept(browser: BrowserRequest) -> Response:
    """Accept an invitation."""

    def act(request: InvitationAccept) -> Response:
        team = teams.accept_invitation(*browser.arguments, request)
        return _to(browser, team.team_id, f"You are a member now. Your role: {team.role}.")

    form = {
        "token": browser.form.get("token", "").strip(),
        "user_id": _optional(browser, "user_id"),
    }
    return _act(browser, "accept", InvitationAccept, form, act)


def rename(browser: BrowserRequest) -> Response:
    """Change the name of a team."""

    def act(request: TeamChange) -> Response:
        teams.rename_team(*browser.arguments, _team_id(browser), request)
        return _to(browser, _team_id(browser), "The name is changed.")

    return _act(browser, "rename", TeamChange, {"name": browser.form.get("name", "")}, act)


def invite(browser: BrowserRequest) -> Response:
    """Create an invitation and show its token once."""

    def act(request: InvitationCreate) -> Response:
        if error_message := browser_session.password_error(browser):
            return _page(browser, _team_id(browser), error=("invite", error_message), status=422)
        invitation = teams.invite_member(*browser.arguments, _team_id(browser), request)
        return _page(browser, _team_id(browser), invitation=invitation)

    hours = browser.form.get("expires_in_hours", "")
    form = {"role": browser.form.get("role", ""), "expires_in_hours": number_in(hours)}
    return _act(browser, "invite", InvitationCreate, form, act)


def withdraw(browser: BrowserRequest) -> Response:
    """Withdraw an invitation."""
    invitation_id = browser.form.get("invitation_id", "")
    teams.withdraw_invitation(*browser.arguments, _team_id(browser), invitation_id)
    return _to(browser, _team_id(browser), "The invitation no longer works.")


def change_role(browser: BrowserRequest) -> Response:
    """Change the role of a member."""

    def act(request: TeamMemberChange) -> Response:
        teams.change_member(*browser.arguments, _team_id(browser), request)
        return _to(browser, _team_id(browser), "The role holds from the next request on.")

    form = {name: browser.form.get(name, "") for name in ("member_id", "role")}
    return _act(browser, "role", TeamMemberChange, form, act)


def remove(browser: BrowserRequest) -> Response:
    """Remove a member, or leave the team."""

    def act(_: None) -> Response:
        member_id, caller = browser.form.get("member_id", ""), browser.caller()
        left = teams.remove_member(browser.context, caller, _team_id(browser), member_id)
        is_member = any(row.is_self for row in left.members)
        notice = "The membership has ended. What the member wrote stays with the team."
        return _to(browser, _team_id(browser) if is_member else "", notice)

    return _act(browser, "role", None, {}, act)


def delete(browser: BrowserRequest) -> Response:
    """Delete a team with its memory."""

    def act(request: TeamDeletion) -> Response:
        delete_team(*browser.arguments, _team_id(browser), request)
        return _to(browser, "", "The team and its memory are erased.")

    return _act(browser, "delete", TeamDeletion, {"confirm": browser.form.get("confirm", "")}, act)


def _act(
    browser: BrowserRequest,
    form: str,
    model: type[BaseModel] | None,
    values: dict[str, Any],
    act: Callable[[Any], Response],
) -> Response:
    """Do what a form asks for, or show the page with the error of the form.

    `model` validates the fields; None: there are none.
    """
    browser.form_session()
    request = None if model is None else parse_form(model, values)
    if isinstance(request, dict):
        message, status = " ".join(request.values()), 422
    else:
        try:
            return act(request)
        except Problem as error:
            if error.status in (401, 403, 404) and form != "accept":
                raise
            message, status = error.detail, error.status
    return _page(browser, browser.form.get("team", ""), error=(form, message), status=status)


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


def _optional(browser: BrowserRequest, name: str) -> str | None:
    return browser.form.get(name, "").strip() or None


def _to(browser: BrowserRequest, team_id: str, notice: str) -> Response:
    path = f"{PATH}?{urlencode({'team': team_id})}" if team_id else PATH
    return browser.redirect(path, notice=notice)


PAGES = {
    PATH: Page(get=show),
    f"{PATH}/create": Page(post=create),
    f"{PATH}/accept": Page(post=accept),
    f"{PATH}/rename": Page(post=rename),
    f"{PATH}/invite": Page(post=invite),
    f"{PATH}/withdraw": Page(post=withdraw),
    f"{PATH}/role": Page(post=change_role),
    f"{PATH}/remove": Page(post=remove),
    f"{PATH}/delete": Page(post=delete),
}
