"""Look through what is kept:

whose memories there are, their events page by page, one event with all that hangs on it.
"""

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
from ..spaces import SQL as SPACES
from ..spaces import flag_names, row_id, space_of
from ..write.events import event_of, own_event
from .forget import summaries_of_event

SQL = load_queries("remembrancer.memory.history", "browse.sql")
USERS_LISTED_MAX = 100
EVENTS_LISTED_MAX = 25
TOLD_CHARACTERS_MAX = 400  # of each side of an event in a list
SHOWN_IN_MAX = 20
_EVER_MS = 1 << 62
_FILE = re.compile(
    r"[^\s/()\[\]\"'`<>]{1,100}-[0-9a-f]{12}\.[a-z0-9]{2,5}\b"
)  # as tools/files.py names them
_FILES_NAMED_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCounts:
    """How much is kept of a user."""

    events: int = 0
    sessions: int = 0
    facts: int = 0
    summaries: int = 0
    maps: int = 0  # the newest version
    flagged: int = 0  # events with flags


@dataclass(frozen=True, slots=True)
class PageCursor:
    """Where in a list of events a page ends: the next begins behind it."""

    ms: int
    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """An event in a list; its sides are cut to TOLD_CHARACTERS_MAX."""

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
    """Some events, and where the next ones begin; None after the last."""

    events: list[EventRow]
    next: PageCursor | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventContext:
    """One event with all that hangs on it."""

    event: Event
    before: str | None  # the event_id of the turn before it in its session
    after: str | None
    facts: list[str]
    cubes: list[board.Card]  # lessons of the account that rest on it
    told_in: list[str]  # l1_ids of the summaries that may tell of it
    shown_in: list[Row]  # session_id and step of searches that showed it first
    files: list[Row]  # filename, size_bytes: files of the account that its text names


def list_users(context: Context, caller: Caller, *, low: str = "") -> list[str]:
    """The user_ids of the account of whom something is kept, by name from `low` on, at most
    USERS_LISTED_MAX. A pinned key has its own.
    """
    if caller.pinned_user_id is not None:
        return [caller.pinned_user_id]
    find = {
        "account_id": caller.account_id,
        "low": low[:ID_CHARACTERS_MAX],
        "most": USERS_LISTED_MAX,
    }
    return [
        row.user_id
        for row in context.store.read(
            lambda tx: tx.all(SQL.users, **find), account_id=caller.account_id
        )
    ]


def user_counts(context: Context, caller: Caller, user_id: str) -> UserCounts:
    """How much is kept of a user; nothing for one who is not there. Raises Pinned."""
    asked = space_user_id(caller, user_id)

    def read(tx: Transaction) -> UserCounts:
        space = tx.one_or_none(SPACES.space_of, account_id=caller.account_id, user_id=asked)
        if space is None:
            return UserCounts()
        span = {"low": row_id(space.id, 0), "high": row_id(space.id + 1, 0)}
        return UserCounts(**tx.one(SQL.kept_of, space_id=space.id, **span)._asdict())

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
    """A page of a user's events of a time, the newest first by when they occurred.

    Raises Pinned.
    """
    end = _EVER_MS if before_ms is None else before_ms
    place = behind if behind is not None and behind.ms < end else PageCursor(end, -1)

    def read(tx: Transaction, space: Row) -> list[Row]:
        return tx.all(
            SQL.newest_events,
            space_id=space.id,
            after_ms=-_EVER_MS if after_ms is None else after_ms,
            before_ms=place.ms,
            before_id=place.id,
            characters=TOLD_CHARACTERS_MAX + 1,
            most=EVENTS_LISTED_MAX + 1,
        )

    return _page(context, caller, user_id, read)


def list_flagged(
    context: Context, caller: Caller, user_id: str, *, behind: PageCursor | None = None
) -> EventsPage:
    """A page of the events in which something was noticed, such as a secret:

    the latest kept first. Raises Pinned.
    """

    def read(tx: Transaction, space: Row) -> list[Row]:
        low, high = row_id(space.id, 0), row_id(space.id + 1, 0)
        before = high if behind is None else min(behind.id, high)
        return tx.all(
            SQL.noticed_events,
            low=low,
            before_id=before,
            characters=TOLD_CHARACTERS_MAX + 1,
            most=EVENTS_LISTED_MAX + 1,
        )

    return _page(context, caller, user_id, read)


def _page(
    context: Context, caller: Caller, user_id: str, read: Callable[[Transaction, Row], list[Row]]
) -> EventsPage:
    asked = space_user_id(caller, user_id)

    def rows_of(tx: Transaction) -> list[Row]:
        space = tx.one_or_none(SPACES.space_of, account_id=caller.account_id, user_id=asked)
        return [] if space is None else read(tx, space)

    rows = context.store.read(rows_of, account_id=caller.account_id)
    shown = rows[:EVENTS_LISTED_MAX]
    more = PageCursor(shown[-1].occurred_ms, shown[-1].id) if len(rows) > len(shown) else None
    return EventsPage([_listed(row) for row in shown], more)


def _listed(row: Row) -> EventRow:
    return EventRow(
        event_id=row.event_id,
        session_id=row.session_id,
        topic=row.topic,
        query=beginning(row.query, TOLD_CHARACTERS_MAX),
        response=beginning(row.response, TOLD_CHARACTERS_MAX),
        flags=flag_names(row.flags),
        occurred_ms=row.occurred_ms,
        created_ms=row.created_ms,
    )


def event_context(context: Context, caller: Caller, event_id: str) -> EventContext:
    """One event with all that hangs on it.

    Raises EventUnknown for an id that does not exist or is not the caller's to see.
    """

    def read(tx: Transaction) -> EventContext:
        row = own_event(tx, caller, event_id)
        space_id = space_of(row.id)
        session = tx.one(SPACES.session_of, space_id=space_id, session_id=row.session_id).id
        place = {"session": session, "created_ms": row.created_ms, "id": row.id}
        beside = (tx.one_or_none(SQL.turn_before, **place), tx.one_or_none(SQL.turn_after, **place))
        named_files = list(dict.fromkeys(_FILE.findall(f"{row.query}\n{row.response}")))[
            :_FILES_NAMED_MAX
        ]
        return EventContext(
            event=event_of(row),
            before=beside[0] and beside[0].event_id,
            after=beside[1] and beside[1].event_id,
            facts=[
                fact.text for fact in tx.all(SQL.facts_of_event, event=row.id, space_id=space_id)
            ],
            cubes=board.cubes_from_event(tx, caller, event_id),
            told_in=[l1.l1_id for l1 in summaries_of_event(tx, session, [row.created_ms])],
            shown_in=tx.all(SQL.shown_in, space_id=space_id, event=row.id, most=SHOWN_IN_MAX),
            files=files.file_exists(tx, caller, named_files),
        )

    return context.store.read(read, account_id=caller.account_id)
