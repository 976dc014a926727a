"""Signing in and out, setting a password by a link, inviting."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import Response

from ...accounts import NotOwner, sessions
from ...accounts.invitations import accept, invite, invited
from ...accounts.passwords import PasswordUnfit, SignInRefused, SignInTooOften, account_of
from ...protocol import limits
from ...protocol.errors import InvalidRequest
from .visit import Visit

HOME, SIGN_IN, PASSWORD = "/console", "/console/sign-in", "/console/password"


def link(base: str, token: str) -> str:
    """The address that sets a password."""
    return f"{base}{PASSWORD}?token={quote(token)}"


def show_home(visit: Visit) -> Response:
    """Who is signed in, and ways out; for the owner, invitations."""
    found = visit.signed_in()
    return visit.page("account.html", who=found, invitation=None, error=None) if found else visit.go(SIGN_IN)


def show_sign_in(visit: Visit) -> Response:
    """The form for name and password."""
    return visit.go(HOME) if visit.signed_in() else visit.page("sign_in.html", error=None)


def sign_in(visit: Visit) -> Response:
    """A new session for who knows the password; one that the browser had ends."""
    try:
        account_id = account_of(visit.context, visit.form.get("name", ""), visit.form.get("password", ""))
    except (SignInRefused, PasswordUnfit):
        return visit.page("sign_in.html", status=403, error=str(SignInRefused()))
    except SignInTooOften as error:
        answer = visit.page("sign_in.html", status=429, error=error.detail)
        answer.headers["Retry-After"] = str(error.extra["retry_after"])
        return answer
    return _begin(visit, account_id)


def show_password(visit: Visit) -> Response:
    """The form that a link leads to."""
    token = visit.request.query_params.get("token", "")
    return visit.page("password.html", name=invited(visit.context, token), token=token, least=limits.PASSWORD_CHARACTERS_MIN, error=None)


def set_password(visit: Visit) -> Response:
    """Set the password, and sign in."""
    token, password = visit.form.get("token", ""), visit.form.get("password", "")
    name = invited(visit.context, token)
    shown = {"name": name, "token": token, "least": limits.PASSWORD_CHARACTERS_MIN}
    if password != visit.form.get("again", ""):
        return visit.page("password.html", status=422, error="The two are not the same.", **shown)
    try:
        account_id = accept(visit.context, token, password)
    except PasswordUnfit as error:
        return visit.page("password.html", status=422, error=error.detail, **shown)
    return _begin(visit, account_id)


def sign_out(visit: Visit) -> Response:
    """End this session, or all of the account."""
    found = visit.session()
    if visit.form.get("where") == "everywhere":
        sessions.sign_out_everywhere(visit.context, found.account_id)
    else:
        sessions.sign_out(visit.context, visit.token)
    return visit.go(SIGN_IN, token="")


def make_invitation(visit: Visit) -> Response:
    """A link for somebody; the owner only. It is shown once."""
    found = visit.session()
    if not found.is_owner:
        raise NotOwner
    try:
        token = invite(visit.context, visit.form.get("name", ""))
    except InvalidRequest as error:
        return visit.page("account.html", status=422, who=found, invitation=None, error=error.detail)
    return visit.page("account.html", who=found, invitation=link(visit.base, token.reveal()), error=None)


def _begin(visit: Visit, account_id: int) -> Response:
    if visit.token:
        sessions.sign_out(visit.context, visit.token)
    return visit.go(HOME, token=sessions.sign_in(visit.context, account_id))
