"""The charts of usage, and the tables that say the same."""

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
from remembrancer.console.usage import HEIGHT, WIDTH, chart
from remembrancer.context import Context

PATH = "/console/usage"


def used(context: Context, account: str) -> None:
    """Three searches with a key, a run in a browser."""
    caller = authenticate(context, new_key(context, account))
    tally = UsageCounter(context, 3_600)
    tally.count("search", account_id=caller.account_id, key_id=caller.key_id, times=3)
    tally.count("run", account_id=caller.account_id)
    tally.count("model_call", times=7)
    tally.close()


def test_each_chart_is_drawn_with_its_table_behind_it(owner: Reader, context: Context) -> None:
    used(context, "owner")
    page = owner.get(PATH).text
    charts = [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]  # noqa: S314 - our own page

    assert len(charts) == page.count("<summary>As a table</summary>") == 7
    assert all(one.get("role") == "img" and one.get("aria-label") for one in charts)
    assert "<title>01 January: 3 searches</title>" in page
    assert "2026-01-01 3" in words_of(page)


def test_the_owner_sees_all_and_others_their_own(
    owner: Reader, ada: Reader, context: Context
) -> None:
    """The owner sees all, others their own (specification.md#console-scope)."""
    used(context, "owner")
    used(context, "ada")
    all_of_it, own = words_of(owner.get(PATH).text), words_of(ada.get(PATH).text)

    assert ("6 searches" in all_of_it, "3 searches" in own, "6 searches" in own) == (
        True,
        True,
        False,
    )
    assert ("14 succeeded" in all_of_it, "succeeded" in own) == (True, False)
    assert ("ada: for a test" in all_of_it, "ada: browser" in all_of_it) == (True, True)
    assert "owner:" not in own


def test_nothing_to_count_teaches_what_is_counted(ada: Reader) -> None:
    assert "No usage yet" in ada.get(PATH).text


@given(
    lists(integers(0, 10**9), min_size=1, max_size=40),
    lists(integers(0, 10**9), min_size=1, max_size=40),
)
def test_every_count_is_a_bar_within_the_drawing_and_a_number_in_the_table(
    first: list[int], second: list[int]
) -> None:
    most = min(len(first), len(second))
    days = [date(2026, 1, 1) + timedelta(days=n) for n in range(most)]
    result = chart("Tokens", [("read", first[:most]), ("written", second[:most])], days)

    assert len(result.bars) == sum(count > 0 for count in first[:most] + second[:most])
    assert all(
        bar.x >= 0 and bar.x + bar.width <= WIDTH and bar.y >= -1 and bar.y + bar.height <= HEIGHT
        for bar in result.bars
    )
    assert result.totals == [sum(first[:most]), sum(second[:most])]
    assert [sum(column) for column in zip(*[counts for _, counts in result.rows], strict=True)] == (
        result.totals if result.rows else []
    )
