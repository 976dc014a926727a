"""Teams: find the team that a request names, and act in its space with the role of the member."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..context import Caller, Records, TeamMember
from ..protocol import limits
from ..protocol.errors import Forbidden, InvalidRequest, NotFound
from ..protocol.search import Author
from ..protocol.teams import ROLES, TeamRole
from ..store import Row, Store, Transaction, load_queries
from .keys import default_user_id, space_user_id

# --- A store whose writes to one account succeed only while a query finds a row --------------

T = TypeVar("T")


class GuardedStore:
    """The store `inner`, where every write to an account checks in its own transaction that it is
    allowed.

    `look` asks for the rows that decide, and `check` raises if they forbid the write. A check
    before the transaction would not do: what it found may have ended when the write begins.
    """

    def __init__(
        self,
        inner: Store,
        account_id: int,
        look: Callable[[Transaction], Callable[[], list[Row]]],
        check: Callable[[list[Row]], object],
    ) -> None:
        self._inner, self._account_id, self._look, self._check = inner, account_id, look, check
        self.is_shared = inner.is_shared

    def write(
        self,
        action: Callable[[Transaction], T],
        *,
        account_id: int | None = None,
        flush: bool = True,
    ) -> T:
        """Run `action` in a transaction, and check in it; see Store.write.

        Raises what the check raises: nothing that the action wrote remains then.
        """

        def checked(tx: Transaction) -> T:
            rows = self._look(tx)  # sent with the first statement of the action: no round trip
            result = action(tx)
            self._check(rows())
            return result

        guarded = checked if account_id == self._account_id else action
        return self._inner.write(guarded, account_id=account_id, flush=flush)

    def read(self, action: Callable[[Transaction], T], *, account_id: int | None = None) -> T:
        """See Store.read."""
        return self._inner.read(action, account_id=account_id)

    def count(self, sql: str, **values: Any) -> Row | None:
        """See Store.count."""
        return self._inner.count(sql, **values)

    def look_up(self, sql: str, **values: Any) -> Row | None:
        """See Store.look_up."""
        return self._inner.look_up(sql, **values)

    def lock(self, *names: str, wait: bool = True) -> AbstractContextManager[bool]:
        """See Store.lock."""
        return self._inner.lock(*names, wait=wait)

    @property
    def index_folder(self) -> Path | None:
        """See Store.index_folder."""
        return self._inner.index_folder

    @property
    def supports_vector_search(self) -> bool:
        """See Store.supports_vector_search."""
        return self._inner.supports_vector_search

    def run_outside_transaction(self, statement: str, *, memory_bytes: int = 0) -> None:
        """See Store.run_outside_transaction."""
        self._inner.run_outside_transaction(statement, memory_bytes=memory_bytes)

    def schema_version(self) -> int:
        """See Store.schema_version."""
        return self._inner.schema_version()

    def check_writes(self) -> None:
        """See Store.check_writes."""
        self._inner.check_writes()

    def close(self) -> None:
        """See Store.close."""
        self._inner.close()


# --- Teams: find the team that a request names, and act in its space with the role of the member
# A team is an account without keys. A member's request works in that account's one space, whose
# user_id is the team's id, so that every rule about accounts holds for teams (decision 48).

SQL = load_queries("remembrancer.accounts", "teams.sql")
ALL_TEAMS = "all"
RecordsT = TypeVar("RecordsT", bound=Records)


class TeamUnknown(NotFound):
    """There is no such team, or you are not a member of it."""


class TeamAmbiguous(InvalidRequest):
    """You are a member of several teams of this name. Name the team by its id."""


class TooManyTeams(InvalidRequest):
    """You are a member of more teams than one search covers. Name the teams to search."""


class RoleTooLow(Forbidden):
    """Your role in this team does not allow this."""

    def __init__(self, needed: TeamRole) -> None:
        """Name the role that is needed."""
        super().__init__(
            f"Your role in this team does not allow this: it needs the role {needed}. Ask an owner "
            "of the team."
        )


class NotAuthor(Forbidden):
    """Somebody else wrote this. Its author or an owner of the team can change or erase it."""


class Membership(NamedTuple):
    """A team and the highest role that the caller has in it."""

    team_account: int
    team_id: str
    name: str
    created_ms: int
    role: TeamRole


def memberships(tx: Transaction, caller: Caller, user_id: str | None) -> list[Membership]:
    """Return the teams of the caller, oldest first.

    `user_id` restricts them to those that a user of the account may work in; None means those of
    the key's pin, or of every user.
    """
    values = {"account_id": caller.account_id, "user_id": user_id or caller.pinned_user_id}
    return _highest(tx.all(SQL.memberships, **values))


def membership_in(
    tx: Transaction, caller: Caller, team: str, user_id: str | None = None
) -> Membership:
    """Return the caller's membership in a team, by its id or name. Raises TeamUnknown,
    TeamAmbiguous.
    """
    values = {"account_id": caller.account_id, "user_id": user_id or caller.pinned_user_id}
    return _only(team, tx.all(SQL.membership, team=team, **values))


def _only(team: str, rows: Iterable[Row]) -> Membership:
    matches = _highest(rows)
    matches = [one for one in matches if one.team_id == team] or matches
    if not matches:
        raise TeamUnknown
    if len(matches) > 1:
        raise TeamAmbiguous
    return matches[0]


def _highest(rows: Iterable[Row]) -> list[Membership]:
    """Return one membership per team: an account may have one, and one of its users another."""
    teams: dict[int, Membership] = {}
    for row in rows:
        role = row.role
        if row.team_account in teams:
            role = max(role, teams[row.team_account].role, key=ROLES.index)
        teams[row.team_account] = Membership(
            row.team_account, row.team_id, row.name, row.created_ms, role
        )
    return list(teams.values())


def require_role(role: TeamRole, needed: TeamRole) -> None:
    """Raise RoleTooLow if a role may do less than the role that is needed."""
    if ROLES.index(role) < ROLES.index(needed):
        raise RoleTooLow(needed)


def enter(
    records: Records, caller: Caller, team: str, user_id: str | None, needed: TeamRole
) -> Caller:
    """Return the caller that works in a team's space for a user of this caller.

    Memberships are always looked up: a removed member has no access from the next request on.
    Raises PinnedToOtherUser, TeamUnknown, TeamAmbiguous, RoleTooLow, StoreUnavailable.
    """
    user_id = space_user_id(caller, user_id)
    membership = records.store.read(
        lambda tx: membership_in(tx, caller, team, user_id), account_id=caller.account_id
    )
    require_role(membership.role, needed)
    return caller_in(caller, membership, user_id)


def enter_all(
    records: Records, caller: Caller, teams: Sequence[str], user_id: str | None
) -> list[Caller]:
    """Return a caller for each of the named teams, or for every team of a user (`all`).

    Raises PinnedToOtherUser, TeamUnknown, TeamAmbiguous, TooManyTeams, StoreUnavailable.
    """
    user_id = space_user_id(caller, user_id)

    def find(tx: Transaction) -> list[Membership]:
        if ALL_TEAMS not in teams:
            return [membership_in(tx, caller, team, user_id) for team in teams]
        matches = memberships(tx, caller, user_id)
        if len(matches) > limits.TEAMS_SEARCHED_MAX:
            raise TooManyTeams
        return matches

    matches = records.store.read(find, account_id=caller.account_id)
    unique = {one.team_account: one for one in matches}
    return [caller_in(caller, one, user_id) for one in unique.values()]


def caller_in(caller: Caller, team: Membership, user_id: str | None = None) -> Caller:
    """Return the caller that works in a team's space."""
    return replace(
        caller,
        account_id=team.team_account,
        account_name=team.team_id,
        is_owner=False,
        pinned_user_id=team.team_id,
        has_protocol=False,
        member=TeamMember(
            team_id=team.team_id,
            team_name=team.name,
            role=team.role,
            account_id=caller.account_id,
            account_name=caller.account_name,
            user_id=user_id or default_user_id(caller),
        ),
    )


def working_in(records: RecordsT, caller: Caller, needed: TeamRole) -> RecordsT:
    """Return the records for a request in a team: its writes need the member's role until they are
    stored.

    `caller` works in the team's space. A write raises TeamUnknown if the membership, or the team,
    has ended, and RoleTooLow: what a team gets while it is deleted is erased with it or refused.
    """
    member = caller.member
    assert member is not None
    member_of = {"team": member.team_id, "user_id": member.user_id, "account_id": member.account_id}

    def look(tx: Transaction) -> Callable[[], list[Row]]:
        return tx.later(SQL.membership, **member_of)

    def check(rows: list[Row]) -> None:
        require_role(_only(member.team_id, rows).role, needed)

    store = GuardedStore(records.store, caller.account_id, look, check)
    return replace(records, store=store)


def sign_event(tx: Transaction, member: TeamMember, row: int) -> None:
    """Record the member that wrote a turn of a team. `row` is its row id."""
    tx.later(SQL.set_event_author, id=row, **_author_values(member))


def sign_fact(tx: Transaction, caller: Caller, row: int) -> None:
    """Record the member that wrote a fact of a team; does nothing for one's own fact."""
    if caller.member is not None:
        tx.run(SQL.set_fact_author, id=row, **_author_values(caller.member))


def _author_values(member: TeamMember) -> dict[str, int | str]:
    return {"author_account": member.account_id, "author_user": member.user_id}


def require_event_author(tx: Transaction, caller: Caller, row: int) -> None:
    """Raise NotAuthor unless the caller wrote this turn, or owns its team. `row` is its row id."""
    if caller.member is not None and caller.member.role != "owner":
        _require_author(caller.member, tx.one_or_none(SQL.event_author, id=row))


def require_fact_author(tx: Transaction, caller: Caller, row: int) -> None:
    """Raise NotAuthor unless the caller wrote this fact, or owns its team. `row` is its row id."""
    if caller.member is not None and caller.member.role != "owner":
        _require_author(caller.member, tx.one_or_none(SQL.fact_author, id=row))


def _require_author(member: TeamMember, row: Row | None) -> None:
    if row is None or not is_author(member, row):
        raise NotAuthor


def is_author(member: TeamMember, row: Row) -> bool:
    """Return True if a row, with the columns of its author, says that the member wrote it."""
    author = row.author_account, row.author_user
    return bool(author == (member.account_id, member.user_id))


def authors_of_events(tx: Transaction, event_ids: Iterable[str]) -> dict[str, Author]:
    """Return who wrote turns of a team, by event id; one's own turns have no author."""
    return _authors(tx.all(SQL.event_authors, ids=json.dumps(list(event_ids))))


def authors_of_facts(tx: Transaction, fact_ids: Iterable[str]) -> dict[str, Author]:
    """Return who wrote facts of a team, by fact id; one's own facts have no author."""
    return _authors(tx.all(SQL.fact_authors, ids=json.dumps(list(fact_ids))))


def _authors(rows: Iterable[Row]) -> dict[str, Author]:
    return {row.id: Author(account=row.account, user_id=row.user_id) for row in rows}
