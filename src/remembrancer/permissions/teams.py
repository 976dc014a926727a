"""Manage teams: create and rename them, their members and invitations. Each change is audited."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel

from ..accounts import require_write, space_user_id
from ..accounts.accounts import ensure_account, single_line
from ..accounts.idempotency import IdempotentRequest, delete_answers, write_once
from ..accounts.teams import SQL, Membership, membership_in, memberships, require_role
from ..context import Caller, Records
from ..protocol import limits
from ..protocol.errors import Conflict, NotFound
from ..protocol.teams import (
    InvitationAccept,
    InvitationCreate,
    InvitationCreated,
    InvitationList,
    InvitationRemoval,
    Team,
    TeamAudit,
    TeamAuditQuery,
    TeamChange,
    TeamCreate,
    TeamInvitation,
    TeamList,
    TeamMemberChange,
    TeamMemberRemoval,
    TeamMemberRow,
    TeamMembers,
    TeamRole,
)
from ..protocol.text import rfc3339
from ..store import Row, Transaction
from ..store.rows import read_row
from .audit import SQL as AUDIT_SQL
from .audit import add_entry, entry_of

TOKEN_PREFIX = "tmi_"  # noqa: S105 - of invitations, so that people recognise them
_HOUR_MS = 3_600_000
_AFTER_ALL = (1 << 53) - 1
AnswerT = TypeVar("AnswerT", bound=BaseModel)


class MemberUnknown(NotFound):
    """The team has no such member."""


class TeamInvitationUnknown(NotFound):
    """This invitation does not work: it was used, withdrawn, has expired, or never existed. Ask an
    owner of the team for another.
    """


class LastOwner(Conflict):
    """A team needs an owner. Make another member an owner first, or delete the team."""


class AlreadyMember(Conflict):
    """You are a member of this team already. An owner of the team can change your role."""


class TeamFull(Conflict):
    """The team has as many members, or open invitations, as a team may have."""


class TeamsFull(Conflict):
    """Your account is a member of as many teams as an account may be. Leave one first."""


def list_teams(records: Records, caller: Caller) -> TeamList:
    """Return the teams of the caller, oldest first. Raises StoreUnavailable."""
    teams = records.store.read(
        lambda tx: memberships(tx, caller, None), account_id=caller.account_id
    )
    return TeamList(teams=[_described(records, one) for one in teams])


def show_team(records: Records, caller: Caller, team: str) -> Team:
    """Return one team. Raises TeamUnknown, TeamAmbiguous, StoreUnavailable."""
    return _described(records, _membership(records, caller, team, "reader"))


def create_team(
    records: Records,
    caller: Caller,
    request: TeamCreate,
    idempotency: IdempotentRequest | None = None,
) -> Team:
    """Create a team; the caller's account, or one user of it, becomes its first owner.

    Raises KeyIsReadOnly, PinnedToOtherUser, InvalidRequest for a name of white space, TeamsFull,
    IdempotencyKeyReused, StoreUnavailable.
    """
    require_write(caller)
    user_id = _member_user(caller, request.user_id)
    name = team_name(request.name)
    team_id, member_id = records.ids("team_"), records.ids("m_")

    def write(tx: Transaction) -> Team:
        now_ms = records.clock()
        _require_room(tx, caller)
        account = ensure_account(tx, team_id, now_ms)
        tx.run(SQL.add_team, account_id=account.id, team_id=team_id, name=name, now_ms=now_ms)
        tx.run(SQL.inherit_outside_models, creator=caller.account_id, team_account=account.id)
        member = {"member_account": caller.account_id, "user_id": user_id, "member_id": member_id}
        tx.run(SQL.add_member, account_id=account.id, role="owner", now_ms=now_ms, **member)
        created = Membership(account.id, team_id, name, now_ms, "owner")
        _record(tx, caller, created, now_ms, change="create", user_id=user_id or None)
        return read_row(Team, created, members=1)

    return write_once(records, None, idempotency, Team, write)


def team_name(text: str) -> str:
    """Return the name of a team, in one line. Raises InvalidRequest."""
    return single_line(text, "The team's name", least=1, most=limits.TEAM_NAME_CHARACTERS_MAX)


def rename_team(
    records: Records,
    caller: Caller,
    team: str,
    request: TeamChange,
    idempotency: IdempotentRequest | None = None,
) -> Team:
    """Change the name of a team. For its owners.

    Raises KeyIsReadOnly, TeamUnknown, RoleTooLow, InvalidRequest, IdempotencyKeyReused,
    StoreUnavailable.
    """
    name = team_name(request.name)

    def write(tx: Transaction, own: Membership) -> Team:
        tx.run(SQL.rename_team, name=name)
        delete_answers(tx, own.team_id)
        _record(tx, caller, own, records.clock(), change="rename")
        return read_row(Team, own._replace(name=name), members=tx.one(SQL.count_members).n)

    return _changed(records, caller, team, idempotency, write, Team)


def list_members(records: Records, caller: Caller, team: str) -> TeamMembers:
    """Return the members of a team. Raises TeamUnknown, StoreUnavailable."""
    own = _membership(records, caller, team, "reader")
    return records.store.read(lambda tx: _members(tx, caller), account_id=own.team_account)


def change_member(
    records: Records,
    caller: Caller,
    team: str,
    request: TeamMemberChange,
    idempotency: IdempotentRequest | None = None,
) -> TeamMembers:
    """Change the role of a member. For owners of the team.

    Raises KeyIsReadOnly, TeamUnknown, RoleTooLow, MemberUnknown, LastOwner, IdempotencyKeyReused,
    StoreUnavailable.
    """

    def write(tx: Transaction, own: Membership) -> TeamMembers:
        member = _member(tx, request.member_id)
        if member.role == request.role:
            return _members(tx, caller)
        if request.role != "owner":
            _require_other_owner(tx, member)
        tx.run(SQL.set_role, member_id=member.member_id, role=request.role)
        _record(tx, caller, own, records.clock(), change="role", **_fields(member, request.role))
        return _members(tx, caller)

    return _changed(records, caller, team, idempotency, write, TeamMembers)


def remove_member(
    records: Records,
    caller: Caller,
    team: str,
    request: TeamMemberRemoval,
    idempotency: IdempotentRequest | None = None,
) -> TeamMembers:
    """Remove a member, who has no access from the next request on; without one, leave the team.

    Members may leave; owners may remove every member. What a member wrote stays with the team.
    Raises KeyIsReadOnly, TeamUnknown, RoleTooLow, MemberUnknown, LastOwner, IdempotencyKeyReused,
    StoreUnavailable.
    """
    member_id = request.member_id

    def write(tx: Transaction, own: Membership) -> TeamMembers:
        rows = tx.all(SQL.members)
        mine = [row for row in rows if _is_own(row, caller)]
        leaves = member_id is None or member_id in [row.member_id for row in mine]
        if not leaves:
            require_role(own.role, "owner")
        member = _own_member(mine) if member_id is None else _member(tx, member_id)
        _require_other_owner(tx, member)
        tx.run(SQL.remove_member, member_id=member.member_id)
        change = "leave" if leaves else "remove"
        _record(tx, caller, own, records.clock(), change=change, **_fields(member, member.role))
        return _members(tx, caller)

    return _changed(records, caller, team, idempotency, write, TeamMembers, needed="reader")


def list_invitations(records: Records, caller: Caller, team: str) -> InvitationList:
    """Return the open invitations of a team. For its owners.

    Raises TeamUnknown, RoleTooLow, StoreUnavailable.
    """
    own = _membership(records, caller, team, "owner")
    return records.store.read(
        lambda tx: _invitations(tx, records.clock()), account_id=own.team_account
    )


def invite_member(
    records: Records, caller: Caller, team: str, request: InvitationCreate
) -> InvitationCreated:
    """Create an invitation, which one account accepts with its token. For owners of the team.

    It accepts no Idempotency-Key: a stored answer would hold the token. Raises KeyIsReadOnly,
    TeamUnknown, RoleTooLow, TeamFull, StoreUnavailable.
    """
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    invitation_id = records.ids("i_")

    def write(tx: Transaction, own: Membership) -> InvitationCreated:
        now_ms = records.clock()
        expires_ms = now_ms + request.expires_in_hours * _HOUR_MS
        tx.run(SQL.drop_expired, now_ms=now_ms)
        if len(tx.all(SQL.invitations, now_ms=now_ms)) >= limits.TEAM_INVITATIONS_MAX:
            raise TeamFull
        tx.run(
            SQL.add_invitation,
            invitation_id=invitation_id,
            digest=token_digest(token),
            role=request.role,
            invited_by=caller.account_name,
            now_ms=now_ms,
            expires_ms=expires_ms,
        )
        details = {"invitation_id": invitation_id, "role": request.role}
        _record(tx, caller, own, now_ms, change="invite", expires_at=rfc3339(expires_ms), **details)
        return InvitationCreated(
            invitation_id=invitation_id,
            token=token,
            role=request.role,
            invited_by=caller.account_name,
            created_at=rfc3339(now_ms),
            expires_at=rfc3339(expires_ms),
        )

    return _changed(records, caller, team, None, write, InvitationCreated)


def withdraw_invitation(
    records: Records,
    caller: Caller,
    team: str,
    request: InvitationRemoval,
    idempotency: IdempotentRequest | None = None,
) -> InvitationList:
    """Withdraw an invitation. For owners of the team.

    Raises KeyIsReadOnly, TeamUnknown, RoleTooLow, TeamInvitationUnknown, IdempotencyKeyReused,
    StoreUnavailable.
    """
    invitation_id = request.invitation_id

    def write(tx: Transaction, own: Membership) -> InvitationList:
        if not tx.run(SQL.remove_invitation, invitation_id=invitation_id):
            raise TeamInvitationUnknown
        now_ms = records.clock()
        _record(tx, caller, own, now_ms, change="withdraw", invitation_id=invitation_id)
        return _invitations(tx, now_ms)

    return _changed(records, caller, team, idempotency, write, InvitationList)


def accept_invitation(
    records: Records,
    caller: Caller,
    request: InvitationAccept,
    idempotency: IdempotentRequest | None = None,
) -> Team:
    """Become a member of the team of an invitation, which works once.

    Raises KeyIsReadOnly, PinnedToOtherUser, TeamInvitationUnknown, AlreadyMember, TeamFull,
    TeamsFull, IdempotencyKeyReused, StoreUnavailable.
    """
    require_write(caller)
    user_id = _member_user(caller, request.user_id)
    digest, member_id = token_digest(request.token), records.ids("m_")

    def write(tx: Transaction) -> Team:
        now_ms = records.clock()
        row = tx.one_or_none(SQL.invitation_of, digest=digest, now_ms=now_ms)
        if row is None:
            raise TeamInvitationUnknown
        team = {"account_id": row.team_account}
        members = tx.all(SQL.members, **team)
        if any(
            (one.member_account, one.user_id) == (caller.account_id, user_id) for one in members
        ):
            raise AlreadyMember
        if len(members) >= limits.TEAM_MEMBERS_MAX:
            raise TeamFull
        _require_room(tx, caller)
        tx.run(SQL.use_invitation, digest=digest)
        member = {"member_account": caller.account_id, "user_id": user_id, "member_id": member_id}
        tx.run(SQL.add_member, role=row.role, now_ms=now_ms, **member, **team)
        joined = Membership(row.team_account, row.team_id, row.name, row.created_ms, row.role)
        details = {"invitation_id": row.invitation_id, "role": row.role}
        details |= {"member": caller.account_name, "user_id": user_id or None}
        _record(tx, caller, joined, now_ms, change="accept", **details)
        return read_row(Team, joined, members=len(members) + 1)

    return write_once(records, None, idempotency, Team, write)


def team_audit(records: Records, caller: Caller, team: str, query: TeamAuditQuery) -> TeamAudit:
    """Return a page of the audit trail about a team, newest first. For its owners.

    Raises TeamUnknown, RoleTooLow, StoreUnavailable.
    """
    own = _membership(records, caller, team, "owner")
    before = query.before or _AFTER_ALL
    rows = records.store.read(
        lambda tx: tx.all(AUDIT_SQL.entries_of_team, before=before, most=query.limit + 1),
        account_id=own.team_account,
    )
    page = rows[: query.limit]
    return TeamAudit(
        entries=[entry_of(row) for row in page],
        next=page[-1].seq if len(rows) > query.limit else None,
    )


def end_team(tx: Transaction, caller: Caller, own: Membership, now_ms: int) -> None:
    """Remove the members and invitations of a team whose memory is erased, and its name."""
    tx.run(SQL.remove_members)
    tx.run(SQL.remove_invitations)
    tx.run(SQL.bury_team, now_ms=now_ms)
    _record(tx, caller, own, now_ms, change="delete")


def token_digest(token: str) -> bytes:
    """Return the SHA-256 of an invitation's token: with 256 random bits it needs no salt."""
    return hashlib.sha256(token.strip().encode("utf-8")).digest()


def _membership(records: Records, caller: Caller, team: str, needed: TeamRole) -> Membership:
    own = records.store.read(
        lambda tx: membership_in(tx, caller, team), account_id=caller.account_id
    )
    require_role(own.role, needed)
    return own


def _changed(
    records: Records,
    caller: Caller,
    team: str,
    idempotency: IdempotentRequest | None,
    write: Callable[[Transaction, Membership], AnswerT],
    kind: type[AnswerT],
    *,
    needed: TeamRole = "owner",
) -> AnswerT:
    """Run a write in the account of a team, for members of a role; once if it is repeated.

    The membership is read again in the transaction: it may have ended meanwhile.
    """
    require_write(caller)
    own = _membership(records, caller, team, needed)
    if idempotency is not None:
        # The answer belongs to the team; the same key names another request in another team.
        path = f"{idempotency.path} {own.team_id}"
        idempotency = replace(idempotency, account_id=own.team_account, path=path)

    def run(tx: Transaction) -> AnswerT:
        current = membership_in(tx, caller, own.team_id)
        require_role(current.role, needed)
        return write(tx, current)

    return write_once(records, own.team_account, idempotency, kind, run)


def _member_user(caller: Caller, user_id: str | None) -> str:
    """Return the user_id of a new membership: '' for every user of the account."""
    if user_id is None:
        return caller.pinned_user_id or ""
    return space_user_id(caller, user_id)


def _require_room(tx: Transaction, caller: Caller) -> None:
    rows = tx.all(SQL.memberships, account_id=caller.account_id, user_id=None)
    if len(rows) >= limits.TEAMS_MAX:
        raise TeamsFull


def _described(records: Records, own: Membership) -> Team:
    members = records.store.read(
        lambda tx: tx.one(SQL.count_members).n, account_id=own.team_account
    )
    return read_row(Team, own, members=members)


def _members(tx: Transaction, caller: Caller) -> TeamMembers:
    return TeamMembers(
        members=[
            read_row(TeamMemberRow, row, user_id=row.user_id or None, is_self=_is_own(row, caller))
            for row in tx.all(SQL.members)
        ]
    )


def _is_own(row: Row, caller: Caller) -> bool:
    """Return True for a membership that the caller may use, and so may end."""
    is_users = caller.pinned_user_id in (None, row.user_id)
    return bool(row.member_account == caller.account_id and is_users)


def _member(tx: Transaction, member_id: str) -> Row:
    row = next((row for row in tx.all(SQL.members) if row.member_id == member_id), None)
    if row is None:
        raise MemberUnknown
    return row


def _own_member(own: list[Row]) -> Row:
    if not own:
        raise MemberUnknown("Only an unpinned key can end the membership of a whole account.")
    # The account itself before one of its users, which an unpinned key can name by its id.
    return min(own, key=lambda row: row.user_id)


def _require_other_owner(tx: Transaction, member: Row) -> None:
    owners = [row for row in tx.all(SQL.members) if row.role == "owner"]
    if [row.member_id for row in owners] == [member.member_id]:
        raise LastOwner


def _invitations(tx: Transaction, now_ms: int) -> InvitationList:
    return InvitationList(
        invitations=[
            read_row(TeamInvitation, row) for row in tx.all(SQL.invitations, now_ms=now_ms)
        ]
    )


def _fields(member: Row, role: str) -> dict[str, str | None]:
    return {"member": member.account, "user_id": member.user_id or None, "role": role}


def _record(tx: Transaction, caller: Caller, team: Membership, now_ms: int, **fields: Any) -> None:
    """Append an entry to the audit trail, which the team's owners can read too."""
    seq = add_entry(tx, caller, now_ms, kind="team", team_id=team.team_id, **fields)
    tx.run(AUDIT_SQL.note_team_entry, account_id=team.team_account, seq=seq)
