"""The page of keys and settings: keys, agent prompt, password and signed-in browsers."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.responses import Response

from ..accounts import default_user_id, keys, sign_in
from ..accounts import sign_in as sessions
from ..accounts.durations import duration
from ..accounts.keys import NewKey
from ..accounts.prompts import prompt_of, set_prompt
from ..accounts.sign_in import PasswordUnfit, SignInRefused, SignInTooOften
from ..http.bodies import parse_query
from ..protocol import limits
from ..protocol.agent import AgentPrompt, PromptQuery, PromptWrite
from ..protocol.errors import InvalidRequest, NotFound, Problem
from . import browser_session, layout
from .browser_session import BrowserRequest, Page
from .connect import setup_snippets
from .sign_in import begin

PATH = "/profile"
LIFETIMES = {
    "": "until revoked",
    "1d": "1 day",
    "30d": "30 days",
    "90d": "90 days",
    "365d": "1 year",
}
INACTIVE_LISTED_MAX = 20  # expired and revoked keys; `remembrancer keys list` lists all
# Percent-encoding turns a character of four bytes into twelve.
_PROMPT_FORM_BYTES_MAX = 12 * limits.PROMPT_CHARACTERS_MAX + 4_096


class KeyUnknown(NotFound):
    """This account has no such key, or the key is already revoked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormError:
    """An error in one of the forms, with the values to fill in again."""

    form: str
    message: str
    values: dict[str, str]


def show(browser: BrowserRequest) -> Response:
    """Show the page."""
    return _page(browser)


def make_key(browser: BrowserRequest) -> Response:
    """Create a key and show it once."""
    caller, form = browser.caller(), browser.form
    lifetime = form.get("lasts", "")
    if lifetime not in LIFETIMES:
        return _rejected(browser, "key", "Choose when the key expires.")
    # A key outlives the session and can do what asks for the password here.
    if error_message := browser_session.password_error(browser):
        return _rejected(browser, "key", error_message)
    try:
        new_key = keys.create(
            browser.context,
            account=caller.account_name,
            label=form.get("label", ""),
            user_id=form.get("user_id", "").strip() or None,
            read_only=form.get("may") == "read",
            has_protocol=form.get("protocol") != "none",
            expires_in_ms=duration(lifetime) if lifetime else None,
        )
    except InvalidRequest as error:
        return _rejected(browser, "key", error.detail)
    return _page(browser, new_key=new_key)


def revoke_key(browser: BrowserRequest) -> Response:
    """Revoke a key."""
    if not keys.revoke_own(*browser.arguments, _key_id(browser)):
        raise KeyUnknown
    return browser.redirect(
        PATH, notice="The key is revoked. Requests with it are rejected from now on."
    )


def relabel_key(browser: BrowserRequest) -> Response:
    """Change the label of a key."""
    try:
        is_known = keys.rename_own(
            *browser.arguments, _key_id(browser), browser.form.get("label", "")
        )
    except InvalidRequest as error:
        return _rejected(browser, "label", error.detail)
    if not is_known:
        raise KeyUnknown
    return browser.redirect(PATH, notice="The label is changed.")


def write_prompt(browser: BrowserRequest) -> Response:
    """Set a user's own part of the agent prompt."""
    # browsers send line breaks as CRLF
    values = browser.form | {"prompt": browser.form.get("prompt", "").replace("\r\n", "\n")}
    try:
        request = layout.parse(
            PromptWrite, {"prompt": values["prompt"], "user_id": values.get("user_id") or None}
        )
    except InvalidRequest as error:
        return _rejected(browser, "prompt", error.detail, values)
    prompt = set_prompt(*browser.arguments, request)
    notice = (
        "The prompt is saved. Agents get it with their next request for the prompt."
        if prompt.user_part
        else "Your part of the prompt is removed."
    )
    return browser.redirect(
        f"{PATH}?{urlencode({'user_id': prompt.user_id})}#prompt", notice=notice
    )


def change_password(browser: BrowserRequest) -> Response:
    """Change the password. Signs out every other browser; this one gets a new session."""
    session, form = browser.form_session(), browser.form
    if form.get("new") != form.get("again"):
        return _rejected(browser, "password", "The two new passwords are different.", {})
    try:
        old, new = form.get("old", ""), form.get("new", "")
        sign_in.change_password(browser.context, session.account_name, old, new)
    except SignInRefused as error:
        return _rejected(browser, "password", "The current password is wrong.", {}, error)
    except (SignInTooOften, PasswordUnfit) as error:
        return _rejected(browser, "password", error.detail, {}, error)
    return browser.redirect(
        PATH,
        token=begin(browser, session.account_id),
        notice="The password is changed. Every other browser is signed out.",
    )


def _rejected(
    browser: BrowserRequest,
    form: str,
    message: str,
    values: dict[str, str] | None = None,
    problem: Problem | None = None,
) -> Response:
    """Answer with the page and an error in one of its forms, 422 unless a problem says more."""
    entered = browser.form if values is None else values
    return _page(browser, FormError(form=form, message=message, values=entered), problem=problem)


def _page(
    browser: BrowserRequest,
    form_error: FormError | None = None,
    new_key: NewKey | None = None,
    problem: Problem | None = None,
) -> Response:
    session, caller, now_ms = browser.require_session(), browser.caller(), browser.context.clock()
    user_id = (
        browser.form.get("user_id")
        if form_error and form_error.form == "prompt"
        else browser.request.query_params.get("user_id")
    )
    if form_error is None and user_id:
        user_id = parse_query(PromptQuery, browser.request.scope["query_string"]).user_id
    all_keys = [
        (key, key.state(now_ms))
        for key in reversed(keys.list_keys(browser.context, caller.account_name))
    ]
    inactive = [(key, state) for key, state in all_keys if state != "good"]
    return browser.page(
        "profile.html",
        status=422 if form_error else 200,
        problem=problem,
        active=[key for key, state in all_keys if state == "good"],
        inactive=inactive[:INACTIVE_LISTED_MAX],
        inactive_unlisted=max(len(inactive) - INACTIVE_LISTED_MAX, 0),
        lifetimes=LIFETIMES,
        new_key=new_key,
        snippets=setup_snippets(browser.base_url, default_user_id(caller), new_key.key.reveal())
        if new_key
        else [],
        prompt=_prompt(browser, form_error, user_id or default_user_id(caller)),
        browsers=sessions.list_browsers(browser.context, session, browser.token),
        password_characters_min=limits.PASSWORD_CHARACTERS_MIN,
        form_error=form_error,
    )


def _prompt(browser: BrowserRequest, form_error: FormError | None, user_id: str) -> AgentPrompt:
    """Return the prompt of a user, or the user's own part as a rejected form had it."""
    if form_error and form_error.form == "prompt":
        user_id, part = form_error.values.get("user_id", ""), form_error.values["prompt"]
        return AgentPrompt(prompt="", user_id=user_id, user_part=part, updated_at=None)
    return prompt_of(*browser.arguments, user_id)


def _key_id(browser: BrowserRequest) -> int:
    text = browser.form.get("key_id", "")
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise KeyUnknown
    return int(text)


PAGES = {
    PATH: Page(get=show),
    f"{PATH}/keys": Page(post=make_key),
    f"{PATH}/keys/revoke": Page(post=revoke_key),
    f"{PATH}/keys/label": Page(post=relabel_key),
    f"{PATH}/prompt": Page(post=write_prompt, form_bytes_max=_PROMPT_FORM_BYTES_MAX),
    f"{PATH}/password": Page(post=change_password, is_rate_limited=True),
}
