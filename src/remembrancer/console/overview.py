"""The overview page: first steps, totals, health, protocol compliance, and invitations."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from .. import __version__, status
from ..accounts import NotOwner
from ..accounts.invitations import invite
from ..agent.compliance import compliance
from ..models import SLOTS
from ..protocol.compliance import ComplianceQuery
from ..protocol.errors import InvalidRequest
from . import layout, step_up
from .browser_session import BrowserRequest, Page
from .sign_in import HOME, link

_TOTALS = (
    ("turns", "Turns", "/console/memory"),
    ("sessions", "Sessions", "/console/sessions"),
    ("users", "Users", "/console/map"),
    ("summaries", "L1 summaries", "/console/sessions"),
    ("facts", "Critical facts", "/console/facts"),
    ("cubes", "Cubes", "/console/cubes"),
    ("files", "Files", "/console/files"),
)
_NO_MODELS = (
    "none configured: chat quotes stored turns, maps are extractive, programs are repaired by rules"
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
        "rows": rows,
        "steps": steps,
        "components": component_health(browser),
        "version": __version__,
        "base": browser.base_url,
        "report": report,
        "days": COMPLIANCE_DAYS,
    }
    return browser.page(
        "overview.html", status=422 if error else 200, **values, invitation=invitation, error=error
    )


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
    if error_message := step_up.password_error(browser):
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
