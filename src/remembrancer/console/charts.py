"""Charts that the server draws as SVG: stacked bars, sparklines, and a calendar of days.

Positions and sizes are in the units of the picture. Templates draw them (`_charts.html`), and
show the same figures as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from ..protocol.text import day_of

# Of a bar chart: bars start at the floor, labels are below it.
WIDTH, HEIGHT, FLOOR, TOP = 600, 140, 118, 20
SPARK_WIDTH, SPARK_HEIGHT = 120, 28
CELL, GAP = 11, 3  # of a day in a calendar
CALENDAR_LEFT, CALENDAR_TOP = 30, 18
LEVELS = 4  # of colour in a calendar, besides none
WEEK = 7
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The count of one series on one day."""

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


def chart(title: str, series: Sequence[tuple[str, list[int]]], days: Sequence[date]) -> Chart:
    """Draw a bar chart with stacked series. The highest day reaches the top."""
    daily = [[counts[i] for _, counts in series] for i in range(len(days))]
    top = max((sum(counts) for counts in daily), default=0)
    slot = WIDTH / max(len(days), 1)
    bars: list[Bar] = []
    for index, (day, counts) in enumerate(zip(days, daily, strict=True)):
        y = float(FLOOR)
        for series_index, ((name, _), count) in enumerate(zip(series, counts, strict=True)):
            if count:
                height = round(max(count / top * (FLOOR - TOP), 1.0), 2)
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
    # one a week, back from the last day
    labelled = range((len(days) - 1) % 7, len(days), 7)
    labels = [(round(i * slot, 2), f"{days[i]:%d %b}") for i in labelled]
    rows = [
        (f"{day:%Y-%m-%d}", counts)
        for day, counts in zip(reversed(days), reversed(daily), strict=True)
        if sum(counts)
    ]
    return Chart(
        title=title,
        names=[name for name, _ in series],
        totals=[sum(counts) for _, counts in series],
        bars=bars,
        top=top,
        days=labels,
        rows=rows,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sparkline:
    """Shares (0..1) by day as lines and dots; days without a share leave a gap."""

    lines: list[str]  # points of each line
    dots: list[tuple[float, float]]  # days alone between two gaps, and the newest day
    label: str


def sparkline(name: str, shares: Sequence[float | None]) -> Sparkline:
    """Draw a share of each day, the oldest first."""
    step = SPARK_WIDTH / max(len(shares) - 1, 1)
    runs: list[list[tuple[float, float]]] = [[]]
    for index, share in enumerate(shares):
        if share is None:
            runs.append([])
        else:
            y = 2 + (1 - share) * (SPARK_HEIGHT - 4)
            runs[-1].append((round(2 + index * (step - 4 / max(len(shares), 1)), 1), round(y, 1)))
    values = [share for share in shares if share is not None]
    label = f"{name} by day: " + (
        f"{100 * values[0]:.0f} % at first, {100 * values[-1]:.0f} % last"
        if values
        else "no days yet"
    )
    return Sparkline(
        lines=[" ".join(f"{x},{y}" for x, y in run) for run in runs if len(run) > 1],
        dots=[run[0] for run in runs if len(run) == 1] + [run[-1] for run in runs[-1:] if run],
        label=label,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarDay:
    """One day of a calendar. `level` 0 is a day without turns."""

    x: int
    y: int
    level: int
    day: date
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarWeek:
    """A column of a calendar, which is one link: `following` is the end of its period."""

    first: date
    following: date
    days: list[CalendarDay]
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """The days of a year, a column for each week, with the names of months above."""

    width: int
    height: int
    weeks: list[CalendarWeek]
    months: list[tuple[int, str]]
    weekdays: list[tuple[int, str]]
    total: int
    busiest: CalendarDay | None


def calendar(turns: Mapping[int, int], first: date, last: date) -> Calendar:
    """Draw the days from `first` to `last`; `turns` by number of the day since 1970."""
    start = first - timedelta(days=first.weekday())
    scale = _levels([count for count in turns.values() if count])
    weeks: dict[int, list[CalendarDay]] = {}
    months = []
    for offset in range((last - start).days + 1):
        day = start + timedelta(days=offset)
        if day < first:
            continue
        column = offset // WEEK
        count = turns.get((day - date(1970, 1, 1)).days, 0)
        x = CALENDAR_LEFT + column * (CELL + GAP)
        y = CALENDAR_TOP + day.weekday() * (CELL + GAP)
        level = sum(count >= bound for bound in scale) if count else 0
        weeks.setdefault(column, []).append(
            CalendarDay(x=x, y=y, level=level, day=day, turns=count)
        )
        if day.day <= WEEK and day.weekday() == 0:
            months.append((x, f"{day:%b}"))
    columns = (last - start).days // WEEK + 1
    days = [one for week in weeks.values() for one in week]
    return Calendar(
        width=CALENDAR_LEFT + columns * (CELL + GAP),
        height=CALENDAR_TOP + WEEK * (CELL + GAP),
        weeks=[
            CalendarWeek(
                first=week[0].day,
                following=week[-1].day + timedelta(days=1),
                days=week,
                turns=sum(one.turns for one in week),
            )
            for week in weeks.values()
        ],
        months=months,
        weekdays=[
            (CALENDAR_TOP + place * (CELL + GAP) + CELL - 2, name)
            for place, name in ((0, "Mon"), (2, "Wed"), (4, "Fri"))
        ],
        total=sum(one.turns for one in days),
        busiest=max((one for one in days if one.turns), key=lambda one: one.turns, default=None),
    )


def _levels(counts: list[int]) -> list[int]:
    """Return the least count of each level: quarters of the days, so that no day hides others."""
    ordered = sorted(counts)
    if not ordered:
        return []
    bounds = [ordered[len(ordered) * part // LEVELS] for part in range(LEVELS)]
    return [1, *(max(bound, 2) for bound in bounds[1:])]


def period_days(days: int, now_ms: int) -> list[date]:
    """Return the last days, today last."""
    today = now_ms // _DAY_MS
    return [day_of(day * _DAY_MS) for day in range(today - days + 1, today + 1)]
