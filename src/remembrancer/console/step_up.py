"""The password once more, before what a cookie alone must not be enough for."""

from __future__ import annotations

from ..accounts import browser_sessions as sessions
from ..accounts.passwords import SignInRefused, SignInTooOften
from .browser_session import BrowserRequest

MISSING = "Type your password: it was not typed in the last five minutes."
WRONG = "This is not the password of your account."


def refusal(visit: BrowserRequest) -> str:
    """Why the form of a signed-in session is not enough; empty when its password was typed lately,
    or comes with it and is right.

    Failures count as those of signing in do. Raises Unauthorized, ForeignForm, StoreUnavailable.
    """
    who = visit.session()
    if who.is_confirmed:
        return ""
    password = visit.form.get("password", "")
    if not password:
        return MISSING
    try:
        sessions.confirm(visit.context, who, visit.token, password)
    except SignInRefused:
        return WRONG
    except SignInTooOften as error:
        return f"{error.detail} It is held up for {error.extra['retry_after']} more seconds."
    return ""
