"""The audit trail page: filter entries, verify the hash chain, export as JSON lines."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from starlette.responses import Response, StreamingResponse

from ..permissions.audit import AuditBroken, AuditFilter, export_entries, search_audit, verify
from ..permissions.owner import require_unpinned_owner
from .browser_session import BrowserRequest, Page
from .layout import link_to, number_in, parse_filters

PATH = "/console/audit"
_FIELDS = ("kind", "agent", "path", "grant_id")
_KINDS = ("grant", "check", "log", "revoke", "erase", "team")


def show(browser: BrowserRequest) -> Response:
    """Show a page of entries, newest first. `?verify` also verifies the hash chain.

    A fragment request gets only the part of the page that it replaces.
    """
    params = browser.request.query_params
    chain = verify_all(browser) if params.get("verify") else None
    if browser.wants_fragment and chain:
        return browser.fragment("_audit_chain.html", chain=chain)
    query, errors = filters_of(params, number_in(params.get("before", "")))
    result = search_audit(*browser.arguments, query)
    form = {name: params.get(name, "").strip() for name in _FIELDS}
    filters = {name: value for name, value in form.items() if value}
    values: dict[str, Any] = {
        "result": result,
        "form": form,
        "errors": errors,
        "kinds": _KINDS,
        "older": link_to(PATH, **filters, before=result.next) if result.next else None,
        "is_newest": not params.get("before"),
        "is_filtered": bool(filters),
    }
    return (
        browser.fragment("_audit_entries.html", **values)
        if browser.wants_fragment
        else browser.page("audit.html", **values, chain=chain)
    )


def filters_of(params: Mapping[str, str], before: object) -> tuple[AuditFilter, dict[str, str]]:
    """Return the filters of the page, and error messages by field name."""
    form = {name: params.get(name, "").strip() for name in _FIELDS}
    return parse_filters(AuditFilter, {**form, "before": before})


def verify_all(browser: BrowserRequest) -> dict[str, Any]:
    """Verify the hash chain of all entries: its head, or what is broken, and how long it took.

    Raises NotOwner, StoreUnavailable.
    """
    require_unpinned_owner(browser.caller())
    start, head, broken = time.perf_counter(), None, ""
    try:
        head = verify(browser.context)
    except AuditBroken as error:
        broken = str(error)
    return {"head": head, "broken": broken, "ms": (time.perf_counter() - start) * 1e3}


def export(browser: BrowserRequest) -> Response:
    """Download every entry, oldest first, one JSON object per line."""
    require_unpinned_owner(browser.caller())
    headers = {
        "Content-Disposition": 'attachment; filename="audit.jsonl"',
        "X-Content-Type-Options": "nosniff",
    }
    headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return StreamingResponse(_lines(browser), headers=headers, media_type="application/x-ndjson")


def _lines(browser: BrowserRequest) -> Iterator[str]:
    for line in export_entries(browser.context):
        yield f"{line}\n"


PAGES = {
    PATH: Page(get=show, owner_only=True),
    f"{PATH}/export": Page(get=export, owner_only=True, is_download=True),
}
