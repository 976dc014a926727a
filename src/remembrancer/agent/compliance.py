"""Compliance metrics: how often agents fulfilled the duties that were due.

The duties are to search, remember, seal, rate and pass a second look. The metrics are computed from
existing rows: the steps of a session with the duties pending at each, the cubes shown and rated,
the turns, and one row per turn that had a second look. docs/guides/monitor.md explains each
figure and its limits.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..accounts import require_owner, space_user_id
from ..accounts.keys import PinnedToOtherUser
from ..context import Caller, Records
from ..memory.spaces import SQL as SPACES
from ..protocol import limits
from ..protocol.agent import (
    AgentFigures,
    Compliance,
    ComplianceQuery,
    Figures,
    Part,
    SessionFigures,
)
from ..protocol.text import DAY_MS, rfc3339
from ..store import Row, Transaction, load_queries

SQL = load_queries("remembrancer.agent", "compliance.sql")


@dataclass(slots=True)
class _Counts:
    """Counts in total, by agent (account and key; None if unknown) and by session."""

    total: Counter[str] = field(default_factory=Counter)
    agents: defaultdict[tuple[int, int | None], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    sessions: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    names: dict[int, Row] = field(default_factory=dict)  # user_id, session_id, account_id
    last_ms: Counter[int] = field(default_factory=Counter)  # by session

    def add(self, row: Row, names: Sequence[str], *, by_key: bool) -> None:
        """Add columns of a row. The first row of a session must have its names."""
        counts = {name: getattr(row, name) for name in names}
        self.names.setdefault(row.session, row)
        self.last_ms[row.session] = max(self.last_ms[row.session], getattr(row, "last_ms", 0))
        self.sessions[row.session].update(counts)
        self.total.update(counts)
        if by_key:
            self.agents[row.account_id, row.key_id].update(counts)


def compliance(records: Records, caller: Caller, query: ComplianceQuery) -> Compliance:
    """Return the metrics of the caller's account or, with `all` (owners only), of all accounts.

    Raises NotOwner, Pinned, StoreUnavailable.
    """
    if query.all:
        require_owner(caller)
        if caller.pinned_user_id is not None:
            raise PinnedToOtherUser
    user_id = query.user_id
    if user_id is not None or caller.pinned_user_id is not None:
        user_id = space_user_id(caller, user_id)
    since_ms = records.clock() - query.days * DAY_MS
    account_id = None if query.all else caller.account_id
    # Passed explicitly: the transaction supplies no account when it reads all of them.
    filters = {"account_id": account_id, "user_id": user_id, "session_id": query.session_id}

    def read(tx: Transaction) -> tuple[_Counts, list[Row], list[Row]]:
        return (
            _count(tx, since_ms, **filters),
            tx.all(SQL.key_labels, account_id=account_id),
            tx.all(SQL.account_names, account_id=account_id),
        )

    counts, keys, accounts = records.store.read(read, account_id=account_id)
    own = [one for one, row in counts.names.items() if row.account_id == caller.account_id]
    own.sort(key=lambda session: -counts.last_ms[session])
    listed_sessions = own[: limits.COMPLIANCE_SESSIONS_MAX]
    only = None if caller.pinned_user_id is None else caller.key_id
    return Compliance(
        since=rfc3339(since_ms),
        total=_figures(counts.total),
        agents=_agents(counts, keys, accounts, only=only),
        sessions=[
            SessionFigures(
                user_id=counts.names[session].user_id,
                session_id=counts.names[session].session_id,
                last_at=rfc3339(counts.last_ms[session]),
                figures=_figures(counts.sessions[session]),
            )
            for session in listed_sessions
        ],
        sessions_left_out=len(own) - len(listed_sessions),
    )


def session_compliance(records: Records, caller: Caller, user_id: str, session_id: str) -> Figures:
    """Return the metrics of one session since it began. Raises Pinned, StoreUnavailable."""
    user_id = space_user_id(caller, user_id)

    def read(tx: Transaction) -> Counter[str]:
        space = tx.one_or_none(SPACES.space_of, user_id=user_id)
        session = space and tx.one_or_none(
            SPACES.session_of, space_id=space.id, session_id=session_id
        )
        if session is None:
            return Counter()
        return Counter(tx.one(SQL.session_counts, session=session.id)._asdict())

    counts = records.store.read(read, account_id=caller.account_id)
    _count_searched(counts)
    return _figures(counts)


def service_compliance(records: Records) -> Figures:
    """Return the metrics of the last day for all accounts together. Raises StoreUnavailable."""
    since_ms = records.clock() - DAY_MS
    every = {"account_id": None, "user_id": None, "session_id": None}
    return _figures(records.store.read(lambda tx: _count(tx, since_ms, **every)).total)


_COLUMNS: dict[str, tuple[tuple[str, ...], bool]] = {  # of a statement; counted by key, too
    SQL.steps_since: (
        ("searches", "turns_due", "remembered", "turnless", "seals_due", "sealed"),
        True,
    ),
    SQL.cubes_since: (("shown", "rated"), True),
    SQL.looks_since: (("looks", "turns_looked", "passed"), True),
    SQL.turns_since: (("turns", "questions", "looks_due", "looked"), False),
}


def _count(tx: Transaction, since_ms: int, **filters: int | str | None) -> _Counts:
    result = _Counts()
    for statement, (names, by_key) in _COLUMNS.items():
        for row in tx.all(statement, since_ms=since_ms, **filters):
            result.add(row, names, by_key=by_key)
    # Per session, so that surplus searches of one do not hide missing searches of another.
    for counts in result.sessions.values():
        _count_searched(counts)
        for name in ("searched", "searches_due"):
            result.total[name] += counts[name]
    return result


def _count_searched(counts: Counter[str]) -> None:
    """Count the turns of one session that a search preceded, and those for which one was due.

    None is due for a turn without a question, such as the answer to a machine notice, for an
    imported one, and for one that was stored a day or more after it occurred.
    """
    counts["searches_due"] = counts["questions"]
    counts["searched"] = min(counts["remembered"] + counts["turnless"], counts["searches_due"])


def _agents(
    counts_by_agent: _Counts, keys: list[Row], accounts: list[Row], *, only: int | None
) -> list[AgentFigures]:
    by_id = {key.id: key for key in keys}
    names = {account.id: account.name for account in accounts}
    figures_list = []
    for (account_id, key_id), counts in sorted(
        counts_by_agent.agents.items(), key=lambda item: -item[1]["searches"]
    ):
        if only is not None and key_id != only:
            continue
        key = by_id.get(key_id)
        figures = _figures(counts, of_key=True)
        figures_list.append(
            AgentFigures(
                account=names[account_id],
                hint=key and key.hint,
                label=key and key.label,
                figures=figures,
            )
        )
    return figures_list


def _figures(counts: Counter[str], *, of_key: bool = False) -> Figures:
    return Figures(
        searches=counts["searches"],
        turns=None if of_key else counts["turns"],
        looks=counts["looks"],
        searched=None if of_key else _part(counts["searched"], counts["searches_due"]),
        remembered=_part(counts["remembered"], counts["turns_due"]),
        sealed=_part(counts["sealed"], counts["seals_due"]),
        rated=_part(counts["rated"], counts["shown"]),
        looked=None if of_key else _part(counts["looked"], counts["looks_due"]),
        passed=_part(counts["passed"], counts["turns_looked"]),
    )


def _part(count: int, due: int) -> Part:
    return Part(done=count, of=due, share=round(count / due, 4) if due else None)
