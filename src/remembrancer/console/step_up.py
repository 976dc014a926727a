"""Step-up authentication: sensitive forms ask for the password again."""

from __future__ import annotations

from ..accounts import sign_in as sessions
from ..accounts.sign_in import SignInRefused, SignInTooOften
from .browser_session import BrowserRequest

MISSING = "Enter your password. It was last entered more than five minutes ago."
WRONG = "This is not the password of your account."


def password_error(browser: BrowserRequest) -> str:
    """Return an error message unless the form has the password or it was entered recently.

    Wrong passwords delay further ones, sign-ins aside. Raises Unauthorized, ForeignForm,
    StoreUnavailable.
    """
    session = browser.form_session()
    if session.is_confirmed:
        return ""
    password = browser.form.get("password", "")
    if not password:
        return MISSING
    try:
        sessions.confirm(browser.context, session, browser.token, password)
    except SignInRefused:
        return WRONG
    except SignInTooOften as error:
        return f"{error.detail} Try again in {error.extra['retry_after']} seconds."
    return ""
