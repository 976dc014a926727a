"""The feedback page: all reports for the owner, who closes them; own reports for others."""

from __future__ import annotations

from typing import get_args

from starlette.responses import Response

from ..accounts import NotOwner
from ..feedback import (
    close_feedback,
    count_open_feedback,
    list_feedback,
    own_feedback,
    reopen_feedback,
    submit_feedback,
)
from ..http.admission import RateExceeded
from ..protocol.errors import Problem
from ..protocol.feedback import Feedback, FeedbackList, FeedbackQuery, FeedbackType
from . import layout
from .browser_session import BrowserRequest, Page
from .layout import number_in, parse_filters, parse_form

PATH = "/console/feedback"
TYPES = get_args(FeedbackType)
STATES = ("open", "closed", "all")
NOTE_CHARACTERS_MAX = 2_000
_LISTED = 25


def show(browser: BrowserRequest) -> Response:
    """Show a page of feedback, newest first."""
    return _page(browser, {}, {})


def submit(browser: BrowserRequest) -> Response:
    """Submit a report."""
    browser.form_session()
    form = {
        name: browser.form.get(name, "").replace("\r\n", "\n")
        for name in ("type", "title", "description", "severity")
    }
    severity = number_in(form["severity"]) if form["severity"].strip() else None
    request = parse_form(Feedback, {**form, "severity": severity})
    if isinstance(request, dict):
        return _page(browser, form, request)
    caller = browser.caller()
    try:
        browser.dispatcher.rate_limiters["feedback"].take(("account", caller.account_id))
    except RateExceeded as error:
        wait_s = error.allowance.wait_s
        message = f"Too many reports in the last minute. Try again in {wait_s} seconds."
        return _page(browser, form, {"type": message}, problem=error)
    submit_feedback(browser.context, caller, request)
    return browser.redirect(PATH, notice="Report sent. The owner sees it on this page.")


def change_state(browser: BrowserRequest) -> Response:
    """Close a report with an answer for its sender, or open it again, by `do`. Owner only."""
    caller, form = browser.caller(), browser.form
    if not caller.is_owner:
        raise NotOwner
    feedback_id = layout.identifier(form, "feedback_id")
    back = layout.local_path(form.get("back", ""), PATH)
    if form.get("do") == "reopen":
        reopen_feedback(browser.context, caller, feedback_id)
        return browser.redirect(back, notice="The report is open again.")
    note = layout.text(form, "note", NOTE_CHARACTERS_MAX).replace("\r\n", "\n")
    close_feedback(browser.context, caller, feedback_id, note or None)
    return browser.redirect(back, notice="The report is closed. Its sender sees your answer here.")


def list_page(
    browser: BrowserRequest, before: str | None, limit: int
) -> tuple[FeedbackQuery, FeedbackList]:
    """Return the filters of the page, and a page of what they let pass."""
    params, caller = browser.request.query_params, browser.caller()
    state = params.get("state") or "open"
    values = {"type": params.get("type"), "state": state, "before": before, "limit": limit}
    query, _ = parse_filters(FeedbackQuery, values)
    list_reports = list_feedback if caller.is_owner else own_feedback
    return query, list_reports(browser.context, caller, query)


def _page(
    browser: BrowserRequest,
    form: dict[str, str],
    errors: dict[str, str],
    problem: Problem | None = None,
) -> Response:
    caller = browser.caller()
    query, page = list_page(browser, browser.request.query_params.get("before"), _LISTED)
    values = {
        "page": page,
        "types": TYPES,
        "chosen": query.type,
        "states": STATES,
        "chosen_state": query.state,
        "open_count": count_open_feedback(browser.context, caller),
        "note_max": NOTE_CHARACTERS_MAX,
        "is_first": query.before is None,
        "form": form,
        "errors": errors,
    }
    status = 422 if errors else 200
    return browser.page("feedback.html", status=status, problem=problem, **values)


PAGES = {
    PATH: Page(get=show),
    f"{PATH}/give": Page(post=submit),
    f"{PATH}/state": Page(post=change_state, owner_only=True),
}
