"""The lessons that an account may see, by where they stand, and what was thought of each."""

from __future__ import annotations

from dataclasses import dataclass

from ..context import Caller, Records
from ..protocol.cubes import CubeStatus
from ..protocol.line import CubeKind
from ..store import Row, Transaction, load_queries
from .lessons import EVENT_ID
from .lessons import SQL as LESSONS
from .rules import ACCOUNTS_MIN, wilson
from .votes import CubeUnknown

SQL = load_queries("remembrancer.cubes", "board.sql")
CARDS_LISTED_MAX = 20
VOTES_LISTED_MAX = 50
RESTING_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A lesson as a page shows it."""

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
    own: bool  # of this account
    vote: int | None  # this account's

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which shares the true share of useful votes lies."""
        return wilson(self.useful, self.useful + self.useless)

    @property
    def votes_missing(self) -> int:
        """How many accounts must vote yet before votes decide anything."""
        return max(ACCOUNTS_MIN - self.useful - self.useless, 0)


@dataclass(frozen=True, slots=True)
class CardsPage:
    """Some lessons, and below which number the next ones are; None after the last."""

    cards: list[Card]
    next: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CubeDetail:
    """A lesson with its votes and where it came from."""

    card: Card
    votes: list[Row]  # vote, reason, rated_ms, own: newest first
    user_id: str | None  # of the session it was made in, of the account's own
    session_id: str | None
    event_id: str | None  # that it rests on, of the account's own, while it is there


def counts(records: Records, caller: Caller) -> dict[CubeStatus, int]:
    """How many lessons the account sees, by where they stand."""
    rows = records.store.read(
        lambda tx: tx.all(SQL.counts, account_id=caller.account_id), account_id=caller.account_id
    )
    none: dict[CubeStatus, int] = {"private": 0, "published": 0, "trusted": 0, "retired": 0}
    return none | {row.status: row.n for row in rows}


def page(
    records: Records,
    caller: Caller,
    status: CubeStatus,
    *,
    kind: CubeKind | None = None,
    own: bool = False,
    below: int | None = None,
) -> CardsPage:
    """Lessons of one standing, the newest first:

    the account's own private ones, or shared ones of all accounts or (`own`) its own.
    """
    sql = SQL.own_page if own or status == "private" else SQL.shared_page
    values = {
        "account_id": caller.account_id,
        "status": status,
        "kind": kind,
        "below": below or 1 << 62,
        "most": CARDS_LISTED_MAX + 1,
    }
    rows = records.store.read(lambda tx: tx.all(sql, **values), account_id=caller.account_id)
    shown = rows[:CARDS_LISTED_MAX]
    return CardsPage(
        [_card(row) for row in shown], shown[-1].id if len(rows) > len(shown) else None
    )


def cube_detail(records: Records, caller: Caller, cube_id: str) -> CubeDetail:
    """A lesson with its votes. Reasons are told to its author's account, to owners, and to whoever
    gave them; never who voted.

    Raises CubeUnknown for another account's private one, too.
    """

    def read(tx: Transaction) -> CubeDetail:
        row = tx.one_or_none(SQL.card, cube_id=cube_id, account_id=caller.account_id)
        if row is None:
            raise CubeUnknown
        votes = tx.all(SQL.votes, cube=row.id, account_id=caller.account_id, most=VOTES_LISTED_MAX)
        if not (row.own or caller.is_owner):
            votes = [vote for vote in votes if vote.own]
        made = (
            tx.one_or_none(SQL.made_in, session=row.session)
            if row.own and row.session is not None
            else None
        )
        if made is not None and caller.pinned_user_id not in (None, made.user_id):
            made = None
        rests = row.own and EVENT_ID.fullmatch(row.evidence.strip())
        event = (
            tx.one_or_none(
                LESSONS.event_of_account,
                event_id=row.evidence.strip(),
                account_id=caller.account_id,
            )
            if rests
            else None
        )
        return CubeDetail(
            card=_card(row),
            votes=votes,
            user_id=made and made.user_id,
            session_id=made and made.session_id,
            event_id=row.evidence.strip() if event else None,
        )

    return records.store.read(read, account_id=caller.account_id)


def cubes_from_event(tx: Transaction, caller: Caller, event_id: str) -> list[Card]:
    """The account's lessons whose evidence is an event, at most RESTING_MAX."""
    return [
        _card(row)
        for row in tx.all(
            SQL.resting_on, account_id=caller.account_id, event_id=event_id, most=RESTING_MAX
        )
    ]


def _card(row: Row) -> Card:
    told = {
        name: getattr(row, name)
        for name in ("cube_id", "kind", "topic", "essence", "rules", "evidence", "model", "status")
    }
    return Card(
        useful=row.useful,
        useless=row.useless,
        created_ms=row.created_ms,
        own=bool(row.own),
        vote=row.vote,
        **told,
    )
