"""The usage page: daily counts as charts and tables."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from ..accounts.usage import DAYS_SHOWN, KINDS, Kind, usage_of
from ..protocol.text import DAY_MS, day_of
from .browser_session import BrowserRequest, Page
from .charts import chart

PATH = "/console/usage"
_CHARTS: tuple[tuple[str, tuple[tuple[Kind, str], ...]], ...] = (
    ("Turns stored", (("turn", "by agents"), ("imported", "imported"))),
    ("Searches", (("search", "searches"),)),
    ("Chats", (("chat", "chats"),)),
    ("Sandbox runs", (("run", "runs"),)),
    ("Permission checks", (("check", "checks"),)),
)
_MODEL_CHARTS: tuple[tuple[str, tuple[tuple[Kind, str], ...]], ...] = (
    ("Model requests", (("model_call", "succeeded"), ("model_failure", "failed"))),
    ("Tokens", (("tokens_read", "input"), ("tokens_written", "output"))),
)


def show(browser: BrowserRequest) -> Response:
    """Show the charts: of all accounts to the owner, of their own account to others."""
    caller = browser.caller()
    usage = usage_of(browser.context, caller)
    days = [day_of(day * DAY_MS) for day in usage.days]
    definitions = (*_CHARTS, *_MODEL_CHARTS) if caller.is_owner else _CHARTS
    charts = [
        chart(title, [(name, usage.by_day[kind]) for kind, name in series], days)
        for title, series in definitions
    ]
    kinds = [kind for kind in KINDS if any(kind in row.counts for row in usage.by_key)]
    by_key = sorted(usage.by_key, key=lambda row: -sum(row.counts.values()))
    is_empty = not any(sum(chart.totals) for chart in charts)
    names = {kind: name for _, series in _CHARTS for kind, name in series}
    values: dict[str, Any] = {
        "charts": charts,
        "by_key": by_key,
        "kinds": kinds,
        "heads": ["Key", *(names[kind] for kind in kinds)],
        "is_empty": is_empty,
        "idle": [chart.title.lower() for chart in charts if not sum(chart.totals)],
    }
    return browser.page("usage.html", **values, days_shown=DAYS_SHOWN)


PAGES = {PATH: Page(get=show)}
