"""Sign-in, sign-out, and setting a password through a link."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import Response

from ..accounts import sign_in as sessions
from ..accounts.sign_in import (
    PasswordUnfit,
    SignInRefused,
    SignInTooOften,
    accept,
    account_of,
    invitation_account,
)
from ..protocol import limits
from . import layout
from .browser_session import BrowserRequest, Page

HOME, SIGN_IN, PASSWORD = "/console", "/console/sign-in", "/console/password"


def link(base: str, token: str) -> str:
    """Return the address of the page that sets a password."""
    return f"{base}{PASSWORD}?token={quote(token)}"


def show_sign_in(browser: BrowserRequest) -> Response:
    """Show the sign-in form."""
    back = layout.local_path(browser.request.query_params.get("next", ""), HOME)
    return (
        browser.redirect(back)
        if browser.find_session()
        else browser.page("sign_in.html", error=None, next=back)
    )


def sign_in(browser: BrowserRequest) -> Response:
    """Sign in. Ends an earlier session of the browser."""
    back = layout.local_path(browser.form.get("next", ""), HOME)
    try:
        account_id = account_of(
            browser.context, browser.form.get("name", ""), browser.form.get("password", "")
        )
    except (SignInRefused, PasswordUnfit):
        return browser.page("sign_in.html", status=403, error=str(SignInRefused()), next=back)
    except SignInTooOften as error:
        return browser.page("sign_in.html", problem=error, error=error.detail, next=back)
    return _begin(browser, account_id, back)


def show_password(browser: BrowserRequest) -> Response:
    """Show the form that sets a password."""
    return _password_page(browser, browser.request.query_params.get("token", ""))


def _password_page(browser: BrowserRequest, token: str, error: str | None = None) -> Response:
    return browser.page(
        "password.html",
        status=422 if error else 200,
        name=invitation_account(browser.context, token),
        token=token,
        password_characters_min=limits.PASSWORD_CHARACTERS_MIN,
        error=error,
    )


def set_password(browser: BrowserRequest) -> Response:
    """Set the password, and sign in."""
    token, password = browser.form.get("token", ""), browser.form.get("password", "")
    if password != browser.form.get("again", ""):
        return _password_page(browser, token, "The two passwords are different.")
    try:
        account_id = accept(browser.context, token, password)
    except PasswordUnfit as error:
        return _password_page(browser, token, error.detail)
    return _begin(browser, account_id, HOME)


def sign_out(browser: BrowserRequest) -> Response:
    """End this session, or every session of the account."""
    session = browser.form_session()
    if browser.form.get("where") == "everywhere":
        sessions.sign_out_everywhere(browser.context, session.account_id)
    else:
        sessions.sign_out(browser.context, browser.token)
    return browser.redirect(SIGN_IN, token="")


def begin(browser: BrowserRequest, account_id: int) -> str:
    """Create a session for this browser and return the value of its cookie."""
    return sessions.sign_in(
        browser.context,
        account_id,
        sessions.browser_name(browser.request.headers.get("user-agent", "")),
    )


def _begin(browser: BrowserRequest, account_id: int, back: str) -> Response:
    if browser.token:
        sessions.sign_out(browser.context, browser.token)
    return browser.redirect(back, token=begin(browser, account_id))


PAGES = {
    SIGN_IN: Page(get=show_sign_in, post=sign_in, is_rate_limited=True, is_public=True),
    PASSWORD: Page(get=show_password, post=set_password, is_rate_limited=True, is_public=True),
    "/console/sign-out": Page(post=sign_out),
}
