"""Bar charts that the server draws as SVG.

Positions and sizes are in the units of the picture. Templates draw them (`_charts.html`), and
show the same figures as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

# Of a bar chart: bars start at the floor, labels are below it.
WIDTH, HEIGHT, FLOOR, TOP = 600, 140, 118, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Bars of a chart, and the same counts as table rows, newest day first."""

    title: str
    names: list[str]
    totals: list[int]
    bars: list[dict[str, Any]]  # x, y, width, height, series, label
    top: int
    days: list[tuple[float, str]]  # position and text of the labels
    rows: list[tuple[str, list[int]]]


def chart(title: str, series: Sequence[tuple[str, list[int]]], days: Sequence[date]) -> Chart:
    """Draw a bar chart with stacked series. The highest day reaches the top."""
    daily = [[counts[i] for _, counts in series] for i in range(len(days))]
    top = max((sum(counts) for counts in daily), default=0)
    slot = WIDTH / max(len(days), 1)
    bars = []
    for index, (day, counts) in enumerate(zip(days, daily, strict=True)):
        y = float(FLOOR)
        for series_index, ((name, _), count) in enumerate(zip(series, counts, strict=True)):
            if count:
                height = round(max(count / top * (FLOOR - TOP), 1.0), 2)
                y = round(y - height, 2)
                label = f"{day:%d %B}: {count:,} {name}"
                x, width = round(index * slot + 1, 2), round(slot - 2, 2)
                place = {"x": x, "y": y, "width": width, "height": height}
                bars.append({**place, "series": series_index, "label": label})
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
