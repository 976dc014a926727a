"""Browse stored data: users of an account, their events page by page, and one event in detail."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...accounts import space_user_id
from ...context import Caller, Context
from ...cubes import board
from ...files import files
from ...protocol.limits import ID_CHARACTERS_MAX
from ...protocol.memory import Event
from ...protocol.text import beginning
from ...store import Row, Transaction, load_queries
from ..paging import AFTER_ALL, PageCursor, space_rows, split_page
from ..spaces import SQL as SPACES
from ..spaces import flag_names, row_id, space_of
from ..write.events import event_of, own_event
from .forget import summaries_of_event

SQL = load_queries("remembrancer.memory.history", "browse.sql")
USERS_LISTED_MAX = 100
EVENTS_LISTED_MAX = 25
LISTED_CHARACTERS_MAX = 400  # of each side of an event in a list
SHOWN_IN_MAX = 20
# names that files/files.py gives to created files
_FILE_NAME = re.compile(r"[^\s/()\[\]\"'`<>]{1,100}-[0-9a-f]{12}\.[a-z0-9]{2,5}\b")
_FILES_NAMED_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCounts:
    """The amount of data stored for a user."""

    events: int = 0
    sessions: int = 0
    facts: int = 0
    summaries: int = 0
    maps: int = 0  # the newest version
    flagged: int = 0  # events with flags


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """One event of a list; both sides are cut to LISTED_CHARACTERS_MAX."""

    event_id: str
    session_id: str
    topic: str | None
    query: str
    response: str
    flags: Sequence[str]
    occurred_ms: int
    created_ms: int


@dataclass(frozen=True, slots=True)
class EventsPage:
    """One page of events, and the cursor of the next page; None on the last page."""

    events: list[EventRow]
    next: PageCursor | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventContext:
    """One event and the data connected with it."""

    event: Event
    before: str | None  # the event_id of the turn before it in its session
    after: str | None
    facts: list[str]
    cubes: list[board.Card]  # of the account, with the event as evidence
    told_in: list[str]  # l1_ids of the summaries that cover it
    shown_in: list[Row]  # session_id and step of searches that showed it first
    files: list[Row]  # filename, size_bytes: files of the account that its text names


def list_users(context: Context, caller: Caller, *, low: str = "") -> list[str]:
    """Return the account's user_ids that have data, by name from `low` on.

    At most USERS_LISTED_MAX. A pinned key sees its own user_id only.
    """
    if caller.pinned_user_id is not None:
        return [caller.pinned_user_id]
    page = {"low": low[:ID_CHARACTERS_MAX], "most": USERS_LISTED_MAX}
    rows = context.store.read(lambda tx: tx.all(SQL.users, **page), account_id=caller.account_id)
    return [row.user_id for row in rows]


def user_counts(context: Context, caller: Caller, user_id: str) -> UserCounts:
    """Return the counts of a user's data, zeros for an unknown user.

    Raises PinnedToOtherUser.
    """
    user_id = space_user_id(caller, user_id)

    def read(tx: Transaction) -> UserCounts:
        space = tx.one_or_none(SPACES.space_of, user_id=user_id)
        if space is None:
            return UserCounts()
        rows = {"low": row_id(space.id, 0), "high": row_id(space.id + 1, 0)}
        return UserCounts(**tx.one(SQL.counts_of, space_id=space.id, **rows)._asdict())

    return context.store.read(read, account_id=caller.account_id)


def newest_events(
    context: Context,
    caller: Caller,
    user_id: str,
    *,
    after_ms: int | None = None,
    before_ms: int | None = None,
    behind: PageCursor | None = None,
) -> EventsPage:
    """Return a page of a user's events in a period, latest occurrence first.

    Raises PinnedToOtherUser.
    """
    end = AFTER_ALL if before_ms is None else before_ms
    start = behind if behind is not None and behind.ms < end else PageCursor(end, -1)

    def read(tx: Transaction, space: Row) -> list[Row]:
        return tx.all(
            SQL.newest_events,
            space_id=space.id,
            after_ms=-AFTER_ALL if after_ms is None else after_ms,
            before_ms=start.ms,
            before_id=start.id,
            characters=LISTED_CHARACTERS_MAX + 1,
            most=EVENTS_LISTED_MAX + 1,
        )

    return _events_page(context, caller, user_id, read)


def list_flagged(
    context: Context, caller: Caller, user_id: str, *, behind: PageCursor | None = None
) -> EventsPage:
    """Return a page of a user's flagged events, such as those with a secret, latest first.

    Raises PinnedToOtherUser.
    """

    def read(tx: Transaction, space: Row) -> list[Row]:
        low, high = row_id(space.id, 0), row_id(space.id + 1, 0)
        before = high if behind is None else min(behind.id, high)
        return tx.all(
            SQL.flagged_events,
            low=low,
            before_id=before,
            characters=LISTED_CHARACTERS_MAX + 1,
            most=EVENTS_LISTED_MAX + 1,
        )

    return _events_page(context, caller, user_id, read)


def _events_page(
    context: Context, caller: Caller, user_id: str, read: Callable[[Transaction, Row], list[Row]]
) -> EventsPage:
    rows, last = split_page(space_rows(context, caller, user_id, read), EVENTS_LISTED_MAX)
    following = None if last is None else PageCursor(last.occurred_ms, last.id)
    return EventsPage([_event_row(row) for row in rows], following)


def _event_row(row: Row) -> EventRow:
    return EventRow(
        event_id=row.event_id,
        session_id=row.session_id,
        topic=row.topic,
        query=beginning(row.query, LISTED_CHARACTERS_MAX),
        response=beginning(row.response, LISTED_CHARACTERS_MAX),
        flags=flag_names(row.flags),
        occurred_ms=row.occurred_ms,
        created_ms=row.created_ms,
    )


def event_context(context: Context, caller: Caller, event_id: str) -> EventContext:
    """Return one event with the data connected with it.

    Raises EventUnknown for an id that does not exist or that the caller may not read.
    """

    def read(tx: Transaction) -> EventContext:
        row = own_event(tx, caller, event_id)
        space_id = space_of(row.id)
        session = tx.one(SPACES.session_of, space_id=space_id, session_id=row.session_id).id
        turn = {"session": session, "occurred_ms": row.occurred_ms, "id": row.id}
        neighbours = (
            tx.one_or_none(SQL.turn_before, **turn),
            tx.one_or_none(SQL.turn_after, **turn),
        )
        named_files = list(dict.fromkeys(_FILE_NAME.findall(f"{row.query}\n{row.response}")))[
            :_FILES_NAMED_MAX
        ]
        return EventContext(
            event=event_of(tx, row),
            before=neighbours[0] and neighbours[0].event_id,
            after=neighbours[1] and neighbours[1].event_id,
            facts=[
                fact.text for fact in tx.all(SQL.facts_of_event, event=row.id, space_id=space_id)
            ],
            cubes=board.cubes_from_event(tx, event_id),
            told_in=[l1.l1_id for l1 in summaries_of_event(tx, session, [row.created_ms])],
            shown_in=tx.all(SQL.shown_in, space_id=space_id, event=row.id, most=SHOWN_IN_MAX),
            files=files.file_exists(tx, caller, named_files),
        )

    return context.store.read(read, account_id=caller.account_id)
