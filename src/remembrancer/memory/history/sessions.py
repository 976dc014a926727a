"""List sessions, and show the timeline of one: searches, turns, summaries, cubes, votes, duties."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...accounts import space_user_id
from ...context import Caller, Context
from ...cubes import unrated_cubes
from ...protocol.errors import NotFound
from ...protocol.memory import ListedSession, SessionList, SessionsQuery
from ...protocol.seal import render
from ...protocol.text import beginning, rfc3339
from ...store import Row, Transaction, load_queries
from ..duties import DutyReport, SessionCounts, check_duties, is_l1_due, turns_owing_l1
from ..paging import AFTER_ALL, PageCursor, space_rows, split_page
from ..spaces import SQL as SPACES
from ..spaces import flag_names

SQL = load_queries("remembrancer.memory.history", "sessions.sql")
SESSIONS_LISTED_MAX = 30
TURNS_SHOWN_MAX = 30  # on one page of a timeline
OTHERS_SHOWN_MAX = 200  # of each other kind of entry on that page
TURN_CHARACTERS_MAX = 1_200  # of each side of a turn
SHOWN_MAX = 1_000  # events that the searches of a page returned
# Order of entries with the same time.
_KIND_ORDER = (
    "search",
    "turn",
    "fact",
    "cube",
    "vote",
    "duty",
    "summary",
)

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


@dataclass(frozen=True, slots=True)
class SessionsPage:
    """One page of sessions, and the cursor of the next page; None on the last page."""

    sessions: list[SessionRow]
    next: PageCursor | None


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
) -> SessionsPage:
    """Return a page of a user's sessions, latest turn first. Raises PinnedToOtherUser."""

    def query(tx: Transaction, space: Row) -> list[Row]:
        return tx.all(SQL.sessions, space_id=space.id, **_page(behind, size, 200))

    rows, last = split_page(space_rows(context, caller, user_id, query), size)
    following = None if last is None else PageCursor(last.last_ms, last.id)
    return SessionsPage([_session_row(row) for row in rows], following)


def session_list(context: Context, caller: Caller, query: SessionsQuery) -> SessionList:
    """Return a page of a user's sessions, latest turn first. Raises PinnedToOtherUser."""
    user_id = space_user_id(caller, query.user_id)
    behind = None if query.cursor is None else PageCursor(*map(int, query.cursor.split("_")))
    page = list_sessions(context, caller, user_id, behind=behind, size=query.limit)
    following = None if page.next is None else f"{page.next.ms}_{page.next.id}"
    return SessionList(
        user_id=user_id, sessions=[_listed(row) for row in page.sessions], next=following
    )


def _listed(row: SessionRow) -> ListedSession:
    return ListedSession(
        session_id=row.session_id,
        turns=row.turns,
        summaries=row.summaries,
        steps=row.steps,
        topic=row.topic,
        query=row.query,
        task_open=row.task_open,
        created_at=rfc3339(row.created_ms),
        last_turn_at=rfc3339(row.last_ms),
    )


def _page(behind: PageCursor | None, size: int, characters: int) -> dict[str, int]:
    """Return the values of a statement for one page and the row after it."""
    start = behind or PageCursor(AFTER_ALL, 0)
    return {
        "before_ms": start.ms,
        "before_id": start.id,
        "characters": characters,
        "most": size + 1,
    }


def _session_row(row: Row) -> SessionRow:
    return SessionRow(
        session_id=row.session_id,
        turns=row.turns,
        steps=row.step,
        summaries=row.summaries,
        is_l1_due=is_l1_due(turns_owing_l1(row)),
        task_open=bool(row.task_open),
        last_ms=row.last_ms,
        created_ms=row.created_ms,
        topic=row.topic,
        query=row.query or "",
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
        page = _page(until, TURNS_SHOWN_MAX, TURN_CHARACTERS_MAX + 1)
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
        cut = row._replace(
            query=beginning(row.query, TURN_CHARACTERS_MAX),
            response=beginning(row.response, TURN_CHARACTERS_MAX),
        )
        yield TimelineEntry(
            kind="turn", at_ms=row.occurred_ms, row=cut, flags=flag_names(row.flags), facts=facts
        )


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
        duty_words = row.owed.split(",") if row.owed else []
        yield TimelineEntry(
            kind="search",
            at_ms=row.asked_ms,
            row=row,
            hits=event_ids[row.step],
            duties=duty_words,
            seal=_seal_state(tx, session, row.step),
        )
    for kind, sql in (
        ("summary", SQL.summaries_in),
        ("fact", SQL.facts_alone),
        ("duty", SQL.duties_in),
        ("cube", SQL.cubes_in),
    ):
        for row in tx.all(sql, **period):
            yield TimelineEntry(kind=kind, at_ms=row.created_ms, row=row)
    for row in tx.all(SQL.votes_in, **period):
        yield TimelineEntry(kind="vote", at_ms=row.created_ms, row=row)


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
