"""How often agents searched, remembered, sealed, rated and passed a second look, of all the times
that this was due.

Counted from rows that are there anyway: the searches of a session with what was owed at each, cubes
shown and rated, turns, and one small row of each turn that was looked at. docs/guides/compliance.md
says what each figure means, and what it cannot know.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..accounts import require_owner, space_user_id
from ..accounts.keys import PinnedToOtherUser
from ..accounts.usage import DAY_MS
from ..context import Caller, Records
from ..memory.spaces import SQL as SPACES
from ..protocol import limits
from ..protocol.compliance import (
    AgentFigures,
    Compliance,
    ComplianceQuery,
    Figures,
    Part,
    SessionFigures,
)
from ..protocol.text import rfc3339
from ..store import Row, Transaction, load_queries

SQL = load_queries("remembrancer.agent", "compliance.sql")


@dataclass(slots=True)
class _Session:
    """Where a session stands, and what was counted in it."""

    user_id: str
    session_id: str
    account_id: int
    last_ms: int = 0
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class _Counted:
    """What the rows come to, by agent (account and key, None where it is not known) and by session."""

    total: Counter[str] = field(default_factory=Counter)
    agents: defaultdict[tuple[int, int | None], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    sessions: dict[int, _Session] = field(default_factory=dict)

    def add(self, row: Row, counts: Mapping[str, int], *, by_key: bool = True) -> None:
        """So many more. Rows without the names of their session come after one that has them."""
        if row.session not in self.sessions:
            self.sessions[row.session] = _Session(
                user_id=row.user_id, session_id=row.session_id, account_id=row.account_id
            )
        session = self.sessions[row.session]
        session.last_ms = max(session.last_ms, getattr(row, "last_ms", 0))
        session.counts.update(counts)
        self.total.update(counts)
        if by_key:
            self.agents[row.account_id, row.key_id].update(counts)


def compliance(records: Records, caller: Caller, asked: ComplianceQuery) -> Compliance:
    """The figures of the caller's account; with `all`, for an owner, agents of every account.

    Raises NotOwner, Pinned, StoreUnavailable.
    """
    if asked.all:
        require_owner(caller)
        if caller.pinned_user_id is not None:
            raise PinnedToOtherUser
    user_id = asked.user_id
    if user_id is not None or caller.pinned_user_id is not None:
        user_id = space_user_id(caller, user_id)
    since_ms = records.clock() - asked.days * DAY_MS
    account_id = None if asked.all else caller.account_id
    whose: dict[str, int | str | None] = {
        "account_id": account_id,
        "user_id": user_id,
        "session_id": asked.session_id,
        "since_ms": since_ms,
    }

    def read(tx: Transaction) -> tuple[_Counted, list[Row], list[Row]]:
        return (
            _counted(tx, whose),
            tx.all(SQL.keys_named, account_id=account_id),
            tx.all(SQL.accounts_named, account_id=account_id),
        )

    counted, keys, accounts = records.store.read(read, account_id=account_id)
    own = sorted(
        (one for one in counted.sessions.values() if one.account_id == caller.account_id),
        key=lambda one: -one.last_ms,
    )
    listed = own[: limits.COMPLIANCE_SESSIONS_MAX]
    return Compliance(
        since=rfc3339(since_ms),
        total=_figures(counted.total),
        agents=_agents(
            counted,
            keys,
            accounts,
            only=caller.key_id if caller.pinned_user_id is not None else None,
        ),
        sessions=[
            SessionFigures(
                user_id=one.user_id,
                session_id=one.session_id,
                last_at=rfc3339(one.last_ms),
                figures=_figures(one.counts),
            )
            for one in listed
        ],
        sessions_left_out=len(own) - len(listed),
    )


def session_compliance(records: Records, caller: Caller, user_id: str, session_id: str) -> Figures:
    """The figures of one session from its beginning. Raises Pinned, StoreUnavailable."""
    user_id = space_user_id(caller, user_id)

    def read(tx: Transaction) -> Counter[str]:
        space = tx.one_or_none(SPACES.space_of, account_id=caller.account_id, user_id=user_id)
        session = space and tx.one_or_none(
            SPACES.session_of, space_id=space.id, session_id=session_id
        )
        if session is None:
            return Counter()
        return Counter(
            tx.one(SQL.of_session, session=session.id, account_id=caller.account_id)._asdict()
        )

    counts = records.store.read(read, account_id=caller.account_id)
    counts["searched"] = min(counts["remembered"], counts["turns"])
    return _figures(counts)


def service_compliance(records: Records) -> Figures:
    """The figures of the last day, of all accounts together:

    for an operator, never who. Raises StoreUnavailable.
    """
    whose: dict[str, int | str | None] = {
        "account_id": None,
        "user_id": None,
        "session_id": None,
        "since_ms": records.clock() - DAY_MS,
    }
    return _figures(records.store.read(lambda tx: _counted(tx, whose)).total)


def _counted(tx: Transaction, whose: Mapping[str, int | str | None]) -> _Counted:
    counted = _Counted()
    for row in tx.all(SQL.steps_since, **whose):
        names = ("searches", "turns_due", "remembered", "seals_due", "sealed")
        counted.add(row, {name: getattr(row, name) for name in names})
    for row in tx.all(SQL.cubes_since, **whose):
        counted.add(row, {"shown": row.shown, "rated": row.rated})
    for row in tx.all(SQL.looks_since, **whose):
        counted.add(row, {"looks": row.looks, "turns_looked": row.turns, "passed": row.passed})
    for row in tx.all(SQL.turns_since, **whose):
        counted.add(row, {"turns": row.turns, "looked": row.looked}, by_key=False)
    for session in (
        counted.sessions.values()
    ):  # a session at a time: where one searches too often, another's turns without a search show
        session.counts["searched"] = min(session.counts["remembered"], session.counts["turns"])
        counted.total["searched"] += session.counts["searched"]
    return counted


def _agents(
    counted: _Counted, keys: list[Row], accounts: list[Row], *, only: int | None
) -> list[AgentFigures]:
    by_id = {key.id: key for key in keys}
    names = {account.id: account.name for account in accounts}
    told = []
    for (account_id, key_id), counts in sorted(
        counted.agents.items(), key=lambda one: -one[1]["searches"]
    ):
        if only is not None and key_id != only:
            continue
        key = by_id.get(key_id)
        figures = _figures(counts, of_key=True)
        told.append(
            AgentFigures(
                account=names[account_id],
                hint=key and key.hint,
                label=key and key.label,
                figures=figures,
            )
        )
    return told


def _figures(counts: Counter[str], *, of_key: bool = False) -> Figures:
    return Figures(
        searches=counts["searches"],
        turns=None if of_key else counts["turns"],
        looks=counts["looks"],
        searched=None if of_key else _part(counts["searched"], counts["turns"]),
        remembered=_part(counts["remembered"], counts["turns_due"]),
        sealed=_part(counts["sealed"], counts["seals_due"]),
        rated=_part(counts["rated"], counts["shown"]),
        looked=None if of_key else _part(counts["looked"], counts["turns"]),
        passed=_part(counts["passed"], counts["turns_looked"]),
    )


def _part(done: int, due: int) -> Part:
    return Part(done=done, of=due, share=round(done / due, 4) if due else None)
