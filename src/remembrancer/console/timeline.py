"""The timeline page: a year of a user's memory as a calendar of days and a list of months."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from starlette.responses import Response

from ..memory.facts.listing import list_facts
from ..memory.history import activity
from ..protocol.facts import Fact, FactsQuery
from ..protocol.text import day_of
from ..store import Row
from . import layout
from .browser_session import BrowserRequest, Page
from .charts import calendar
from .layout import link_to

PATH = "/console/timeline"
SESSIONS_OF_MONTH = 5
FACTS_OF_MONTH = 4
FACTS_READ = 100  # newest facts, of which each month shows its own
_YEAR_MIN, _YEAR_MAX = 1970, 9999


@dataclass(slots=True, kw_only=True)
class Month:
    """A month of the timeline: turns, sessions that ended in it, facts that hold since then."""

    first: date
    following: date
    turns: int = 0
    share: float = 0.0  # of the turns of the busiest month
    sessions: list[Row] = field(default_factory=list)
    sessions_left_out: int = 0
    facts: list[Fact] = field(default_factory=list)


def show(browser: BrowserRequest) -> Response:
    """Show the year of the latest turn, or `?year`."""
    params, context, caller = browser.request.query_params, browser.context, browser.caller()
    users = layout.users(context, caller, params)
    today = day_of(context.clock())
    year = min(layout.number(params, "year") or 0, _YEAR_MAX - 1)
    if year < _YEAR_MIN:
        latest = activity.day_counts(context, caller, users.chosen, low_ms=0, high_ms=0).last_ms
        year = today.year if latest is None else max(day_of(latest).year, _YEAR_MIN)
    first, last = date(year, 1, 1), min(date(year, 12, 31), max(today, date(year, 1, 1)))
    counts = activity.day_counts(
        context, caller, users.chosen, low_ms=_ms(first), high_ms=_ms(date(year + 1, 1, 1))
    )
    years = (
        range(day_of(counts.first_ms).year, day_of(counts.last_ms).year + 1)
        if counts.first_ms is not None and counts.last_ms is not None
        else range(year, year + 1)
    )
    if counts.turns:  # a turn may lie in the future
        last = max(last, day_of(max(counts.turns) * activity.DAY_MS))
    return browser.page(
        "timeline.html",
        users=users,
        year=year,
        calendar=calendar(counts.turns, first, last),
        months=_months(browser, users.chosen, year, counts.turns),
        is_cut=counts.is_cut,
        counted_max=activity.COUNTED_TURNS_MAX,
        earlier=link_to(PATH, user_id=users.chosen, year=year - 1) if year > years.start else None,
        later=link_to(PATH, user_id=users.chosen, year=year + 1) if year + 1 < years.stop else None,
    )


def _months(browser: BrowserRequest, user_id: str, year: int, turns: dict[int, int]) -> list[Month]:
    """Return the months of a year that have something, latest first."""
    context, caller = browser.context, browser.caller()
    months = [
        Month(first=date(year, n, 1), following=date(year + n // 12, n % 12 + 1, 1))
        for n in range(1, 13)
    ]
    for day, count in turns.items():
        months[day_of(day * activity.DAY_MS).month - 1].turns += count
    busiest = max((month.turns for month in months), default=0) or 1
    for row in activity.sessions_between(
        context, caller, user_id, low_ms=_ms(months[0].first), high_ms=_ms(months[-1].following)
    ):
        month = months[day_of(row.last_ms).month - 1]
        if len(month.sessions) < SESSIONS_OF_MONTH:
            month.sessions.append(row)
        else:
            month.sessions_left_out += 1
    query = FactsQuery(user_id=user_id, which="all", status="all", limit=FACTS_READ)
    for fact in list_facts(context, caller, query).facts:
        start = datetime.fromisoformat(fact.valid_from)
        if fact.text and start.year == year:
            of_month = months[start.month - 1].facts
            if len(of_month) < FACTS_OF_MONTH:
                of_month.append(fact)
    for month in months:
        month.share = round(month.turns / busiest, 3)
    return [one for one in reversed(months) if one.turns or one.sessions or one.facts]


def _ms(day: date) -> int:
    return round(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


PAGES = {PATH: Page(get=show)}
