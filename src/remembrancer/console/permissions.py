"""Grants in force: given and taken back by the owner, whose password is asked for again."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from ..permissions.grants import grant, list_grants, revoke
from ..permissions.rules import examples, reach
from ..protocol import limits
from ..protocol.paths import normal_scope
from ..protocol.permissions import ACTIONS, GrantRequest, GrantRevocation, GrantsQuery
from . import step_up
from .browser_session import BrowserRequest, Page
from .forms import number, parse_filters, parse_form

PATH = "/console/permissions"
_LISTED = 50
_NOTHING_TYPED = {"scope": "", "agent": "", "ttl_minutes": "30", "action_read": "on"}


def show(visit: BrowserRequest) -> Response:
    """The grants in force, and the form for one more; for a script, what the scope that is being
    typed covers.
    """
    scope = visit.request.query_params.get("scope")
    if visit.is_swap and scope is not None:
        return visit.fragment("_scope.html", covered=_covered(scope), wrong={})
    return _page(visit, _NOTHING_TYPED)


def grant_permission(visit: BrowserRequest) -> Response:
    """Grant what was typed; or say what it would cover, when only that is asked."""
    form = visit.form
    actions = [action for action in ACTIONS if f"action_{action}" in form]
    values = {
        "scope": form.get("scope", ""),
        "agent": form.get("agent", "").strip(),
        "actions": actions,
    }
    asked = parse_form(GrantRequest, {**values, "ttl_minutes": number(form.get("ttl_minutes", ""))})
    wrong = asked if isinstance(asked, dict) else {}
    if form.get("do") == "look":
        return _page(
            visit, form, wrong={name: said for name, said in wrong.items() if name == "scope"}
        )
    if not wrong and (refused := step_up.refusal(visit)):
        wrong = {"password": refused}
    if wrong or isinstance(asked, dict):
        return _page(visit, form, status=422, wrong=wrong)
    made = grant(visit.context, visit.caller(), asked)
    whom = "Every agent" if made.agent == "*" else made.agent
    return visit.go(
        PATH,
        told=f"{whom} may {_listed(made.actions)} {made.scope} for {asked.ttl_minutes} minutes.",
    )


def revoke_permission(visit: BrowserRequest) -> Response:
    """Revoke a grant."""
    grant_id = visit.form.get("grant_id", "")
    if refused := step_up.refusal(visit):
        return _page(visit, _NOTHING_TYPED, status=422, unrevoked={grant_id: refused})
    asked = parse_form(GrantRevocation, {"grant_id": grant_id})
    if isinstance(asked, dict):
        return _page(
            visit,
            _NOTHING_TYPED,
            status=422,
            unrevoked={grant_id: asked.get("grant_id", "There is no such grant.")},
        )
    revoke(visit.context, visit.caller(), asked)
    return visit.go(PATH, told=f"Revoked: {grant_id} allows nothing any more.")


def _page(
    visit: BrowserRequest,
    form: dict[str, str],
    *,
    status: int = 200,
    wrong: dict[str, str] | None = None,
    unrevoked: dict[str, str] | None = None,
) -> Response:
    query, _ = parse_filters(
        GrantsQuery, {"before": visit.request.query_params.get("before"), "limit": _LISTED}
    )
    return visit.page(
        "permissions.html",
        status=status,
        found=list_grants(visit.context, visit.caller(), query),
        is_first=query.before is None,
        form=form,
        wrong=wrong or {},
        unrevoked=unrevoked or {},
        covered=_covered(form.get("scope", "")),
        actions=ACTIONS,
        minutes_max=limits.GRANT_MINUTES_MAX,
    )


def _covered(text: str) -> dict[str, Any] | None:
    """What a scope covers, for people; None while it is no scope."""
    try:
        scope = normal_scope(text) if 0 < len(text) <= limits.SCOPE_CHARACTERS_MAX else ""
    except ValueError:
        return None
    if not scope:
        return None
    inside, outside = examples(scope)
    return {"scope": scope, "reach": reach(scope), "inside": inside, "outside": outside}


def _listed(words: list[Any]) -> str:
    *first, last = map(str, words)
    return f"{', '.join(first)} and {last}" if first else last


PAGES = {
    PATH: Page(get=show, owner_only=True),
    f"{PATH}/grant": Page(post=grant_permission, owner_only=True),
    f"{PATH}/revoke": Page(post=revoke_permission, owner_only=True),
}
