"""The home page: turns as they arrive, with what was recalled for each, and figures of the week.

All figures come from the same rows as the lists beside them, so that they cannot contradict them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.responses import Response

from .. import status
from ..http.dispatch import ThreadPool
from ..memory.exchange import importer
from ..memory.history import activity, browse
from ..memory.history.forget import forget
from ..memory.write.turns import write_event
from ..protocol.forget import Forget
from ..protocol.memory import EventsQuery, EventWrite, ListedEvent
from ..protocol.text import DAY_MS
from . import layout
from .browser_session import BrowserRequest, Page
from .connect import setup_snippets
from .health import component_health
from .layout import link_to
from .sign_in import HOME

WEEK_DAYS = 7
STREAM = 12  # turns
USERS_READ = 6  # of the stream: those that were active last
MISSED_LISTED = 5
SAMPLE = Path(__file__).parent.parent / "memory" / "exchange" / "sample.jsonl"
SAMPLE_USER = "sample conversation"
NOTES = "notes"  # session of what is written on this page


def show(browser: BrowserRequest) -> Response:
    """Show the page."""
    context, caller = browser.context, browser.caller()
    since_ms = context.clock() - WEEK_DAYS * DAY_MS
    stream = _stream(browser)
    searches, answered = activity.count_searches(context, caller, since_ms=since_ms)
    missed, _ = activity.list_searches(
        context, caller, missed=True, since_ms=since_ms, most=MISSED_LISTED
    )
    learned, changed = activity.count_facts(context, caller, since_ms=since_ms)
    is_empty = not stream
    return browser.page(
        "home.html",
        stream=stream,
        searches=searches,
        answered=answered,
        missed=missed,
        learned=learned,
        changed=changed,
        health=component_health(browser),
        storage=status.store_bytes(context) if caller.is_owner else None,
        has_sample=SAMPLE_USER in browser.users.names,
        sample_user=SAMPLE_USER,
        has_key=status.has_key(context, caller),
        snippets=setup_snippets(browser.base_url, browser.users.chosen, None) if is_empty else [],
    )


def _stream(browser: BrowserRequest) -> list[tuple[str, ListedEvent, activity.SearchTrace | None]]:
    """Return user, turn and the search before it of the turns that were stored last."""
    context, caller = browser.context, browser.caller()
    recalled = {
        one.turn.event_id: one
        for one in activity.list_searches(context, caller)[0]
        if one.turn is not None
    }
    turns = [
        (user.user_id, event, recalled.get(event.event_id))
        for user in activity.active_users(context, caller, most=USERS_READ)
        for event in browse.list_events(
            context, caller, EventsQuery(user_id=user.user_id, limit=STREAM)
        ).events
    ]
    turns.sort(key=lambda one: (one[1].created_at, one[1].occurred_at), reverse=True)
    return turns[:STREAM]


def remember(browser: BrowserRequest) -> Response:
    """Store a text as a turn of the chosen user."""
    user_id, text = browser.users.chosen, layout.lines(browser.form, "text")
    request = layout.parse(
        EventWrite, {"user_id": user_id, "session_id": NOTES, "query": text, "response": ""}
    )
    stored = write_event(*browser.arguments, request)
    return browser.redirect(
        link_to("/console/memory", user_id=user_id, event_id=stored.event_id),
        notice="Remembered. Agents find it from now on.",
    )


def change_sample(browser: BrowserRequest) -> Response:
    """Load the sample conversation for a user of its own, or remove that user."""
    context, caller = browser.context, browser.caller()
    if layout.one_of(browser.form, "do", ("load", "remove")) == "remove":
        request = {"user_id": SAMPLE_USER, "confirm": SAMPLE_USER, "dry_run": False}
        forget(context, caller, layout.parse(Forget, request))
        return browser.redirect(HOME, notice="The sample is erased.")
    result = importer.store(context, caller, importer.read(caller, SAMPLE, user_id=SAMPLE_USER))
    question = "What does the allotment cost me a year?"
    return browser.redirect(
        link_to("/console/memory", user_id=SAMPLE_USER, query=question),
        notice=f"{result.stored} turns of the user {SAMPLE_USER} are stored.",
    )


def set_theme(browser: BrowserRequest) -> Response:
    """Store the theme in a cookie and return to the previous page."""
    response = browser.redirect(layout.local_path(browser.form.get("back", ""), HOME))
    browser.set_theme_cookie(response, browser.form.get("theme", ""))
    return response


PAGES: dict[str, Any] = {
    HOME: Page(get=show),
    "/console/remember": Page(post=remember, form_bytes_max=1 << 20),
    "/console/sample": Page(post=change_sample, pool=ThreadPool.LARGE),
    "/console/theme": Page(post=set_theme),
}
