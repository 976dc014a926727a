"""The permissions page: create and revoke grants. Both need the owner's password again."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from ..permissions.grants import examples, grant, list_grants, reach, revoke
from ..protocol import limits
from ..protocol.permissions import ACTIONS, GrantRequest, GrantRevocation, GrantsQuery, normal_scope
from . import browser_session
from .browser_session import BrowserRequest, Page
from .layout import number_in, parse_filters, parse_form

PATH = "/console/permissions"
_LISTED = 50
_EMPTY_FORM = {"scope": "", "agent": "", "ttl_minutes": "30", "action_read": "on"}


def show(browser: BrowserRequest) -> Response:
    """Show the grants in force and a form, or as a fragment what the entered scope covers."""
    scope = browser.request.query_params.get("scope")
    if browser.wants_fragment and scope is not None:
        return browser.fragment("_scope.html", coverage=_coverage(scope), errors={})
    return _page(browser, _EMPTY_FORM)


def grant_permission(browser: BrowserRequest) -> Response:
    """Create a grant, or with `do=look` show what it would cover."""
    form = browser.form
    values = {
        "scope": form.get("scope", ""),
        "agent": form.get("agent", "").strip(),
        "actions": [action for action in ACTIONS if f"action_{action}" in form],
        "ttl_minutes": number_in(form.get("ttl_minutes", "")),
    }
    request = parse_form(GrantRequest, values)
    errors = request if isinstance(request, dict) else {}
    if form.get("do") == "look":
        return _page(
            browser, form, errors={name: text for name, text in errors.items() if name == "scope"}
        )
    if not errors and (error_message := browser_session.password_error(browser)):
        errors = {"password": error_message}
    if errors or isinstance(request, dict):
        return _page(browser, form, status=422, errors=errors)
    receipt = grant(*browser.arguments, request)
    agent = "Every agent" if receipt.agent == "*" else receipt.agent
    actions_text, minutes = _enumeration(receipt.actions), request.ttl_minutes
    return browser.redirect(
        PATH, notice=f"{agent} may {actions_text} {receipt.scope} for {minutes} minutes."
    )


def revoke_permission(browser: BrowserRequest) -> Response:
    """Revoke a grant."""
    grant_id = browser.form.get("grant_id", "")
    if error_message := browser_session.password_error(browser):
        return _page(browser, _EMPTY_FORM, status=422, revoke_errors={grant_id: error_message})
    request = parse_form(GrantRevocation, {"grant_id": grant_id})
    if isinstance(request, dict):
        error_message = request.get("grant_id", "There is no such grant.")
        return _page(browser, _EMPTY_FORM, status=422, revoke_errors={grant_id: error_message})
    revoke(*browser.arguments, request)
    return browser.redirect(PATH, notice=f"Grant {grant_id} is revoked.")


def _page(
    browser: BrowserRequest,
    form: dict[str, str],
    *,
    status: int = 200,
    errors: dict[str, str] | None = None,
    revoke_errors: dict[str, str] | None = None,
) -> Response:
    query, _ = parse_filters(
        GrantsQuery, {"before": browser.request.query_params.get("before"), "limit": _LISTED}
    )
    return browser.page(
        "permissions.html",
        status=status,
        page=list_grants(*browser.arguments, query),
        is_first=query.before is None,
        form=form,
        errors=errors or {},
        revoke_errors=revoke_errors or {},
        coverage=_coverage(form.get("scope", "")),
        actions=ACTIONS,
        minutes_max=limits.GRANT_MINUTES_MAX,
    )


def _coverage(text: str) -> dict[str, Any] | None:
    """Return what a scope covers, with example paths. None if it is not a valid scope."""
    try:
        scope = normal_scope(text) if 0 < len(text) <= limits.SCOPE_CHARACTERS_MAX else ""
    except ValueError:
        return None
    if not scope:
        return None
    inside, outside = examples(scope)
    return {"scope": scope, "reach": reach(scope), "inside": inside, "outside": outside}


def _enumeration(words: list[Any]) -> str:
    *first, last = map(str, words)
    return f"{', '.join(first)} and {last}" if first else last


PAGES = {
    PATH: Page(get=show, owner_only=True),
    f"{PATH}/grant": Page(post=grant_permission, owner_only=True),
    f"{PATH}/revoke": Page(post=revoke_permission, owner_only=True),
}
