"""The usage page: daily counts as charts and tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from starlette.responses import Response

from ..accounts.usage import DAY_MS, DAYS_SHOWN, KINDS, Kind, usage_of
from ..protocol.text import day_of
from .browser_session import BrowserRequest, Page

PATH = "/console/usage"
# Of a chart, in SVG units: bars start at the floor, labels are below it.
WIDTH, HEIGHT, _FLOOR, _TOP = 600, 140, 118, 20
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The count of one series on one day, in SVG units."""

    x: float
    y: float
    width: float
    height: float
    series: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Bars of a chart, and the same counts as table rows, newest day first."""

    title: str
    names: list[str]
    totals: list[int]
    bars: list[Bar]
    top: int
    days: list[tuple[float, str]]  # position and text of the labels
    rows: list[tuple[str, list[int]]]


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
        "names": names,
        "is_empty": is_empty,
    }
    return browser.page(
        "usage.html",
        **values,
        days_shown=DAYS_SHOWN,
        width=WIDTH,
        height=HEIGHT,
        floor=_FLOOR,
        top=_TOP,
    )


def chart(title: str, series: list[tuple[str, list[int]]], days: list[date]) -> Chart:
    """Draw a bar chart with stacked series. The highest day reaches the top."""
    daily = [[counts[i] for _, counts in series] for i in range(len(days))]
    top = max((sum(counts) for counts in daily), default=0)
    slot = WIDTH / max(len(days), 1)
    bars: list[Bar] = []
    for index, (day, counts) in enumerate(zip(days, daily, strict=True)):
        y = float(_FLOOR)
        for series_index, ((name, _), count) in enumerate(zip(series, counts, strict=True)):
            if count:
                height = round(max(count / top * (_FLOOR - _TOP), 1.0), 2)
                y = round(y - height, 2)
                label = f"{day:%d %B}: {count:,} {name}"
                bars.append(
                    Bar(
                        x=round(index * slot + 1, 2),
                        y=y,
                        width=round(slot - 2, 2),
                        height=height,
                        series=series_index,
                        label=label,
                    )
                )
    labels = [(round(i * slot, 2), f"{days[i]:%d %b}") for i in range(0, len(days), 7)]
    rows = [
        (f"{day:%Y-%m-%d}", counts)
        for day, counts in zip(reversed(days), reversed(daily), strict=True)
        if sum(counts)
    ]
    names = [name for name, _ in series]
    return Chart(
        title=title,
        names=names,
        totals=[sum(counts) for _, counts in series],
        bars=bars,
        top=top,
        days=labels,
        rows=rows,
    )


PAGES = {PATH: Page(get=show)}
