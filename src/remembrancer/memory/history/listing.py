"""List the events of a user page by page, each complete."""

from __future__ import annotations

import json

from ...accounts import session_user_id
from ...accounts.teams import authors_of_events
from ...context import Caller, Context
from ...protocol.limits import EVENTS_PAGE_CHARACTERS_MAX
from ...protocol.memory import EventList, EventsQuery, ListedEvent
from ...protocol.text import rfc3339
from ...store import Row, Transaction, load_queries
from ..paging import AFTER_ALL
from ..spaces import SQL as SPACES
from ..spaces import flag_names, milliseconds, number_of, row_id

SQL = load_queries("remembrancer.memory.history", "listing.sql")


def list_events(context: Context, caller: Caller, query: EventsQuery) -> EventList:
    """Return a page of a user's events, in the order of their times.

    It ends before its limit where its texts would have more than EVENTS_PAGE_CHARACTERS_MAX
    characters, but has one event at least. Raises PinnedToOtherUser, StoreUnavailable.
    """

    def read(tx: Transaction) -> EventList:
        user_id = session_user_id(tx, caller, query.user_id, query.session_id)
        space = tx.one_or_none(SPACES.space_of, user_id=user_id)
        rows = [] if space is None else _page(tx, space.id, query)
        page = _within_characters(rows[: query.limit])
        following = _cursor(page[-1]) if len(page) < len(rows) else None
        return EventList(user_id=user_id, events=_complete(tx, caller, page), next=following)

    return context.store.read(read, account_id=caller.account_id)


def _page(tx: Transaction, space_id: int, query: EventsQuery) -> list[Row]:
    """Return the ids, times and lengths of the events of a page, and of one more."""
    low, high = (
        end if moment is None else milliseconds(moment, 0)
        for moment, end in ((query.after, -AFTER_ALL), (query.before, AFTER_ALL))
    )
    # Times with numbers of rows: -1 is before all rows of a time.
    begin, end = (low, -1), (high, -1)
    if query.cursor is not None:
        ms, number = map(int, query.cursor.split("_"))
        behind = ms, row_id(space_id, number)
        if query.order == "newest":
            end = min(end, behind)
        else:
            begin = max(begin, behind)
    bounds = {"low_ms": begin[0], "low_id": begin[1], "high_ms": end[0], "high_id": end[1]}
    most = query.limit + 1
    if query.session_id is not None:
        session = tx.one_or_none(SPACES.session_of, space_id=space_id, session_id=query.session_id)
        if session is None:
            return []
        of_session = SQL.newest_of_session if query.order == "newest" else SQL.oldest_of_session
        return tx.all(of_session, session=session.id, most=most, **bounds)
    of_space = SQL.newest_of_space if query.order == "newest" else SQL.oldest_of_space
    return tx.all(of_space, space_id=space_id, most=most, **bounds)


def _cursor(row: Row) -> str:
    return f"{row.occurred_ms}_{number_of(row.id)}"


def _within_characters(rows: list[Row]) -> list[Row]:
    total = 0
    for place, row in enumerate(rows):
        total += row.characters
        if place and total > EVENTS_PAGE_CHARACTERS_MAX:
            return rows[:place]
    return rows


def _complete(tx: Transaction, caller: Caller, page: list[Row]) -> list[ListedEvent]:
    """Return the events of a page, complete and in its order."""
    if not page:
        return []
    ids = json.dumps([row.id for row in page])
    rows = {row.id: row for row in tx.all(SQL.events_whole, ids=ids)}
    events = [_listed(rows[row.id]) for row in page]
    if caller.member is None:
        return events
    authors = authors_of_events(tx, [one.event_id for one in events])
    return [one.model_copy(update={"author": authors.get(one.event_id)}) for one in events]


def _listed(row: Row) -> ListedEvent:
    return ListedEvent(
        event_id=row.event_id,
        session_id=row.session_id,
        topic=row.topic,
        query=row.query,
        response=row.response,
        flags=flag_names(row.flags),
        occurred_at=rfc3339(row.occurred_ms),
        created_at=rfc3339(row.created_ms),
    )
