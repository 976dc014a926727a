"""List the cubes that an account may see, by status, and show one with its votes and exposures."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ..context import Caller, Records
from ..protocol.cubes import CubeStatus
from ..protocol.line import CubeKind
from ..store import Row, Transaction, load_queries
from ..store.rows import read_row
from .lessons import EVENT_ID, CubeUnknown, visible_evidence
from .lessons import SQL as LESSONS
from .rules import ACCOUNTS_MIN, wilson
from .serving import account_status

SQL = load_queries("remembrancer.cubes", "board.sql")
CARDS_LISTED_MAX = 20
VOTES_LISTED_MAX = 50
RESTING_MAX = 20
EXPOSURES_LISTED_MAX = 10
EARLIER_LISTED_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRecord:
    """Exposures and outcomes of a cube in an account, or of the user that a key is pinned to."""

    exposures: int  # searches that returned it
    helped: int  # turns that used it and ended well
    failed: int  # turns that used it and ended badly
    status: CubeStatus  # within the account: retired ones are not served there

    @property
    def outcomes(self) -> int:
        """The number of turns that used the cube and whose outcome is known."""
        return self.helped + self.failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """A search that returned a cube, and what became of its turn."""

    user_id: str
    session_id: str
    shown_ms: int | None  # None: before exposures had a time
    used: str | None  # cited, followed or rated; None: no sign of use
    is_good: bool | None  # how the turn ended; None: unknown
    signals: tuple[str, ...]  # words for what said so
    is_settled: bool  # False: the turn is not judged yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A cube as a page shows it."""

    cube_id: str
    kind: str
    topic: str
    essence: str
    rules: str
    evidence: str
    model: str | None
    status: str
    useful: int
    useless: int
    created_ms: int
    own: bool  # belongs to this account
    vote: int | None  # the account's: 1, -1, or 0 without a majority; None: no user rated it
    record: OwnRecord | None = None  # None: not read

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound of the share of useful votes."""
        return wilson(self.useful, self.useful + self.useless)

    @property
    def votes_missing(self) -> int:
        """The number of accounts that must still vote before votes change the status."""
        return max(ACCOUNTS_MIN - self.useful - self.useless, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CubeDetail:
    """A cube with its votes and its origin."""

    card: Card
    votes: list[Row]  # vote, reason, rated_ms, own, user_id (None: not own): newest first
    user_id: str | None  # of the session that created it, if it is the account's own
    session_id: str | None
    event_id: str | None  # its evidence, if it is the account's own and still exists
    exposures: list[Exposure]  # in the account's sessions: newest first, EXPOSURES_LISTED_MAX
    # Cubes merged into it, as far as the account sees them: cube_id, topic, essence, rules,
    # created_ms, own; newest first.
    earlier: list[Row]


def counts(records: Records, caller: Caller) -> dict[CubeStatus, int]:
    """Return the number of cubes that the account sees, by status."""
    rows = records.store.read(
        lambda tx: tx.all(SQL.counts, user_id=caller.pinned_user_id), account_id=caller.account_id
    )
    zeros: dict[CubeStatus, int] = {"private": 0, "published": 0, "trusted": 0, "retired": 0}
    return zeros | {row.status: row.n for row in rows}


def page(
    records: Records,
    caller: Caller,
    status: CubeStatus,
    *,
    kind: CubeKind | None = None,
    own: bool = False,
    below: int | None = None,
) -> tuple[list[Card], int | None]:
    """Return a page of cubes of one status, newest first, each with its record.

    And the id below which the next page begins, None on the last one.
    The account's own private cubes, or shared cubes of all accounts or (`own`) its own.
    """
    sql = SQL.own_page if own or status == "private" else SQL.shared_page
    values: dict[str, object] = {
        "status": status,
        "kind": kind,
        "below": below or 1 << 62,
        "most": CARDS_LISTED_MAX + 1,
    }
    if sql is SQL.own_page:
        values["user_id"] = caller.pinned_user_id

    def read(tx: Transaction) -> tuple[list[Card], int | None]:
        rows = tx.all(sql, **values)
        cards = rows[:CARDS_LISTED_MAX]
        following = cards[-1].id if len(rows) > len(cards) else None
        return [_card(row, _record(tx, caller, row)) for row in cards], following

    return records.store.read(read, account_id=caller.account_id)


def cube_detail(records: Records, caller: Caller, cube_id: str) -> CubeDetail:
    """Return a cube with its votes, its record and its latest exposures.

    Reasons are visible to the author's account, to owners, and to the accounts that gave them. An
    account sees which of its users voted; other voters stay anonymous. A pinned key sees no vote of
    its account's other users, and only the exposures of its own user. Raises CubeUnknown, also for
    others' private cubes.
    """

    def read(tx: Transaction) -> CubeDetail:
        row = tx.one_or_none(SQL.card, cube_id=cube_id, user_id=caller.pinned_user_id)
        if row is None:
            raise CubeUnknown
        votes = tx.all(SQL.votes, cube=row.id, most=VOTES_LISTED_MAX)
        if not (row.own or caller.is_owner):
            votes = [vote for vote in votes if vote.own]
        if caller.pinned_user_id is not None:
            votes = [vote for vote in votes if vote.user_id in (None, caller.pinned_user_id)]
        session = event = None
        if row.own:
            event_id = row.evidence.strip()
            session = tx.one_or_none(SQL.session_of_cube, session=row.session)
            if EVENT_ID.fullmatch(event_id):
                event = tx.one_or_none(LESSONS.event_of_account, event_id=event_id)
        if session is not None and caller.pinned_user_id not in (None, session.user_id):
            session = None
        return CubeDetail(
            card=_card(row, _record(tx, caller, row)),
            exposures=_exposures(tx, caller, row.id),
            earlier=tx.all(
                SQL.merged, cube=row.id, user_id=caller.pinned_user_id, most=EARLIER_LISTED_MAX
            ),
            votes=votes,
            user_id=session and session.user_id,
            session_id=session and session.session_id,
            event_id=event and event_id,
        )

    return records.store.read(read, account_id=caller.account_id)


def cubes_from_event(tx: Transaction, event_id: str) -> list[Card]:
    """Return the account's cubes whose evidence is an event, at most RESTING_MAX."""
    return [
        _card(row) for row in tx.all(SQL.cubes_of_evidence, event_id=event_id, most=RESTING_MAX)
    ]


def _record(tx: Transaction, caller: Caller, row: Row) -> OwnRecord:
    counters = tx.one(SQL.record, cube=row.id, user_id=caller.pinned_user_id)
    own = tx.one(  # of all users: a search decides by it
        LESSONS.own_records, ids=json.dumps([row.id]), session=None
    )
    return read_row(OwnRecord, counters, status=account_status(tx, row, own))


def _exposures(tx: Transaction, caller: Caller, cube: int) -> list[Exposure]:
    rows = tx.all(
        SQL.exposures, cube=cube, user_id=caller.pinned_user_id, most=EXPOSURES_LISTED_MAX
    )
    return [
        read_row(
            Exposure,
            row,
            shown_ms=row.shown_ms or None,
            is_good=None if row.outcome is None else bool(row.outcome),
            signals=tuple(row.signals.split(",")) if row.signals else (),
            is_settled=row.settled_ms is not None,
        )
        for row in rows
    ]


def _card(row: Row, record: OwnRecord | None = None) -> Card:
    return read_row(
        Card,
        row,
        evidence=visible_evidence(row.evidence, is_own=bool(row.own)),
        vote=None if row.vote_sum is None else (row.vote_sum > 0) - (row.vote_sum < 0),
        record=record,
    )
