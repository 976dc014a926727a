"""The usage charts and the tables with the same numbers."""

from __future__ import annotations

import re
from datetime import date, timedelta
from xml.etree import ElementTree as ET

from console.reader import Reader, words_of
from hypothesis import given
from hypothesis.strategies import integers, lists
from service import new_key

from remembrancer.accounts.keys import authenticate
from remembrancer.accounts.usage import UsageCounter
from remembrancer.console.charts import HEIGHT, WIDTH, chart
from remembrancer.context import Context

PATH = "/console/usage"


def count_usage(context: Context, account: str) -> None:
    """Count three searches with a key, a run in a browser and seven model calls."""
    caller = authenticate(context, new_key(context, account))
    counter = UsageCounter(context, 3_600)
    counter.count("search", account_id=caller.account_id, key_id=caller.key_id, times=3)
    counter.count("run", account_id=caller.account_id)
    counter.count("model_call", times=7)
    counter.close()


def test_charts_are_accessible_and_have_a_table(owner: Reader, context: Context) -> None:
    count_usage(context, "owner")
    page = owner.get(PATH).text
    charts = [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]  # noqa: S314 - our own page

    assert len(charts) == page.count("<summary>As a table</summary>") == 7
    assert all(chart.get("role") == "img" and chart.get("aria-label") for chart in charts)
    assert "<title>01 January: 3 searches</title>" in page
    assert "2026-01-01 3" in words_of(page)


def test_owner_sees_total_usage_and_members_their_own(
    owner: Reader, ada: Reader, context: Context
) -> None:
    """The owner sees all, others their own (specification.md#console-scope)."""
    count_usage(context, "owner")
    count_usage(context, "ada")
    total, own = words_of(owner.get(PATH).text), words_of(ada.get(PATH).text)

    for text in ("6 searches", "14 succeeded", "ada: for a test", "ada: browser or command line"):
        assert text in total
    assert "3 searches" in own
    for text in ("6 searches", "succeeded", "owner:"):
        assert text not in own


@given(
    lists(integers(0, 10**9), min_size=1, max_size=40),
    lists(integers(0, 10**9), min_size=1, max_size=40),
)
def test_every_count_is_a_bar_in_the_chart_and_a_cell_in_the_table(
    first: list[int], second: list[int]
) -> None:
    most = min(len(first), len(second))
    days = [date(2026, 1, 1) + timedelta(days=n) for n in range(most)]
    result = chart("Tokens", [("read", first[:most]), ("written", second[:most])], days)

    assert len(result.bars) == sum(count > 0 for count in first[:most] + second[:most])
    assert all(
        bar["x"] >= 0
        and bar["x"] + bar["width"] <= WIDTH
        and bar["y"] >= -1
        and bar["y"] + bar["height"] <= HEIGHT
        for bar in result.bars
    )
    assert result.totals == [sum(first[:most]), sum(second[:most])]
    assert [sum(column) for column in zip(*[counts for _, counts in result.rows], strict=True)] == (
        result.totals if result.rows else []
    )


def test_days_of_a_chart_are_labelled_back_from_the_last_one() -> None:
    days = [date(2026, 1, 1) + timedelta(days=n) for n in range(30)]
    result = chart("Tokens", [("read", [1] * 30)], days)
    places = {bar["label"][:10]: bar["x"] for bar in result.bars}

    assert [name for _, name in result.days] == ["02 Jan", "09 Jan", "16 Jan", "23 Jan", "30 Jan"]
    assert abs(result.days[1][0] - places["09 January"]) <= 1
