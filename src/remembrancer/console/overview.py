"""The first page:

who is signed in, the first steps, what is kept, how the service is doing; for the owner,
invitations.
"""

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
from . import layout as frame
from . import step_up
from .browser_session import BrowserRequest, Page
from .sign_in import HOME, link

_KEPT = (
    ("turns", "Turns", "/console/memory"),
    ("sessions", "Sessions", "/console/sessions"),
    ("users", "Users", "/console/map"),
    ("summaries", "Summaries", "/console/sessions"),
    ("facts", "Critical facts", "/console/map"),
    ("cubes", "Cubes", "/console/cubes"),
    ("files", "Files", "/console/files"),
)
_NO_MODELS = "none is configured: chat quotes what was kept, maps are made of headlines, programs are repaired by rule"
_SANDBOX = {
    "gvisor": ("good", "programs run in containers of gVisor's"),
    "ns": ("good", "programs run in namespaces of their own, without a network"),
    "landlock": ("good", "programs run under Landlock, without a network"),
    "unsafe": ("bad", "programs run unconfined: they may do whatever the server may"),
    "unavailable": (
        "warm",
        "this machine cannot confine programs, so none is run; remembrancer doctor says what is missing",
    ),
    "not started": ("idle", "starts with the first program"),
}

COMPLIANCE_DAYS = 7  # of the card


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentHealth:
    """One part of the service, and how it is doing."""

    name: str
    state: str  # good, warm, bad or idle: it is not asked for
    said: str


def show(
    visit: BrowserRequest, *, invitation: str | None = None, error: str | None = None
) -> Response:
    """What there is at a glance."""
    who, caller = visit.entered(), visit.caller()
    own = status.store_counts(visit.context, caller)
    service = status.store_counts(visit.context, None) if who.is_owner else None
    rows = [
        (name, getattr(own, field), getattr(service, field) if service else None, path)
        for field, name, path in _KEPT
    ]
    steps = [status.has_key(visit.context, caller), own.turns > 0]
    kept_to = compliance(visit.context, caller, ComplianceQuery(days=COMPLIANCE_DAYS))
    values = {
        "rows": rows,
        "steps": steps,
        "parts": component_health(visit),
        "version": __version__,
        "base": visit.base,
        "kept_to": kept_to,
        "days": COMPLIANCE_DAYS,
    }
    return visit.page(
        "overview.html", status=422 if error else 200, **values, invitation=invitation, error=error
    )


def component_health(visit: BrowserRequest) -> list[ComponentHealth]:
    """How store, embedder, models and sandbox are doing, tried now."""
    found = status.readiness(visit.context)
    waiting = found.embedding.pending if found.embedding else 0
    by = visit.context.embedder.name + (
        f"; {waiting:,} events are found by their words only until it has read them"
        if waiting
        else ""
    )
    slots = [slot.replace("_", " ") for slot in SLOTS if visit.context.models.has(slot)]
    confined = visit.dispatcher.sandbox.state
    return [
        ComponentHealth(
            name="Store",
            state=_state(found.store),
            said="reads and writes" if found.store == "ok" else found.store,
        ),
        ComponentHealth(
            name="Embedder",
            state=_state(found.embedder, waiting),
            said=by if found.embedder == "ok" else found.embedder,
        ),
        ComponentHealth(
            name="Models", state="good" if slots else "idle", said=", ".join(slots) or _NO_MODELS
        ),
        ComponentHealth(
            name="Sandbox",
            state=_SANDBOX.get(confined, ("good", ""))[0],
            said=_SANDBOX.get(confined, ("", confined))[1],
        ),
    ]


def _state(said: str, waiting: int = 0) -> str:
    return "bad" if said != "ok" else "warm" if waiting else "good"


def make_invitation(visit: BrowserRequest) -> Response:
    """A link for somebody; the owner only. It is shown once."""
    if not visit.session().is_owner:
        raise NotOwner
    if refused := step_up.refusal(visit):  # such a link takes over any account, the owner's too
        return show(visit, error=refused)
    try:
        token = invite(visit.context, visit.form.get("name", ""))
    except InvalidRequest as error:
        return show(visit, error=error.detail)
    return show(visit, invitation=link(visit.base, token.reveal()))


def set_theme(visit: BrowserRequest) -> Response:
    """Keep the theme in a cookie and go back to where the reader was."""
    answer = visit.go(frame.section_context(visit.form.get("back", ""), HOME))
    visit.keep_theme(answer, visit.form.get("theme", ""))
    return answer


PAGES = {
    HOME: Page(get=show),
    "/console/invite": Page(post=make_invitation, owner_only=True),
    "/console/theme": Page(post=set_theme),
}
