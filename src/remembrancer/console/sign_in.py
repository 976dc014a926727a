"""Signing in and out, and setting a password by a link."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import Response

from ..accounts import browser_sessions as sessions
from ..accounts.invitations import accept, invitation_account
from ..accounts.passwords import PasswordUnfit, SignInRefused, SignInTooOften, account_of
from ..protocol import limits
from . import layout as frame
from .browser_session import BrowserRequest, Page

HOME, SIGN_IN, PASSWORD = "/console", "/console/sign-in", "/console/password"


def link(base: str, token: str) -> str:
    """The address that sets a password."""
    return f"{base}{PASSWORD}?token={quote(token)}"


def show_sign_in(visit: BrowserRequest) -> Response:
    """The form for name and password."""
    back = frame.section_context(visit.request.query_params.get("next", ""), HOME)
    return (
        visit.go(back) if visit.signed_in() else visit.page("sign_in.html", error=None, next=back)
    )


def sign_in(visit: BrowserRequest) -> Response:
    """A new session for who knows the password; one that the browser had ends."""
    back = frame.section_context(visit.form.get("next", ""), HOME)
    try:
        account_id = account_of(
            visit.context, visit.form.get("name", ""), visit.form.get("password", "")
        )
    except (SignInRefused, PasswordUnfit):
        return visit.page("sign_in.html", status=403, error=str(SignInRefused()), next=back)
    except SignInTooOften as error:
        answer = visit.page("sign_in.html", status=429, error=error.detail, next=back)
        answer.headers["Retry-After"] = str(error.extra["retry_after"])
        return answer
    return _begin(visit, account_id, back)


def show_password(visit: BrowserRequest) -> Response:
    """The form that a link leads to."""
    token = visit.request.query_params.get("token", "")
    return visit.page(
        "password.html",
        name=invitation_account(visit.context, token),
        token=token,
        least=limits.PASSWORD_CHARACTERS_MIN,
        error=None,
    )


def set_password(visit: BrowserRequest) -> Response:
    """Set the password, and sign in."""
    token, password = visit.form.get("token", ""), visit.form.get("password", "")
    name = invitation_account(visit.context, token)
    shown = {"name": name, "token": token, "least": limits.PASSWORD_CHARACTERS_MIN}
    if password != visit.form.get("again", ""):
        return visit.page("password.html", status=422, error="The two are not the same.", **shown)
    try:
        account_id = accept(visit.context, token, password)
    except PasswordUnfit as error:
        return visit.page("password.html", status=422, error=error.detail, **shown)
    return _begin(visit, account_id, HOME)


def sign_out(visit: BrowserRequest) -> Response:
    """End this session, or all of the account."""
    found = visit.session()
    if visit.form.get("where") == "everywhere":
        sessions.sign_out_everywhere(visit.context, found.account_id)
    else:
        sessions.sign_out(visit.context, visit.token)
    return visit.go(SIGN_IN, token="")


def begin(visit: BrowserRequest, account_id: int) -> str:
    """A new session of the browser that asks; gives what its cookie holds."""
    return sessions.sign_in(
        visit.context,
        account_id,
        sessions.browser_name(visit.request.headers.get("user-agent", "")),
    )


def _begin(visit: BrowserRequest, account_id: int, back: str) -> Response:
    if visit.token:
        sessions.sign_out(visit.context, visit.token)
    return visit.go(back, token=begin(visit, account_id))


PAGES = {
    SIGN_IN: Page(get=show_sign_in, post=sign_in, guessed=True, anybody=True),
    PASSWORD: Page(get=show_password, post=set_password, guessed=True, anybody=True),
    "/console/sign-out": Page(post=sign_out),
}
