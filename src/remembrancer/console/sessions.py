"""A session as a conversation: its turns, and between them searches, facts, summaries, lessons."""

from __future__ import annotations

from starlette.responses import Response

from ..agent.compliance import session_compliance
from ..memory.duties import L1_TURNS
from ..memory.history import browse
from ..memory.tasks import end_task_of_session
from . import layout
from .browser_session import BrowserRequest, Page
from .layout import link_to
from .memory import PATH as MEMORY
from .memory import session_address

PATH = "/console/sessions"


def show(browser: BrowserRequest) -> Response:
    """Show the session of `?session_id`; without one, redirect to the list of sessions."""
    params, user_id = browser.request.query_params, browser.users.chosen
    session_id = layout.identifier(params, "session_id")
    if not session_id:
        return browser.redirect(link_to(MEMORY, kind="session", user_id=params.get("user_id")))
    until = layout.cursor(params, "until")
    timeline = browse.timeline(*browser.arguments, user_id, session_id, until=until)
    where = {"user_id": user_id, "session_id": session_id}
    return browser.page(
        "session.html",
        figures=session_compliance(*browser.arguments, user_id, session_id),
        user_id=user_id,
        timeline=timeline,
        earlier=link_to(PATH, **where, until=timeline.earlier) if timeline.earlier else None,
        is_latest=until is None,
        l1_turns=L1_TURNS,
    )


def end_task(browser: BrowserRequest) -> Response:
    """End the open task of a session."""
    user_id, session_id = browser.users.chosen, layout.identifier(browser.form, "session_id")
    end_task_of_session(*browser.arguments, user_id, session_id)
    return browser.redirect(session_address(user_id, session_id), notice="The task is ended.")


PAGES = {PATH: Page(get=show), f"{PATH}/end-task": Page(post=end_task)}
