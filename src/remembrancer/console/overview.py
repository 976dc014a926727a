"""The overview page: whether memory is alive and useful, health, and invitations.

Figures of activity are those of the own account. Each covers a period or the latest rows, so the
page reads no table as a whole, apart from the totals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from .. import __version__, status
from ..accounts import NotOwner
from ..accounts.sign_in import invite
from ..accounts.usage import DAY_MS, usage_of
from ..agent.compliance import compliance
from ..memory.history import activity, browse
from ..models import SLOTS
from ..protocol.agent import ComplianceQuery
from ..protocol.errors import InvalidRequest
from . import browser_session, layout
from .browser_session import BrowserRequest, Page
from .charts import Sparkline, chart, period_days, sparkline
from .sign_in import HOME, link

_TOTALS = (
    ("turns", "Turns", "/console/memory"),
    ("sessions", "Sessions", "/console/sessions"),
    ("users", "Users", "/console/users"),
    ("summaries", "Summaries", "/console/sessions"),
    ("facts", "Facts", "/console/facts"),
    ("cubes", "Lessons", "/console/cubes"),
    ("files", "Files", "/console/files"),
)
_NO_MODELS = (
    "none configured: chat quotes stored turns, profiles are extractive, programs are repaired by "
    "rules"
)
_SANDBOX = {
    "gvisor": ("good", "programs run in gVisor containers"),
    "ns": ("good", "programs run in their own namespaces, without network access"),
    "landlock": ("good", "programs run under Landlock, without network access"),
    "unsafe": ("bad", "programs run unconfined, with the permissions of the server"),
    "unavailable": (
        "warm",
        "programs cannot be confined on this machine and do not run; see remembrancer doctor",
    ),
    "not started": ("idle", "starts with the first program"),
}

COMPLIANCE_DAYS = 7
CHART_DAYS = 30
WEEK_DAYS = 7
RECALLS_LISTED = 6
FACTS_LISTED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentHealth:
    """The state of one component: store, embedder, models or sandbox."""

    name: str
    state: str  # good, warm, bad, or idle: not in use
    detail: str


def show(
    browser: BrowserRequest, *, invitation: str | None = None, error: str | None = None
) -> Response:
    """Show the overview."""
    session, caller = browser.require_session(), browser.caller()
    own = status.store_counts(browser.context, caller)
    service = status.store_counts(browser.context, None) if session.is_owner else None
    rows = [
        (name, getattr(own, field), getattr(service, field) if service else None, path)
        for field, name, path in _TOTALS
    ]
    steps = [status.has_key(browser.context, caller), own.turns > 0]
    report = compliance(browser.context, caller, ComplianceQuery(days=COMPLIANCE_DAYS))
    values = {
        "totals": own,
        "rows": rows,
        "steps": steps,
        "components": component_health(browser),
        "version": __version__,
        "base": browser.base_url,
        "report": report,
        "days": COMPLIANCE_DAYS,
        "storage_bytes": status.store_bytes(browser.context) if session.is_owner else None,
        **_activity(browser),
    }
    return browser.page(
        "overview.html", status=422 if error else 200, **values, invitation=invitation, error=error
    )


def _activity(browser: BrowserRequest) -> dict[str, Any]:
    """Return charts, the latest turns with what was recalled for them, and new facts."""
    context, caller = browser.context, browser.caller()
    usage = usage_of(context, caller, CHART_DAYS, own=True)
    days = period_days(CHART_DAYS, context.clock())
    # Imports would hide every other day, so they have no bars beside those of agents.
    by_agents = usage.by_day["turn"] if any(usage.by_day["turn"]) else usage.by_day["imported"]
    name = "by agents" if any(usage.by_day["turn"]) else "imported"
    charts = [
        chart("Turns stored", [(name, by_agents)], days),
        chart("Searches", [("searches", usage.by_day["search"])], days),
    ]
    searches = activity.searches_by_day(context, caller, days=2 * WEEK_DAYS)
    users = activity.active_users(context, caller, most=1)
    recalls, _ = activity.list_searches(context, caller, most=RECALLS_LISTED)
    since_ms = context.clock() - WEEK_DAYS * DAY_MS
    news = activity.fact_news(context, caller, since_ms=since_ms)
    newest = (
        browse.newest_events(context, caller, users[0].user_id)[0][:RECALLS_LISTED]
        if users and not recalls
        else []
    )
    return {
        "charts": charts,
        "imported": sum(usage.by_day["imported"]),
        "chart_days": CHART_DAYS,
        "week": _week(searches[-WEEK_DAYS:]),
        "sparks": _sparks(searches),
        "active": users[0] if users else None,
        "recalls": recalls,
        "newest": newest,
        "news": news[:FACTS_LISTED],
        "learned": sum(one.replaced is None for one in news),
        "changed": sum(one.replaced is not None for one in news),
    }


def _week(days: list[activity.DaySearches]) -> dict[str, int]:
    return {
        name: sum(getattr(day, name) for day in days)
        for name in ("searches", "answered", "turns_due", "remembered", "seals_due", "sealed")
    }


def _sparks(days: list[activity.DaySearches]) -> list[tuple[str, float | None, Sparkline]]:
    """Return the name, the share of the last week and the sparkline of each duty."""
    result = []
    for name, part, of in (
        ("Searches with a hit", "answered", "searches"),
        ("Turns remembered", "remembered", "turns_due"),
        ("Replies with a receipt", "sealed", "seals_due"),
    ):
        shares = [
            getattr(day, part) / getattr(day, of) if getattr(day, of) else None for day in days
        ]
        week = _week(days[-WEEK_DAYS:])
        result.append((name, week[part] / week[of] if week[of] else None, sparkline(name, shares)))
    return result


def component_health(browser: BrowserRequest) -> list[ComponentHealth]:
    """Check store, embedder, models and sandbox now."""
    readiness = status.readiness(browser.context)
    pending = readiness.embedding.pending if readiness.embedding else 0
    embedder = browser.context.embedder.name
    if pending:
        older = readiness.embedding.older if readiness.embedding else None
        meanwhile = f"the vectors of {older}" if older else "full-text search only"
        embedder += f"; {pending:,} events waiting to be embedded, found by {meanwhile}"
    slots = [slot.replace("_", " ") for slot in SLOTS if browser.context.models.has(slot)]
    sandbox = browser.dispatcher.sandbox.state
    return [
        ComponentHealth(
            name="Store",
            state=_state(readiness.store),
            detail="reads and writes" if readiness.store == "ok" else readiness.store,
        ),
        ComponentHealth(
            name="Embedder",
            state=_state(readiness.embedder, pending),
            detail=embedder if readiness.embedder == "ok" else readiness.embedder,
        ),
        ComponentHealth(
            name="Models", state="good" if slots else "idle", detail=", ".join(slots) or _NO_MODELS
        ),
        ComponentHealth(
            name="Sandbox",
            state=_SANDBOX.get(sandbox, ("good", ""))[0],
            detail=_SANDBOX.get(sandbox, ("", sandbox))[1],
        ),
    ]


def _state(check: str, pending: int = 0) -> str:
    return "bad" if check != "ok" else "warm" if pending else "good"


def make_invitation(browser: BrowserRequest) -> Response:
    """Create an invitation or password-reset link and show it once. Raises NotOwner."""
    if not browser.form_session().is_owner:
        raise NotOwner
    # A link can take over any account, the owner's included.
    if error_message := browser_session.password_error(browser):
        return show(browser, error=error_message)
    try:
        token = invite(browser.context, browser.form.get("name", ""))
    except InvalidRequest as error:
        return show(browser, error=error.detail)
    return show(browser, invitation=link(browser.base_url, token.reveal()))


def set_theme(browser: BrowserRequest) -> Response:
    """Store the theme in a cookie and return to the previous page."""
    response = browser.redirect(layout.local_path(browser.form.get("back", ""), HOME))
    browser.set_theme_cookie(response, browser.form.get("theme", ""))
    return response


PAGES = {
    HOME: Page(get=show),
    "/console/invite": Page(post=make_invitation, owner_only=True),
    "/console/theme": Page(post=set_theme),
}
