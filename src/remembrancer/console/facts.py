"""Forms that add, change and delete facts. The memory page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from ..memory.facts.life import (
    FactUnknown,
    WrongValidity,
    add_fact,
    change_fact,
    fact_timeline,
    remove_fact,
)
from ..memory.spaces import TimeNotInFuture
from ..protocol import limits
from ..protocol.errors import Conflict, InvalidRequest
from ..protocol.facts import FactAdd, FactChange, FactStored
from ..protocol.search import in_project
from ..protocol.text import beginning
from . import layout
from .browser_session import BrowserRequest, Page
from .layout import link_to, parse_form, utc_time
from .memory import PATH as MEMORY
from .memory import RejectedForm, page

PATH = "/console/facts"
_CONTRADICTED_NAMED = 2  # in a notice
_NAMED_CHARACTERS_MAX = 60
_TIMES = ("valid_from", "valid_to", "expires_at")
# Percent-encoding turns a character of four bytes into twelve.
_FORM_BYTES_MAX = 12 * limits.CRITICAL_CHARACTERS_MAX + 4_096
_MESSAGES: Mapping[type[Exception], tuple[str, str]] = {
    TimeNotInFuture: ("expires_at", "This time has passed. Enter a later one."),
    WrongValidity: ("valid_to", "This must be later than the start."),
}


def show(browser: BrowserRequest) -> Response:
    """Redirect to the facts in the memory page, or to the one of `fact_id`."""
    params = browser.request.query_params
    names = {name: layout.identifier(params, name) for name in ("user_id", "fact_id")}
    return browser.redirect(link_to(MEMORY, kind="fact", **names))


def add(browser: BrowserRequest) -> Response:
    """Add a fact."""
    caller, form = browser.caller(), _entered(browser)
    user_id = browser.users.chosen
    request = parse_form(
        FactAdd,
        {
            "user_id": user_id,
            "text": form["text"],
            "pinned": "pinned" in form,
            "valid_from": utc_time(form["valid_from"]),
            "expires_at": utc_time(form["expires_at"]),
        },
    )
    if isinstance(request, dict):
        return _rejected(browser, "add", "", request)
    try:
        stored = add_fact(browser.context, caller, request)
    except (InvalidRequest, Conflict) as error:
        return _refused(browser, "add", "", error)
    notice = "This fact was already stored." if stored.outcome == "known" else "The fact is stored."
    return browser.redirect(
        link_to(MEMORY, kind="fact", user_id=user_id),
        notice=f"{notice}{_consequences(browser, stored)}",
    )


def reword(browser: BrowserRequest) -> Response:
    """Give a fact another wording, from `since` or from now on; the old one stays as history."""
    fact_id, form = _fact_id(browser), _entered(browser)
    request = parse_form(FactChange, {"text": form["text"], "valid_from": utc_time(form["since"])})
    if isinstance(request, dict):
        errors = {"since" if name == "valid_from" else name: request[name] for name in request}
        return _rejected(browser, "wording", fact_id, errors)
    before = fact_timeline(*browser.arguments, fact_id).fact.text
    try:
        stored = change_fact(*browser.arguments, fact_id, request)
    except (InvalidRequest, Conflict) as error:
        return _refused(browser, "wording", fact_id, error)
    return browser.redirect(
        link_to(MEMORY, kind="fact", fact_id=stored.fact.fact_id),
        notice=f"The wording is changed.{_consequences(browser, stored)}"
        if stored.fact.text != before
        else "Nothing changed: the wording is the same.",
    )


def change_times(browser: BrowserRequest) -> Response:
    """Change when a fact holds and when it is erased; an empty field removes that time."""
    fact_id, form = _fact_id(browser), _entered(browser)
    fact = fact_timeline(*browser.arguments, fact_id).fact
    changes: dict[str, Any] = {}
    for name in _TIMES:
        entered, stored = utc_time(form[name]), utc_time((getattr(fact, name) or "")[:19])
        if entered != stored:  # a field that was not changed keeps its milliseconds
            changes[name] = entered
    clear = [name for name, entered in changes.items() if entered is None]
    if "valid_from" in clear:
        return _rejected(browser, "times", fact_id, {"valid_from": "This field is required."})
    request = parse_form(FactChange, {**changes, "clear": clear})
    if isinstance(request, dict):
        return _rejected(browser, "times", fact_id, request)
    return _changed(browser, fact_id, request, "The times are changed.", form_name="times")


def move(browser: BrowserRequest) -> Response:
    """Let a fact belong to a project, or without a name to the person, in every project."""
    fact_id, name = _fact_id(browser), browser.form.get("project", "").strip()
    metadata = fact_timeline(*browser.arguments, fact_id).fact.metadata
    request = parse_form(FactChange, {"metadata": in_project(metadata, name or None)})
    if isinstance(request, dict):
        errors = {"project": next(iter(request.values()))}
        return _rejected(browser, "project", fact_id, errors)
    notice = f"It belongs to the project {name}." if name else "It holds in every project."
    return _changed(browser, fact_id, request, notice, form_name="project")


def change_state(browser: BrowserRequest) -> Response:
    """Pin or unpin a fact, end it now, or let a superseded one hold again, by `do`."""
    fact_id, do = _fact_id(browser), browser.form.get("do", "")
    now = datetime.fromtimestamp(browser.context.clock() / 1000, UTC)
    changes = {
        "pin": (FactChange(pinned=True), "The fact is pinned: it comes first in start packs."),
        "unpin": (FactChange(pinned=False), "The fact is no longer pinned."),
        "end": (FactChange(valid_to=now), "The fact has ended. It stays in the list of expired."),
        "restore": (FactChange(status="current"), "The fact holds again."),
    }
    if do not in changes:
        raise InvalidRequest(f"do must be one of {', '.join(changes)}.")
    request, notice = changes[do]
    return _changed(browser, fact_id, request, notice, form_name="state")


def remove(browser: BrowserRequest) -> Response:
    """Erase the text of a fact for good."""
    removed = remove_fact(*browser.arguments, _fact_id(browser))
    return browser.redirect(
        link_to(MEMORY, kind="fact", user_id=removed.user_id),
        notice="The fact is deleted; its text is erased.",
    )


def _changed(
    browser: BrowserRequest, fact_id: str, request: FactChange, notice: str, *, form_name: str
) -> Response:
    """Change a fact, then show the page that the form came from, or the fact with the error."""
    try:
        change_fact(*browser.arguments, fact_id, request)
    except (InvalidRequest, Conflict) as error:
        return _refused(browser, form_name, fact_id, error)
    back = layout.local_path(
        browser.form.get("back", ""), link_to(MEMORY, kind="fact", fact_id=fact_id)
    )
    return browser.redirect(back, notice=notice)


def _fact_id(browser: BrowserRequest) -> str:
    fact_id = layout.identifier(browser.form, "fact_id")
    if not fact_id:
        raise FactUnknown
    return fact_id


def _entered(browser: BrowserRequest) -> dict[str, str]:
    """Return the fields of a form, empty if absent."""
    text = layout.lines(browser.form, "text")
    return {**dict.fromkeys((*_TIMES, "since"), ""), **browser.form, "text": text}


def _rejected(
    browser: BrowserRequest, name: str, fact_id: str, errors: Mapping[str, str], status: int = 422
) -> Response:
    """Answer with a form whose fields are invalid."""
    messages = {field: _time_message(field, text) for field, text in errors.items()}
    values: dict[str, Any] = {"values": _entered(browser), "errors": messages, "status": status}
    return page(browser, RejectedForm(name=name, fact_id=fact_id, **values))


def _time_message(field: str, message: str) -> str:
    """Return a message that a person can follow; those of the API name RFC 3339."""
    if field not in (*_TIMES, "since"):
        return message
    if "later than" in message:
        return _MESSAGES[WrongValidity][1]
    return message if "required" in message else "Enter a time such as 2026-03-01T09:30."


def _refused(
    browser: BrowserRequest, name: str, fact_id: str, error: InvalidRequest | Conflict
) -> Response:
    """Answer with a form that the memory refused."""
    field, message = _MESSAGES.get(
        type(error), ("text" if name in ("add", "wording") else "form", error.detail)
    )
    if name == "wording" and field == "valid_to":
        field, message = "since", "This must be earlier than the end of the fact."
    values: dict[str, Any] = {
        "values": _entered(browser),
        "errors": {field: message},
        "status": error.status,
    }
    return page(browser, RejectedForm(name=name, fact_id=fact_id, **values))


def _consequences(browser: BrowserRequest, stored: FactStored) -> str:
    """Return sentences about the facts that a stored one replaced or may contradict."""
    sentences = ""
    count = 0 if stored.outcome == "known" else len(stored.fact.supersedes)
    if count > 0:
        sentences += f" It takes the place of {count} {'fact' if count == 1 else 'facts'}."
    if stored.fact.superseded_by:
        sentences += " A fact that holds since a later time has taken its place."
    if stored.may_supersede:
        texts = [
            fact_timeline(*browser.arguments, fact_id).fact.text or ""
            for fact_id in stored.may_supersede[:_CONTRADICTED_NAMED]
        ]
        others = len(stored.may_supersede) - len(texts)
        named = ", ".join(f"“{beginning(text, _NAMED_CHARACTERS_MAX)}”" for text in texts)
        named += f" and {others} more" if others else ""
        sentences += f" It may contradict {named}: end or delete what no longer holds."
    return sentences


PAGES = {
    PATH: Page(get=show),
    f"{PATH}/add": Page(post=add, form_bytes_max=_FORM_BYTES_MAX),
    f"{PATH}/wording": Page(post=reword, form_bytes_max=_FORM_BYTES_MAX),
    f"{PATH}/times": Page(post=change_times),
    f"{PATH}/project": Page(post=move),
    f"{PATH}/state": Page(post=change_state),
    f"{PATH}/remove": Page(post=remove),
}
