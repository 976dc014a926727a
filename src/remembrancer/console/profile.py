"""Keys, the set-up of programs, the own part of agent prompts, the password, and the browsers that
are signed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from pydantic import ValidationError
from starlette.responses import Response

from ..accounts import browser_sessions as sessions
from ..accounts import default_user_id, keys, passwords
from ..accounts.durations import duration
from ..accounts.keys import NewKey
from ..accounts.passwords import PasswordUnfit, SignInRefused, SignInTooOften
from ..accounts.prompts import prompt_of, set_prompt
from ..http.bodies import fault, invalid
from ..http.parameters import parse_query
from ..protocol import limits
from ..protocol.errors import InvalidRequest, NotFound
from ..protocol.prompts import PromptQuery, PromptWrite
from . import step_up
from .browser_session import BrowserRequest, Page
from .client_setup import setup_snippets
from .sign_in import begin

PATH = "/profile"
LASTING = {
    "": "until it is revoked",
    "1d": "a day",
    "30d": "30 days",
    "90d": "90 days",
    "365d": "a year",
}
ENDED_SHOWN = 20  # keys that are no longer good; the rest is in `remembrancer keys list`
_PROMPT_FORM_BYTES_MAX = (
    12 * limits.PROMPT_CHARACTERS_MAX + 4_096
)  # a letter of four bytes is sent as twelve


class KeyUnknown(NotFound):
    """There is no such key among those of this account, or it is revoked already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What is wrong with one of the forms, and what was typed there."""

    form: str
    said: str
    typed: dict[str, str]
    status: int = 422
    retry_after_s: int | None = None


def show(visit: BrowserRequest) -> Response:
    """The whole page."""
    return _page(visit)


def make_key(visit: BrowserRequest) -> Response:
    """A new key, shown this once."""
    caller, form = visit.caller(), visit.form
    lasts = form.get("lasts", "")
    if lasts not in LASTING:
        return _page(
            visit, Refusal(form="key", said="Choose how long the key is good.", typed=form)
        )
    if refused := step_up.refusal(
        visit
    ):  # a key outlives the session, and may do what asks for the password here
        return _page(visit, Refusal(form="key", said=refused, typed=form))
    try:
        made = keys.create(
            visit.context,
            account=caller.account_name,
            label=form.get("label", ""),
            user_id=form.get("user_id", "").strip() or None,
            read_only=form.get("may") == "read",
            expires_in_ms=duration(lasts) if lasts else None,
        )
    except InvalidRequest as error:
        return _page(visit, Refusal(form="key", said=error.detail, typed=form))
    return _page(visit, made=made)


def revoke_key(visit: BrowserRequest) -> Response:
    """From the next request on the key is refused."""
    if not keys.revoke_own(visit.context, visit.caller(), _key_id(visit)):
        raise KeyUnknown
    return visit.go(PATH, told="The key is revoked: from now on every request with it is refused.")


def relabel_key(visit: BrowserRequest) -> Response:
    """Another label, to tell keys apart by."""
    try:
        found = keys.rename_own(
            visit.context, visit.caller(), _key_id(visit), visit.form.get("label", "")
        )
    except InvalidRequest as error:
        return _page(visit, Refusal(form="label", said=error.detail, typed=visit.form))
    if not found:
        raise KeyUnknown
    return visit.go(PATH, told="The label is changed.")


def write_prompt(visit: BrowserRequest) -> Response:
    """Set what a user adds to the agent prompt."""
    # a browser sends the end of a line as two characters; the prompt holds it as it was typed
    typed = visit.form | {"prompt": visit.form.get("prompt", "").replace("\r\n", "\n")}
    try:
        asked = PromptWrite.model_validate(
            {"prompt": typed["prompt"], "user_id": typed.get("user_id") or None}
        )
    except ValidationError as error:
        said = invalid(
            fault(one) for one in error.errors(include_url=False, include_input=False)
        ).detail
        return _page(visit, Refusal(form="prompt", said=said, typed=typed))
    kept = set_prompt(visit.context, visit.caller(), asked)
    told = (
        "The prompt is kept: agents have it when they ask for it next."
        if kept.user_part
        else "Nothing is added to the prompt any more."
    )
    return visit.go(f"{PATH}?{urlencode({'user_id': kept.user_id})}#prompt", told=told)


def change_password(visit: BrowserRequest) -> Response:
    """A new password for who knows the old one.

    This browser stays signed in, in a new session; all others are out.
    """
    who, form = visit.session(), visit.form
    if form.get("new") != form.get("again"):
        return _page(
            visit, Refusal(form="password", said="The two new ones are not the same.", typed={})
        )
    try:
        passwords.change_password(
            visit.context, who.account_name, form.get("old", ""), form.get("new", "")
        )
    except SignInRefused:
        return _page(
            visit,
            Refusal(form="password", said="The old password is not this.", typed={}, status=403),
        )
    except SignInTooOften as error:
        wait_s = int(error.extra["retry_after"])
        return _page(
            visit,
            Refusal(form="password", said=error.detail, typed={}, status=429, retry_after_s=wait_s),
        )
    except PasswordUnfit as error:
        return _page(visit, Refusal(form="password", said=error.detail, typed={}))
    return visit.go(
        PATH,
        token=begin(visit, who.account_id),
        told="The password is changed. Every other browser is signed out.",
    )


def _page(
    visit: BrowserRequest, refusal: Refusal | None = None, made: NewKey | None = None
) -> Response:
    who, caller, now_ms = visit.entered(), visit.caller(), visit.context.clock()
    asked = (
        visit.form.get("user_id")
        if refusal and refusal.form == "prompt"
        else visit.request.query_params.get("user_id")
    )
    if refusal is None and asked:
        asked = parse_query(PromptQuery, visit.request.scope["query_string"]).user_id
    known = [
        (key, key.state(now_ms))
        for key in reversed(keys.list_keys(visit.context, caller.account_name))
    ]
    ended = [one for one in known if one[1] != "good"]
    answer = visit.page(
        "profile.html",
        status=refusal.status if refusal else 200,
        good=[key for key, state in known if state == "good"],
        ended=ended[:ENDED_SHOWN],
        ended_more=max(len(ended) - ENDED_SHOWN, 0),
        lasting=LASTING,
        made=made,
        ways=setup_snippets(
            visit.base, default_user_id(caller), made.key.reveal() if made else None
        ),
        prompt=_prompt(visit, refusal, asked or default_user_id(caller)),
        browsers=sessions.list_browsers(visit.context, who, visit.token),
        least=limits.PASSWORD_CHARACTERS_MIN,
        refusal=refusal,
    )
    if refusal and refusal.retry_after_s:
        answer.headers["Retry-After"] = str(refusal.retry_after_s)
    return answer


def _prompt(visit: BrowserRequest, refusal: Refusal | None, user_id: str) -> dict[str, str | None]:
    if refusal and refusal.form == "prompt":
        return {
            "user_id": refusal.typed.get("user_id", ""),
            "part": refusal.typed["prompt"],
            "whole": None,
            "updated_at": None,
        }
    found = prompt_of(visit.context, visit.caller(), user_id)
    return {
        "user_id": found.user_id,
        "part": found.user_part,
        "whole": found.prompt,
        "updated_at": found.updated_at,
    }


def _key_id(visit: BrowserRequest) -> int:
    given = visit.form.get("key_id", "")
    if not given.isascii() or not given.isdigit() or len(given) > 18:
        raise KeyUnknown
    return int(given)


PAGES = {
    PATH: Page(get=show),
    f"{PATH}/keys": Page(post=make_key),
    f"{PATH}/keys/revoke": Page(post=revoke_key),
    f"{PATH}/keys/label": Page(post=relabel_key),
    f"{PATH}/prompt": Page(post=write_prompt, form_bytes_max=_PROMPT_FORM_BYTES_MAX),
    f"{PATH}/password": Page(post=change_password, guessed=True),
}
