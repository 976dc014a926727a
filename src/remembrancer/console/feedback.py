"""What was reported: all of it for the owner, their own for others."""

from __future__ import annotations

from typing import get_args

from starlette.responses import Response

from ..feedback import list_feedback, own_feedback, submit_feedback
from ..http.rate_limiter import RateExceeded
from ..protocol.feedback import Feedback, FeedbackQuery, FeedbackType
from .browser_session import BrowserRequest, Page
from .forms import number, parse_filters, parse_form

PATH = "/console/feedback"
TYPES = get_args(FeedbackType)
_LISTED = 25


def show(visit: BrowserRequest) -> Response:
    """A page of feedback, newest first."""
    return _page(visit, {}, {})


def submit(visit: BrowserRequest) -> Response:
    """Report something."""
    visit.session()
    form = {
        name: visit.form.get(name, "").replace("\r\n", "\n")
        for name in ("type", "title", "description", "severity")
    }
    severity = number(form["severity"]) if form["severity"].strip() else None
    asked = parse_form(Feedback, {**form, "severity": severity})
    if isinstance(asked, dict):
        return _page(visit, form, asked, status=422)
    caller = visit.caller()
    try:
        visit.dispatcher.take("feedback", ("account", caller.account_id))
    except RateExceeded as error:
        said = f"These were as many reports as an account has in a minute. Try again in {error.allowance.wait_s} seconds."
        answer = _page(visit, form, {"type": said}, status=429)
        answer.headers["Retry-After"] = str(error.allowance.wait_s)
        return answer
    submit_feedback(visit.context, caller, asked)
    return visit.go(PATH, told="Kept. The owner reads it here.")


def _page(
    visit: BrowserRequest, form: dict[str, str], wrong: dict[str, str], status: int = 200
) -> Response:
    params, caller = visit.request.query_params, visit.caller()
    query, _ = parse_filters(
        FeedbackQuery,
        {"type": params.get("type"), "before": params.get("before"), "limit": _LISTED},
    )
    found = (list_feedback if caller.is_owner else own_feedback)(visit.context, caller, query)
    values = {
        "found": found,
        "types": TYPES,
        "chosen": query.type,
        "is_first": query.before is None,
        "form": form,
        "wrong": wrong,
    }
    return visit.page("feedback.html", status=status, **values)


PAGES = {PATH: Page(get=show), f"{PATH}/give": Page(post=submit)}
