"""Read what is stored: events, sessions, users, and their pages."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from ...accounts import session_user_id, space_user_id
from ...accounts.teams import authors_of_events
from ...context import Caller, Context, Records
from ...cubes import board, unrated_cubes
from ...files import files
from ...protocol.errors import NotFound
from ...protocol.limits import EVENTS_PAGE_CHARACTERS_MAX, ID_CHARACTERS_MAX
from ...protocol.memory import (
    Event,
    EventList,
    EventsQuery,
    ListedEvent,
    ListedSession,
    SessionList,
    SessionsQuery,
    UserList,
    UsersQuery,
)
from ...protocol.seal import render
from ...protocol.text import beginning, rfc3339
from ...protocol.trust import SOURCES
from ...store import Row, Transaction, load_queries
from ...store.rows import read_row
from ..duties import DutyReport, SessionCounts, check_duties, is_l1_due, turns_owing_l1
from ..filters import passing_or_all
from ..spaces import (
    AFTER_ALL,
    PageCursor,
    flag_names,
    milliseconds,
    number_of,
    read_sides,
    row_id,
    shortened,
    space_of,
    space_rows,
    split_page,
)
from ..spaces import SQL as SPACES
from ..write.turns import event_of, own_event
from .forget import summaries_of_event

# --- List the events of a user page by page, each complete -----------------------------------

SQL = load_queries("remembrancer.memory.history", "browse.sql")


def list_events(context: Context, caller: Caller, query: EventsQuery) -> EventList:
    """Return a page of a user's events, in the order of their times.

    It ends before its limit where its texts would have more than EVENTS_PAGE_CHARACTERS_MAX
    characters, but has one event at least. Raises PinnedToOtherUser, StoreUnavailable.
    """

    def read(tx: Transaction) -> EventList:
        user_id = session_user_id(tx, caller, query.user_id, query.session_id)
        space = tx.one_or_none(SPACES.space_of, user_id=user_id)
        rows = [] if space is None else _event_page(tx, space.id, query)
        page = _within_characters(rows[: query.limit])
        following = _cursor(page[-1]) if len(page) < len(rows) else None
        return EventList(user_id=user_id, events=_complete(tx, caller, page), next=following)

    return context.store.read(read, account_id=caller.account_id)


def _event_page(tx: Transaction, space_id: int, query: EventsQuery) -> list[Row]:
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
    condition, values = passing_or_all(query.filters, "events")
    page = {**bounds, **values, "most": query.limit + 1}
    if query.session_id is not None:
        session = tx.one_or_none(SPACES.session_of, space_id=space_id, session_id=query.session_id)
        if session is None:
            return []
        of_session = SQL.newest_of_session if query.order == "newest" else SQL.oldest_of_session
        if query.filters is not None:
            page["space_id"] = space_id
        return tx.all(of_session.replace("true", condition), session=session.id, **page)
    of_space = SQL.newest_of_space if query.order == "newest" else SQL.oldest_of_space
    return tx.all(of_space.replace("true", condition), space_id=space_id, **page)


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
    events = [read_row(ListedEvent, rows[row.id], source=read_sides(rows[row.id])) for row in page]
    if caller.member is None:
        return events
    authors = authors_of_events(tx, [one.event_id for one in events])
    return [one.model_copy(update={"author": authors.get(one.event_id)}) for one in events]


# --- List sessions, and show the timeline of one: searches, turns, summaries, cubes, votes, duties

SESSIONS_LISTED_MAX = 30
TURNS_SHOWN_MAX = 30  # on one page of a timeline
OTHERS_SHOWN_MAX = 200  # of each other kind of entry on that page
TITLE_CHARACTERS_MAX = 90
TURN_CHARACTERS_MAX = 1_200  # of each side of a turn
SHOWN_MAX = 1_000  # events that the searches of a page returned
# Order of entries with the same time.
_KIND_ORDER = ("search", "turn", "fact", "cube", "vote", "duty", "summary")

_SEAL_WORDS = frozenset({"seal_step", "seal_name", "seal_missing", "seal_malformed"})


class SessionUnknown(NotFound):
    """There is no such session in this memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One session of a list."""

    session_id: str
    turns: int
    steps: int  # searches that counted
    summaries: int
    is_l1_due: bool
    task_open: bool
    last_ms: int
    created_ms: int
    topic: str | None  # of its latest turn
    query: str
    title: str  # its first request, shortened
    summary: str  # its newest L1, shortened


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """One entry of a session's timeline.

    `kind` is search, turn, fact, cube, vote, duty or summary; the columns of `row` depend on it.
    """

    kind: str
    at_ms: int
    row: Row
    flags: Sequence[str] = ()
    facts: Sequence[str] = ()  # of a turn
    hits: Sequence[str] = ()  # event_ids that a search returned first
    # Seal of the reply after a search: right, missing or wrong; empty until the next search.
    seal: str = ""
    duties: Sequence[str] = ()  # words of the duty rules that applied at a search


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A session, and a part of its timeline, oldest first."""

    session_id: str
    row: Row  # current state of the session
    next_duties: DutyReport  # of the next search, apart from its seal
    entries: list[TimelineEntry] = field(default_factory=list)
    earlier: PageCursor | None = None  # of the page before
    imported: int = 0  # turns that an import brought


def list_sessions(
    context: Context,
    caller: Caller,
    user_id: str,
    *,
    behind: PageCursor | None = None,
    size: int = SESSIONS_LISTED_MAX,
) -> tuple[list[SessionRow], PageCursor | None]:
    """Return a page of a user's sessions, latest turn first, and the cursor of the next page.

    Raises PinnedToOtherUser.
    """
    rows, last = _session_rows(context, caller, user_id, behind, size)
    return [_session_row(row) for row in rows], last


def _session_rows(
    context: Context, caller: Caller, user_id: str, behind: PageCursor | None, size: int
) -> tuple[list[Row], PageCursor | None]:
    def query(tx: Transaction, space: Row) -> list[Row]:
        return tx.all(SQL.sessions, space_id=space.id, **_session_page(behind, size, 200))

    rows, last = split_page(space_rows(context, caller, user_id, query), size)
    return rows, last and PageCursor(last.last_ms, last.id)


def session_list(context: Context, caller: Caller, query: SessionsQuery) -> SessionList:
    """Return a page of a user's sessions, latest turn first. Raises PinnedToOtherUser."""
    user_id = space_user_id(caller, query.user_id)
    behind = None if query.cursor is None else PageCursor(*map(int, query.cursor.split("_")))
    rows, last = _session_rows(context, caller, user_id, behind, query.limit)
    return SessionList(
        user_id=user_id,
        sessions=[
            read_row(
                ListedSession,
                row,
                steps=row.step,
                query=row.query or "",
                last_turn_at=rfc3339(row.last_ms),
            )
            for row in rows
        ],
        next=f"{last.ms}_{last.id}" if last else None,
    )


def _session_page(behind: PageCursor | None, size: int, characters: int) -> dict[str, int]:
    """Return the values of a statement for one page and the row after it."""
    start = behind or PageCursor(AFTER_ALL, 0)
    page = {"before_ms": start.ms, "before_id": start.id}
    return {**page, "characters": characters, "most": size + 1}


def _session_row(row: Row) -> SessionRow:
    return read_row(
        SessionRow,
        row,
        steps=row.step,
        is_l1_due=is_l1_due(turns_owing_l1(row)),
        query=row.query or "",
        title=beginning(" ".join((row.first or row.session_id).split()), TITLE_CHARACTERS_MAX),
        summary=beginning(" ".join((row.summary or "").split()), LISTED_CHARACTERS_MAX),
    )


def timeline(
    context: Context,
    caller: Caller,
    user_id: str,
    session_id: str,
    *,
    until: PageCursor | None = None,
) -> Timeline:
    """Return a page of a session's timeline: its latest TURNS_SHOWN_MAX turns, or those before
    `until`.

    Turns are sorted by the time they belong to; those of the same time in the order in which they
    were stored. Queries of searches are not stored. Of second looks, only counters are stored
    (agent/compliance.py). Raises SessionUnknown, PinnedToOtherUser.
    """
    user_id = space_user_id(caller, user_id)

    def read(tx: Transaction) -> Timeline:
        space = tx.one_or_none(SPACES.space_of, user_id=user_id)
        row = space and tx.one_or_none(SQL.session, space_id=space.id, session_id=session_id)
        if space is None or row is None:
            raise SessionUnknown
        page = _session_page(until, TURNS_SHOWN_MAX, TURN_CHARACTERS_MAX + 1)
        turns = tx.all(SQL.turns, session=row.id, **page)
        page_turns, last = split_page(turns, TURNS_SHOWN_MAX)
        earlier = None if last is None else PageCursor(last.occurred_ms, last.id)
        # The page begins right after the previous turn, so that it includes the search that led to
        # its first turn.
        low = -AFTER_ALL if earlier is None else turns[TURNS_SHOWN_MAX].occurred_ms + 1
        high = AFTER_ALL if until is None else _newest_before(tx, row.id, until) + 1
        entries = [
            *_turn_entries(tx, row.id, page_turns[::-1]),
            *_other_entries(tx, row.id, low, high),
        ]
        entries.sort(key=lambda one: (one.at_ms, _KIND_ORDER.index(one.kind)))
        return Timeline(
            session_id=session_id,
            row=row,
            next_duties=_open_duties(context, tx, row, space),
            entries=entries,
            earlier=earlier,
            imported=int(tx.one(SQL.imported_turns, session=row.id).n),
        )

    return context.store.read(read, account_id=caller.account_id)


def _newest_before(tx: Transaction, session: int, until: PageCursor) -> int:
    """Return when the last turn before a cursor occurred.

    Entries after that time belong to the following page.
    """
    rows = tx.all(
        SQL.turns, session=session, before_ms=until.ms, before_id=until.id, characters=0, most=1
    )
    return int(rows[0].occurred_ms) if rows else until.ms


def _turn_entries(tx: Transaction, session: int, rows: Sequence[Row]) -> Iterator[TimelineEntry]:
    for row in rows:
        facts = [fact.text for fact in tx.all(SQL.fact_with, event=row.id, session=session)]
        cut, flags = shortened(row, TURN_CHARACTERS_MAX), flag_names(row.flags)
        yield TimelineEntry(kind="turn", at_ms=row.occurred_ms, row=cut, flags=flags, facts=facts)


def _other_entries(tx: Transaction, session: int, low: int, high: int) -> Iterator[TimelineEntry]:
    period = {"session": session, "low": low, "high": high, "most": OTHERS_SHOWN_MAX}
    steps = tx.all(SQL.steps_in, **period)[::-1]
    event_ids: dict[int, list[str]] = defaultdict(list)
    if steps:
        first, last = steps[0].step, steps[-1].step
        for event in tx.all(
            SQL.shown_between, session=session, first=first, last=last, most=SHOWN_MAX
        ):
            event_ids[event.step].append(event.event_id)
    for row in steps:
        yield TimelineEntry(
            kind="search",
            at_ms=row.asked_ms,
            row=row,
            hits=event_ids[row.step],
            duties=row.owed.split(",") if row.owed else [],
            seal=_seal_state(tx, session, row.step),
        )
    for kind, sql in (
        ("summary", SQL.summaries_in),
        ("fact", SQL.facts_alone),
        ("duty", SQL.duties_in),
        ("cube", SQL.cubes_in),
        ("vote", SQL.votes_in),
    ):
        for row in tx.all(sql, **period):
            yield TimelineEntry(kind=kind, at_ms=row.created_ms, row=row)


def _seal_state(tx: Transaction, session: int, step: int) -> str:
    """Return the state of the seal of the reply to a search, as the next search reported it."""
    following = tx.one_or_none(SQL.step_after, session=session, step=step + 1)
    if following is None:
        return ""
    words = _SEAL_WORDS.intersection(following.owed.split(","))
    return "missing" if "seal_missing" in words else "wrong" if words else "right"


def _open_duties(context: Context, tx: Transaction, row: Row, space: Row) -> DutyReport:
    name = context.settings.seal_name
    counts = SessionCounts(
        step=row.step,
        remembered_step=row.remembered_step,
        turns=row.turns,
        turns_without_l1=turns_owing_l1(row),
        l1_count=space.l1_count,
        l1_mapped=space.l1_mapped,
        unrated=tuple(unrated_cubes(tx, session=row.id, before_step=row.step + 1)),
        last_seal=render(row.step, name) if row.step else None,
        seal_name=name,
    )
    return check_duties(counts)


# --- Browse stored data: users of an account, their events page by page, and one event in detail

USERS_LISTED_MAX = 100
EVENTS_LISTED_MAX = 25
PLACED_TURNS_MAX = 5_000
LISTED_CHARACTERS_MAX = 400  # of each side of an event in a list
SHOWN_IN_MAX = 20
AROUND = 1  # turns before and after one
# names that files/files.py gives to created files
_FILE_NAME = re.compile(r"[^\s/()\[\]\"'`<>]{1,100}-[0-9a-f]{12}\.[a-z0-9]{2,5}\b")
_FILES_NAMED_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCounts:
    """The amount of data stored for a user."""

    events: int = 0
    sessions: int = 0
    facts: int = 0
    wishes: int = 0  # of the facts
    summaries: int = 0
    maps: int = 0  # the newest version
    flagged: int = 0  # events with flags


@dataclass(frozen=True, slots=True, kw_only=True)
class EventContext:
    """One event and the data connected with it."""

    event: Event
    around: list[ListedEvent]  # it, with the turns before and after it in its session
    facts: list[str]
    cubes: list[board.Card]  # of the account, with the event as evidence
    told_in: list[str]  # l1_ids of the summaries that cover it
    shown_in: list[Row]  # session_id and step of searches that showed it first
    files: list[Row]  # filename, size_bytes: files of the account that its text names


def list_users(
    context: Records, caller: Caller, *, low: str = "", most: int = USERS_LISTED_MAX
) -> list[str]:
    """Return at most so many of the account's user_ids that have data, by name from `low` on.

    A pinned key sees its own user_id only.
    """
    if caller.pinned_user_id is not None:
        return [caller.pinned_user_id]
    page = {"low": low[:ID_CHARACTERS_MAX], "most": most}
    rows = context.store.read(lambda tx: tx.all(SQL.users, **page), account_id=caller.account_id)
    return [row.user_id for row in rows]


def user_list(context: Context, caller: Caller, query: UsersQuery) -> UserList:
    """Return a page of the account's users, by name."""
    names = list_users(context, caller, low=query.cursor or "", most=query.limit + 1)
    return UserList(users=names[: query.limit], next=next(iter(names[query.limit :]), None))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPlaces:
    """Projects of a user's turns, and topics and sources of the latest PLACED_TURNS_MAX.

    Each with its number of turns, the topic of most turns first.
    """

    projects: dict[str, int]
    topics: dict[str, int]
    sources: dict[str, int]


def turn_places(context: Context, caller: Caller, user_id: str) -> TurnPlaces:
    """Count a user's turns by project, by topic and by the source of the message.

    Raises PinnedToOtherUser, StoreUnavailable.
    """

    def read(sql: str, tx: Transaction, space: Row) -> list[Row]:
        return tx.all(sql, space_id=space.id, most=PLACED_TURNS_MAX)

    topics, sources = Counter[str](), Counter[int]()
    for row in space_rows(context, caller, user_id, partial(read, SQL.labels_of)):
        sources[row.source] += row.n
        topics[row.topic or ""] += row.n
    projects = space_rows(context, caller, user_id, partial(read, SQL.projects_of))
    return TurnPlaces(
        projects={row.place[1:]: row.n for row in projects},
        topics={topic: n for topic, n in topics.most_common() if topic},
        sources={SOURCES[source]: sources[source] for source in sorted(sources)},
    )


def list_summaries(
    context: Context, caller: Caller, user_id: str, *, below: int | None, size: int
) -> tuple[list[Row], int | None]:
    """Return a page of a user's L1s, newest first, and `below` of the next page.

    Raises PinnedToOtherUser, StoreUnavailable.
    """

    def read(tx: Transaction, space: Row) -> list[Row]:
        low, high = below or AFTER_ALL, size + 1
        return tx.all(SQL.summaries_below, space_id=space.id, below=low, most=high)

    rows, last = split_page(space_rows(context, caller, user_id, read), size)
    return rows, last and int(last.id)


def list_flagged(
    context: Context, caller: Caller, user_id: str, *, below: int | None = None
) -> tuple[list[ListedEvent], int | None]:
    """Return a page of a user's flagged events, such as those with a secret, latest stored first.

    And `below` of the next page, None on the last one. Raises PinnedToOtherUser.
    """

    def read(tx: Transaction, space: Row) -> list[Row]:
        low, high = row_id(space.id, 0), row_id(space.id, below or (1 << 32) - 1)
        page = {"low": low, "before_id": high, "most": EVENTS_LISTED_MAX + 1}
        return tx.all(SQL.flagged_events, **page)

    rows, last = split_page(space_rows(context, caller, user_id, read), EVENTS_LISTED_MAX)
    events = context.store.read(
        lambda tx: _complete(tx, caller, rows), account_id=caller.account_id
    )
    return events, last and number_of(last.id)


def event_context(context: Context, caller: Caller, event_id: str) -> EventContext:
    """Return one event with the data connected with it.

    Raises EventUnknown for an id that does not exist or that the caller may not read.
    """

    def read(tx: Transaction) -> EventContext:
        row = own_event(tx, caller, event_id)
        space_id = space_of(row.id)
        session = tx.one(SPACES.session_of, space_id=space_id, session_id=row.session_id).id
        turn = {"session": session, "occurred_ms": row.occurred_ms, "id": row.id, "most": AROUND}
        around = [*tx.all(SQL.turns_before, **turn)[::-1], row, *tx.all(SQL.turns_after, **turn)]
        names = dict.fromkeys(_FILE_NAME.findall(f"{row.query}\n{row.response}"))
        facts = tx.all(SQL.facts_of_event, event=row.id, space_id=space_id)
        return EventContext(
            event=event_of(tx, row),
            around=_complete(tx, caller, around),
            facts=[fact.text for fact in facts],
            cubes=board.cubes_from_event(tx, event_id),
            told_in=[l1.l1_id for l1 in summaries_of_event(tx, session, [row.created_ms])],
            shown_in=tx.all(SQL.shown_in, space_id=space_id, event=row.id, most=SHOWN_IN_MAX),
            files=files.file_exists(tx, caller, list(names)[:_FILES_NAMED_MAX]),
        )

    return context.store.read(read, account_id=caller.account_id)
