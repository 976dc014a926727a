"""What was done in the last days, as charts that the server draws and tables that say the same."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from starlette.responses import Response

from ..accounts.usage import DAY_MS, DAYS_SHOWN, KINDS, Kind, usage_of
from ..protocol.text import day_of
from .browser_session import BrowserRequest, Page

PATH = "/console/usage"
WIDTH, HEIGHT, _FLOOR, _TOP = (
    600,
    140,
    118,
    20,
)  # of a chart: bars stand on the floor, labels below it
_CHARTS: tuple[tuple[str, tuple[tuple[Kind, str], ...]], ...] = (
    ("Turns kept", (("turn", "turns"),)),
    ("Searches", (("search", "searches"),)),
    ("Chats", (("chat", "chats"),)),
    ("Programs run", (("run", "runs"),)),
    ("Permission checks", (("check", "checks"),)),
)
_OF_MODELS: tuple[tuple[str, tuple[tuple[Kind, str], ...]], ...] = (
    ("Calls of models", (("model_call", "answered"), ("model_failure", "failed"))),
    ("Tokens", (("tokens_read", "read"), ("tokens_written", "written"))),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One count of one day, in the units of the drawing."""

    x: float
    y: float
    width: float
    height: float
    series: int
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing, and the same as rows: a day and its counts."""

    title: str
    names: list[str]
    totals: list[int]
    bars: list[Bar]
    top: int
    days: list[tuple[float, str]]  # where a day is named below the floor
    rows: list[tuple[str, list[int]]]


def show(visit: BrowserRequest) -> Response:
    """The charts: of all accounts for an owner, of their own for others."""
    caller = visit.caller()
    found = usage_of(visit.context, caller)
    days = [day_of(day * DAY_MS) for day in found.days]
    shown = (*_CHARTS, *_OF_MODELS) if caller.is_owner else _CHARTS
    charts = [
        chart(title, [(name, found.by_day[kind]) for kind, name in series], days)
        for title, series in shown
    ]
    kinds = [kind for kind in KINDS if any(kind in one.counts for one in found.by_key)]
    by_key = sorted(found.by_key, key=lambda one: -sum(one.counts.values()))
    is_empty = not any(sum(chart.totals) for chart in charts)
    names = {kind: name for _, series in _CHARTS for kind, name in series}
    values: dict[str, Any] = {
        "charts": charts,
        "by_key": by_key,
        "kinds": kinds,
        "names": names,
        "is_empty": is_empty,
    }
    return visit.page(
        "usage.html",
        **values,
        days_shown=DAYS_SHOWN,
        width=WIDTH,
        height=HEIGHT,
        floor=_FLOOR,
        top=_TOP,
    )


def chart(title: str, series: list[tuple[str, list[int]]], days: list[date]) -> Chart:
    """Bars of each day, those of several series on top of each other, the tallest day at the top."""
    daily = [[counts[at] for _, counts in series] for at in range(len(days))]
    top = max((sum(counts) for counts in daily), default=0)
    slot = WIDTH / max(len(days), 1)
    bars: list[Bar] = []
    for at, (day, counts) in enumerate(zip(days, daily, strict=True)):
        y = float(_FLOOR)
        for which, ((name, _), count) in enumerate(zip(series, counts, strict=True)):
            if count:
                height = round(max(count / top * (_FLOOR - _TOP), 1.0), 2)
                y = round(y - height, 2)
                said = f"{day:%d %B}: {count:,} {name}"
                bars.append(
                    Bar(
                        x=round(at * slot + 1, 2),
                        y=y,
                        width=round(slot - 2, 2),
                        height=height,
                        series=which,
                        said=said,
                    )
                )
    named = [(round(at * slot, 2), f"{days[at]:%d %b}") for at in range(0, len(days), 7)]
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
        days=named,
        rows=rows,
    )


PAGES = {PATH: Page(get=show)}
