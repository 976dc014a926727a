"""Read what happened lately in an account: active users, turns by day, searches, changed facts.

Every function reads a bounded part of the store: a period, or the latest rows. Users that were
added long ago and users without a turn may be missing from lists of active users.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from ...accounts import space_user_id
from ...context import Caller, Context
from ...protocol.errors import NotFound
from ...protocol.text import DAY_MS, day_of
from ...store import Row, Transaction, load_queries
from ...store.rows import read_row
from ..spaces import AFTER_ALL, PageCursor, shortened, space_rows, split_page

SQL = load_queries("remembrancer.memory.history", "activity.sql")
NEWEST_USERS_MAX = 1_000  # users among which the active ones are chosen
ACTIVE_USERS_MAX = 50
COUNTED_TURNS_MAX = 50_000  # latest turns that are counted by day
SEARCHES_LISTED_MAX = 25
SEARCHES_DAYS = 30
GOT_MAX = 5  # hits of a search
PREVIEW_CHARACTERS_MAX = 280  # of each side of a turn
FACTS_READ_MAX = 40  # newest facts of a user


class SearchUnknown(NotFound):
    """There is no such search. It may have been forgotten with its session."""


class GotEvent(NamedTuple):
    """A hit of a counted search."""

    event_id: str
    score: float
    query: str
    response: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTrace:
    """A counted search: what it gave, and the turn that followed it."""

    user_id: str
    session_id: str
    step: int
    asked_ms: int
    hits: int
    cubes: int
    key: str | None  # label or first characters of the key; None: unknown
    answerable: float | None  # None: not recorded, by an earlier version
    ms: float | None  # that the search took
    tokens: int | None  # of the texts in the answer, about four characters each
    review: int  # by a person: 1 answered since, 2 no question for memory
    turn: Row | None  # event_id, topic, created_ms, cites (its answer cites turns), query, response
    got: Sequence[GotEvent] = ()  # best first; erased events are left out

    @property
    def best(self) -> float | None:
        """The score of the best hit, None without hits."""
        return self.got[0].score if self.got else None


def active_users(
    context: Context, caller: Caller, *, prefix: str = "", most: int = ACTIVE_USERS_MAX
) -> list[Row]:
    """Return user_id and last_ms of the users of the account, latest turn first.

    Chosen among the NEWEST_USERS_MAX newest users whose names begin with `prefix`. A pinned key
    sees its own user only. Raises StoreUnavailable.
    """
    rows = context.store.read(
        lambda tx: tx.all(
            SQL.active_spaces,
            low=prefix,
            high=f"{prefix}\U0010ffff",
            newest=NEWEST_USERS_MAX,
            most=most,
        ),
        account_id=caller.account_id,
    )
    pin = caller.pinned_user_id
    return [row for row in rows if pin in (None, row.user_id)]


def turns_by_day(context: Context, caller: Caller, user_id: str) -> dict[date, int]:
    """Count the turns of a user by the day they belong to; the latest COUNTED_TURNS_MAX of them.

    Raises PinnedToOtherUser, StoreUnavailable.
    """
    rows = space_rows(
        context,
        caller,
        user_id,
        lambda tx, space: tx.all(SQL.turns_by_day, space_id=space.id, most=COUNTED_TURNS_MAX),
    )
    return {day_of(int(row.day) * DAY_MS): int(row.turns) for row in rows}


def list_searches(
    context: Context,
    caller: Caller,
    *,
    user_id: str | None = None,
    behind: PageCursor | None = None,
    most: int = SEARCHES_LISTED_MAX,
    missed: bool = False,
    since_ms: int | None = None,
) -> tuple[list[SearchTrace], PageCursor | None]:
    """Return a page of the counted searches of the last SEARCHES_DAYS days, latest first.

    And the cursor of the next page, None on the last one. `missed`: only those that found no
    answer and that nobody reviewed. Raises PinnedToOtherUser, StoreUnavailable.
    """
    low = context.clock() - SEARCHES_DAYS * DAY_MS if since_ms is None else since_ms
    if user_id is not None or caller.pinned_user_id is not None:
        user_id = space_user_id(caller, user_id)
    start = behind or PageCursor(AFTER_ALL, 0)

    def read(tx: Transaction) -> tuple[list[Row], list[SearchTrace]]:
        rows = tx.all(
            SQL.latest_steps,
            user_id=user_id,
            missed=int(missed),
            low=low,
            before_ms=start.ms,
            before_id=start.id,
            most=most + 1,
        )
        return rows, [_trace(tx, row) for row in rows[:most]]

    rows, searches = context.store.read(read, account_id=caller.account_id)
    _, last = split_page(rows, most)
    return searches, last and PageCursor(last.asked_ms, last.session)


def find_search(
    context: Context, caller: Caller, user_id: str, session_id: str, step: int
) -> SearchTrace:
    """Return one counted search. Raises SearchUnknown, PinnedToOtherUser, StoreUnavailable."""
    user_id = space_user_id(caller, user_id)

    def read(tx: Transaction) -> SearchTrace:
        row = _step(tx, user_id, session_id, step)
        return _trace(tx, row, got_max=4 * GOT_MAX, characters=20_000)

    return context.store.read(read, account_id=caller.account_id)


def review_search(
    context: Context, caller: Caller, user_id: str, session_id: str, step: int, review: int
) -> None:
    """Record what a person thinks of a search. Raises SearchUnknown, StoreUnavailable."""
    user_id = space_user_id(caller, user_id)

    def write(tx: Transaction) -> None:
        row = _step(tx, user_id, session_id, step)
        tx.run(SQL.review_step, session=row.session, step=step, review=review)

    context.store.write(write, account_id=caller.account_id)


def _step(tx: Transaction, user_id: str, session_id: str, step: int) -> Row:
    row = tx.one_or_none(SQL.one_step, user_id=user_id, session_id=session_id, step=step)
    if row is None:
        raise SearchUnknown
    return row


def _trace(
    tx: Transaction,
    row: Row,
    *,
    got_max: int = GOT_MAX,
    characters: int = PREVIEW_CHARACTERS_MAX,
) -> SearchTrace:
    turn = tx.one_or_none(
        SQL.turn_of_step,
        low=row.asked_ms,
        high=row.asked_ms + DAY_MS,
        characters=characters + 1,
        session=row.session,
        step=row.step,
    )
    scores = dict(json.loads(row.got or "[]")[:got_max])
    rows = tx.all(
        SQL.events_got, event_ids=json.dumps(list(scores)), characters=PREVIEW_CHARACTERS_MAX + 1
    )
    texts = {one.event_id: shortened(one, PREVIEW_CHARACTERS_MAX) for one in rows}
    return read_row(
        SearchTrace,
        row,
        key=row.label or (f"sk_{row.hint}…" if row.hint else None),
        tokens=None if row.characters is None else round(row.characters / 4),
        turn=turn and shortened(turn, characters),
        got=[
            GotEvent(event_id, score, texts[event_id].query, texts[event_id].response)
            for event_id, score in scores.items()
            if event_id in texts
        ],
    )


def count_facts(context: Context, caller: Caller, *, since_ms: int) -> tuple[int, int]:
    """Count the facts stored since a time: those that are new, and those that replaced another.

    Of the ACTIVE_USERS_MAX users that were active last, and the newest FACTS_READ_MAX of each.
    Raises StoreUnavailable.
    """

    def read(tx: Transaction) -> list[Row]:
        users = {"low": "", "high": "\U0010ffff", "newest": NEWEST_USERS_MAX}
        return [
            row
            for space in tx.all(SQL.active_spaces, most=ACTIVE_USERS_MAX, **users)
            for row in tx.all(SQL.newest_facts, space_id=space.id, most=FACTS_READ_MAX)
            if row.created_ms >= since_ms and row.text
        ]

    rows = context.store.read(read, account_id=caller.account_id)
    replacing = sum(row.replaced is not None for row in rows)
    return len(rows) - replacing, replacing


def count_searches(context: Context, caller: Caller, *, since_ms: int) -> tuple[int, int]:
    """Return how many searches since a time asked memory, and how many of them were answered.

    Answered are those with `answerable` of at least .5, and those that a person answered since.
    Searches that a person marked as no question for memory are not counted. Raises
    StoreUnavailable.
    """
    row = context.store.read(
        lambda tx: tx.one(SQL.week_of_steps, low=since_ms), account_id=caller.account_id
    )
    return row.searches, row.answered
