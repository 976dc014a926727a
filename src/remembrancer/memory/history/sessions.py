"""Sessions, and what happened in one:

its searches, turns, summaries, lessons, votes and duties, as they came.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...accounts import space_user_id
from ...context import Caller, Context
from ...cubes import unrated_cubes
from ...protocol.errors import NotFound
from ...protocol.seal import render
from ...protocol.text import beginning
from ...store import Row, Transaction, load_queries
from ..duties import DutyReport, SessionCounts, check_duties, is_l1_due
from ..spaces import SQL as SPACES
from ..spaces import flag_names
from .browse import PageCursor

SQL = load_queries("remembrancer.memory.history", "sessions.sql")
SESSIONS_LISTED_MAX = 30
TURNS_SHOWN_MAX = 30  # of a page of what happened
OTHERS_SHOWN_MAX = 200  # of each other kind of thing beside them
TOLD_CHARACTERS_MAX = 1_200  # of each side of a turn
SHOWN_MAX = 1_000  # events that the searches of a page showed
_ORDER = (
    "search",
    "turn",
    "fact",
    "cube",
    "vote",
    "duty",
    "summary",
)  # of what came in the same millisecond
_EVER_MS = 1 << 62
_SEAL_CASES = frozenset({"seal_step", "seal_name", "seal_missing", "seal_malformed"})


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
    """Some sessions, and where the next ones begin; None after the last."""

    sessions: list[SessionRow]
    next: PageCursor | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """One thing that happened in a session.

    What `row` has depends on `kind`: search, turn, fact, cube, vote, duty, summary.
    """

    kind: str
    at_ms: int
    row: Row
    flags: Sequence[str] = ()
    facts: Sequence[str] = ()  # that came with a turn
    shown: Sequence[str] = ()  # event_ids that a search showed first
    # of the reply after a search: right, missing, wrong; empty while the next search has not told
    seal: str = ""
    owed: Sequence[str] = ()  # words of rules.py: what was owed at a search


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A session, and what happened in a part of it, oldest first."""

    session_id: str
    row: Row  # as it stands
    owed: DutyReport  # what its next search will be told, its seal aside
    happened: list[TimelineEntry] = field(default_factory=list)
    earlier: PageCursor | None = None  # where what came before ends


def list_sessions(
    context: Context, caller: Caller, user_id: str, *, behind: PageCursor | None = None
) -> SessionsPage:
    """A page of a user's sessions, those with the newest turns first. Raises Pinned."""
    asked = space_user_id(caller, user_id)
    place = behind or PageCursor(_EVER_MS, 0)

    def read(tx: Transaction) -> list[Row]:
        space = tx.one_or_none(SPACES.space_of, account_id=caller.account_id, user_id=asked)
        if space is None:
            return []
        bounds = {
            "before_ms": place.ms,
            "before_id": place.id,
            "characters": 200,
            "most": SESSIONS_LISTED_MAX + 1,
        }
        return tx.all(SQL.sessions, space_id=space.id, **bounds)

    rows = context.store.read(read, account_id=caller.account_id)
    shown = rows[:SESSIONS_LISTED_MAX]
    more = PageCursor(shown[-1].last_ms, shown[-1].id) if len(rows) > len(shown) else None
    return SessionsPage([_listed(row) for row in shown], more)


def _listed(row: Row) -> SessionRow:
    return SessionRow(
        session_id=row.session_id,
        turns=row.turns,
        steps=row.step,
        summaries=row.summaries,
        is_l1_due=is_l1_due(row.turns, row.turns_summarised),
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
    """What happened in a session, a page of TURNS_SHOWN_MAX turns: the latest, or those before
    `until`. Raises SessionUnknown, Pinned.

    What a search asked is not kept beside the turns. Of a second look only how it went is counted
    (agent/compliance.py).
    """
    asked = space_user_id(caller, user_id)

    def read(tx: Transaction) -> Timeline:
        space = tx.one_or_none(SPACES.space_of, account_id=caller.account_id, user_id=asked)
        row = space and tx.one_or_none(SQL.session, space_id=space.id, session_id=session_id)
        if space is None or row is None:
            raise SessionUnknown
        place = until or PageCursor(_EVER_MS, 0)
        bounds = {
            "before_ms": place.ms,
            "before_id": place.id,
            "characters": TOLD_CHARACTERS_MAX + 1,
            "most": TURNS_SHOWN_MAX + 1,
        }
        turns = tx.all(SQL.turns, session=row.id, **bounds)
        shown = turns[:TURNS_SHOWN_MAX]
        earlier = (
            PageCursor(shown[-1].created_ms, shown[-1].id) if len(turns) > len(shown) else None
        )
        # What led to the first turn of a page, such as its search, stands before it: the page
        # begins after the turn before.
        low = -_EVER_MS if earlier is None else turns[TURNS_SHOWN_MAX].created_ms + 1
        high = _EVER_MS if until is None else _newest_before(tx, row.id, until) + 1
        happened = [*_turns(tx, row.id, shown), *_others(tx, caller, row.id, low, high)]
        happened.sort(key=lambda one: (one.at_ms, _ORDER.index(one.kind)))
        return Timeline(
            session_id=session_id,
            row=row,
            owed=_owed(context, tx, caller, row, space),
            happened=happened,
            earlier=earlier,
        )

    return context.store.read(read, account_id=caller.account_id)


def _newest_before(tx: Transaction, session: int, until: PageCursor) -> int:
    """When the last turn before a place was kept:

    what came after it belongs to the page that follows.
    """
    rows = tx.all(
        SQL.turns, session=session, before_ms=until.ms, before_id=until.id, characters=0, most=1
    )
    return int(rows[0].created_ms) if rows else until.ms


def _turns(tx: Transaction, session: int, rows: Sequence[Row]) -> Iterator[TimelineEntry]:
    for row in rows:
        facts = [fact.text for fact in tx.all(SQL.fact_with, event=row.id, session=session)]
        cut = row._replace(
            query=beginning(row.query, TOLD_CHARACTERS_MAX),
            response=beginning(row.response, TOLD_CHARACTERS_MAX),
        )
        yield TimelineEntry(
            kind="turn", at_ms=row.created_ms, row=cut, flags=flag_names(row.flags), facts=facts
        )


def _others(
    tx: Transaction, caller: Caller, session: int, low: int, high: int
) -> Iterator[TimelineEntry]:
    span = {"session": session, "low": low, "high": high, "most": OTHERS_SHOWN_MAX}
    steps = tx.all(SQL.steps_in, **span)[::-1]
    shown: dict[int, list[str]] = defaultdict(list)
    if steps:
        first, last = steps[0].step, steps[-1].step
        for event in tx.all(
            SQL.shown_between, session=session, first=first, last=last, most=SHOWN_MAX
        ):
            shown[event.step].append(event.event_id)
    for row in steps:
        owed = row.owed.split(",") if row.owed else []
        yield TimelineEntry(
            kind="search",
            at_ms=row.asked_ms,
            row=row,
            shown=shown[row.step],
            owed=owed,
            seal=_seal(tx, session, row.step),
        )
    for kind, sql in (
        ("summary", SQL.summaries_in),
        ("fact", SQL.facts_alone),
        ("duty", SQL.duties_in),
        ("cube", SQL.cubes_in),
    ):
        for row in tx.all(sql, **span):
            yield TimelineEntry(kind=kind, at_ms=row.created_ms, row=row)
    for row in tx.all(SQL.votes_in, account_id=caller.account_id, **span):
        yield TimelineEntry(kind="vote", at_ms=row.created_ms, row=row)


def _seal(tx: Transaction, session: int, step: int) -> str:
    """How the reply that followed a search was sealed, as the next search told."""
    after = tx.one_or_none(SQL.step_after, session=session, step=step + 1)
    if after is None:
        return ""
    cases = _SEAL_CASES.intersection(after.owed.split(","))
    return "missing" if "seal_missing" in cases else "wrong" if cases else "right"


def _owed(context: Context, tx: Transaction, caller: Caller, row: Row, space: Row) -> DutyReport:
    name = context.settings.seal_name
    standing = SessionCounts(
        step=row.step,
        remembered_step=row.remembered_step,
        turns=row.turns,
        turns_summarised=row.turns_summarised,
        l1_count=space.l1_count,
        l1_mapped=space.l1_mapped,
        unrated=tuple(
            unrated_cubes(
                tx, account_id=caller.account_id, session=row.id, before_step=row.step + 1
            )
        ),
        last_seal=render(row.step, name) if row.step else None,
        seal_name=name,
    )
    return check_duties(standing)
