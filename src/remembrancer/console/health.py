"""The service page: health, storage, retention, protocol compliance and invitations."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from .. import __version__, status
from ..accounts import NotOwner
from ..accounts.sign_in import invite
from ..agent.compliance import compliance
from ..models import SLOTS
from ..protocol.agent import ComplianceQuery
from ..protocol.errors import InvalidRequest
from . import browser_session
from .browser_session import BrowserRequest, Page
from .sign_in import link

PATH = "/console/service"
_TOTALS = (
    ("turns", "Turns", "/console/memory"),
    ("sessions", "Sessions", "/console/memory?kind=session"),
    ("users", "Users", "/console/users"),
    ("summaries", "Summaries", "/console/memory?kind=summary"),
    ("facts", "Facts", "/console/memory?kind=fact"),
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


@dataclass(frozen=True, slots=True)
class ComponentHealth:
    """The state of one component: store, embedder, models or sandbox."""

    name: str
    state: str  # good, warm, bad, or idle: not in use
    detail: str


def show(
    browser: BrowserRequest, *, invitation: str | None = None, error: str | None = None
) -> Response:
    """Show the page: of the own account, to owners also of the service."""
    context, caller = browser.context, browser.caller()
    own = status.store_counts(context, caller)
    service = status.store_counts(context, None) if caller.is_owner else None
    settings = context.settings
    return browser.page(
        "service.html",
        status=422 if error else 200,
        rows=[
            (name, getattr(own, field), getattr(service, field) if service else None, path)
            for field, name, path in _TOTALS
        ],
        components=component_health(browser),
        version=__version__,
        base=browser.base_url,
        report=compliance(context, caller, ComplianceQuery(days=COMPLIANCE_DAYS)),
        days=COMPLIANCE_DAYS,
        storage_bytes=status.store_bytes(context) if caller.is_owner else None,
        retention=(settings.retention_days, settings.retention_events),
        invitation=invitation,
        error=error,
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
    sandbox_state, about = _SANDBOX.get(sandbox, ("good", sandbox))
    store_detail = "reads and writes" if readiness.store == "ok" else readiness.store
    embedder_detail = embedder if readiness.embedder == "ok" else readiness.embedder
    return [
        ComponentHealth("Store", _state(readiness.store), store_detail),
        ComponentHealth("Embedder", _state(readiness.embedder, pending), embedder_detail),
        ComponentHealth("Models", "good" if slots else "idle", ", ".join(slots) or _NO_MODELS),
        ComponentHealth("Sandbox", sandbox_state, about),
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


PAGES = {PATH: Page(get=show), f"{PATH}/invite": Page(post=make_invitation, owner_only=True)}
