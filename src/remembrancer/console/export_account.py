"""Tables of the account and the service as rows for an export: usage, compliance, keys, audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .. import status
from ..accounts import keys, sign_in
from ..accounts.usage import DAY_MS, DAYS_SHOWN, KINDS, usage_of
from ..agent.compliance import compliance, session_compliance
from ..feedback import list_feedback, own_feedback
from ..files.files import list_files, quota_usage
from ..permissions.audit import AuditFilter, search_audit
from ..permissions.grants import list_grants
from ..protocol import limits
from ..protocol.compliance import ComplianceQuery, Figures
from ..protocol.feedback import FeedbackQuery
from ..protocol.permissions import GrantsQuery
from ..protocol.text import day_of, rfc3339
from . import parameters
from .browser_session import BrowserRequest
from .export_tables import Row, Table, chosen_user
from .forms import parse_filters


def _activity(browser: BrowserRequest) -> Iterator[Row]:
    yield from _usage_rows(browser, own=True)


def _usage(browser: BrowserRequest) -> Iterator[Row]:
    yield from _usage_rows(browser, own=False)


def _usage_rows(browser: BrowserRequest, *, own: bool) -> Iterator[Row]:
    usage = usage_of(browser.context, browser.caller(), DAYS_SHOWN, own=own)
    for place, day in enumerate(usage.days):
        counts = {str(kind): usage.by_day[kind][place] for kind in KINDS}
        yield {"day": day_of(day * DAY_MS).isoformat(), **counts}


def _usage_keys(browser: BrowserRequest) -> Iterator[Row]:
    for one in usage_of(browser.context, browser.caller()).by_key:
        key = "browser" if one.key_id == 0 else (one.label or f"sk_{one.hint}")
        yield {"account": one.account, "key": key, **one.counts}


def _compliance(browser: BrowserRequest) -> Iterator[Row]:
    report = compliance(browser.context, browser.caller(), ComplianceQuery(days=7))
    yield from _figures("all", report.total)
    for agent in report.agents:
        yield from _figures(agent.label or agent.hint or "unknown", agent.figures)


def _session_compliance(browser: BrowserRequest) -> Iterator[Row]:
    session_id = parameters.identifier(browser.request.query_params, "session_id") or "default"
    figures = session_compliance(
        browser.context, browser.caller(), chosen_user(browser), session_id
    )
    yield from _figures("session", figures)


def _figures(who: str, figures: Figures) -> Iterator[Row]:
    for name, part in figures.model_dump().items():
        if isinstance(part, Mapping):
            yield {"key": who, "duty": name, **part}


def _totals(browser: BrowserRequest) -> Iterator[Row]:
    caller = browser.caller()
    own = status.store_counts(browser.context, caller)
    service = status.store_counts(browser.context, None) if caller.is_owner else None
    for name, count in own._asdict().items():
        row = {"data": name, "own": count}
        if service is not None:
            row["all_accounts"] = getattr(service, name)
        yield row


def _files(browser: BrowserRequest) -> Iterator[Row]:
    before = None
    while True:
        page = list_files(browser.context, browser.caller(), before)
        for one in page.files:
            yield {
                "filename": one.filename,
                "bytes": one.size_bytes,
                "created_at": rfc3339(one.created_ms),
                "created_by": one.made_by,
                "key": one.key,
            }
        before = page.next
        if before is None:
            return


def _feedback(browser: BrowserRequest) -> Iterator[Row]:
    params, caller = browser.request.query_params, browser.caller()
    list_reports = list_feedback if caller.is_owner else own_feedback
    before = None
    while True:
        query, _ = parse_filters(
            FeedbackQuery,
            {
                "type": params.get("type"),
                "state": params.get("state") or "open",
                "before": before,
                "limit": limits.FEEDBACK_LISTED_MAX,
            },
        )
        page = list_reports(browser.context, caller, query)
        for one in page.feedback:
            yield one.model_dump()
        before = page.next
        if before is None:
            return


def _keys(browser: BrowserRequest) -> Iterator[Row]:
    now_ms = browser.context.clock()
    for key in keys.list_keys(browser.context, browser.caller().account_name):
        values = key._asdict() | {"state": key.state(now_ms)}
        yield {
            name.replace("_ms", "_at"): rfc3339(value) if name.endswith("_ms") and value else value
            for name, value in values.items()
        }


def _browsers(browser: BrowserRequest) -> Iterator[Row]:
    session = browser.require_session()
    for one in sign_in.list_browsers(browser.context, session, browser.token):
        yield {
            "browser": one.name,
            "signed_in_at": rfc3339(one.since_ms),
            "used_at": rfc3339(one.used_ms),
            "this": one.is_this,
        }


def _grants(browser: BrowserRequest) -> Iterator[Row]:
    before = None
    while True:
        page = list_grants(browser.context, browser.caller(), GrantsQuery(before=before))
        for grant in page.grants:
            yield grant.model_dump()
        before = page.next
        if before is None:
            return


def _audit(browser: BrowserRequest) -> Iterator[Row]:
    params = browser.request.query_params
    form = {name: params.get(name, "").strip() for name in ("kind", "agent", "path", "grant_id")}
    before = None
    while True:
        query, _ = parse_filters(AuditFilter, {**form, "before": before})
        page = search_audit(browser.context, browser.caller(), query)
        for entry in page.entries:
            yield entry.model_dump(mode="json")
        before = page.next
        if before is None:
            return


def _quotas(browser: BrowserRequest) -> Iterator[Row]:
    for one in quota_usage(browser.context, browser.caller()):
        yield {"account": one.account, "files": one.count, "bytes": one.used_bytes}


ACCOUNT_TABLES: dict[str, Table] = {
    "totals": _totals,
    "activity": _activity,
    "compliance": _compliance,
    "session-compliance": _session_compliance,
    "usage": _usage,
    "usage-keys": _usage_keys,
    "files": _files,
    "feedback": _feedback,
    "keys": _keys,
    "browsers": _browsers,
}
OWNER_TABLES: dict[str, Table] = {"audit": _audit, "grants": _grants, "quotas": _quotas}
