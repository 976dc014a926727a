"""The audit trail: looked through from its end, verified when asked, taken away as JSON lines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response, StreamingResponse

from ..permissions.audit import AuditBroken, export_entries, verify
from ..permissions.audit_search import AuditFilter, search_audit
from ..permissions.owner import require_unpinned_owner
from .browser_session import BrowserRequest, Page
from .forms import number, parse_filters
from .parameters import link_to

PATH = "/console/audit"
_FIELDS = ("kind", "agent", "path", "grant_id")
_KINDS = ("grant", "check", "log", "revoke")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainState:
    """What came of looking at the whole trail: `broken` says where it is not as it was written."""

    entries: int
    hash: str
    ms: float
    broken: str = ""


def show(visit: BrowserRequest) -> Response:
    """A page of the trail, with what came of looking at all of it when that is asked; for a script
    only the part it wants.
    """
    asked = visit.request.query_params
    chain = verify_all(visit) if asked.get("verify") else None
    if visit.is_swap and chain:
        return visit.fragment("_audit_chain.html", chain=chain)
    form = {name: asked.get(name, "").strip() for name in _FIELDS}
    query, wrong = parse_filters(AuditFilter, {**form, "before": number(asked.get("before", ""))})
    leaf = search_audit(visit.context, visit.caller(), query)
    filters = {name: value for name, value in form.items() if value}
    values: dict[str, Any] = {
        "leaf": leaf,
        "form": form,
        "wrong": wrong,
        "kinds": _KINDS,
        "older": link_to(PATH, **filters, before=leaf.next) if leaf.next else None,
        "is_newest": not asked.get("before"),
        "is_filtered": bool(filters),
    }
    return (
        visit.fragment("_audit_entries.html", **values)
        if visit.is_swap
        else visit.page("audit.html", **values, chain=chain)
    )


def verify_all(visit: BrowserRequest) -> ChainState:
    """Verify the whole trail. Raises NotOwner, StoreUnavailable."""
    require_unpinned_owner(visit.caller())
    begin = time.perf_counter()
    try:
        head = verify(visit.context)
    except AuditBroken as error:
        return ChainState(entries=0, hash="", ms=_since(begin), broken=str(error))
    return ChainState(entries=head.seq, hash=head.hash, ms=_since(begin))


def _since(begin: float) -> float:
    return (time.perf_counter() - begin) * 1e3


def export(visit: BrowserRequest) -> Response:
    """Every entry as a line of JSON, in order, as a file."""
    require_unpinned_owner(visit.caller())
    headers = {
        "Content-Disposition": 'attachment; filename="audit.jsonl"',
        "X-Content-Type-Options": "nosniff",
    }
    headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return StreamingResponse(_lines(visit), headers=headers, media_type="application/x-ndjson")


def _lines(visit: BrowserRequest) -> Iterator[str]:
    for line in export_entries(visit.context):
        yield f"{line}\n"


PAGES = {
    PATH: Page(get=show, owner_only=True),
    f"{PATH}/export": Page(get=export, owner_only=True, gives_file=True),
}
