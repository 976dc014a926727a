"""Grants: the owner gives and revokes them, agents ask whether one allows what they are about to
do, and log what they did.

Grants are the service's, not an account's: whichever account an agent's key belongs to, its check
is answered by all of them.
"""

from __future__ import annotations

import json

from ..accounts import require_write
from ..accounts.idempotency import IdempotentRequest, idempotent
from ..context import Caller, Records
from ..protocol.errors import Conflict, NotFound
from ..protocol.permissions import (
    ACTIONS,
    Action,
    ActionLog,
    ActionLogged,
    Granted,
    GrantList,
    GrantRequest,
    GrantRevocation,
    GrantRevoked,
    GrantsQuery,
    LiveGrant,
    PermissionCheck,
    PermissionChecked,
)
from ..protocol.text import rfc3339
from ..store import Row, Transaction
from .audit import SQL, add_entry
from .owner import require_unpinned_owner
from .rules import Grant, allows, anchor, anchors, wider

_MINUTE_MS = 60_000
_AFTER_ALL = (1 << 63) - 1
_DENIED = "No grant allows this agent to do this here now. Do not do it; ask the owner for a grant."


class GrantUnknown(NotFound):
    """There is no such grant."""


class NotChecked(Conflict):
    """No check of this account allowed this grant, path and action. Check before each action, and
    log it as it was checked.
    """


def grant(
    records: Records, caller: Caller, asked: GrantRequest, given: IdempotentRequest | None = None
) -> Granted:
    """Allow an agent something, for a while.

    Raises NotOwner, ReadOnly, KeyPinned, Conflict as `once`, StoreUnavailable.
    """
    require_unpinned_owner(caller)
    grant_id = records.ids("g_")
    actions = [action for action in ACTIONS if action in asked.actions]

    def keep(tx: Transaction) -> str:
        now_ms = records.clock()
        expires_ms = now_ms + asked.ttl_minutes * _MINUTE_MS
        made = Granted(
            grant_id=grant_id,
            scope=asked.scope,
            actions=actions,
            agent=asked.agent,
            expires_at=rfc3339(expires_ms),
        )
        tx.run(
            SQL.add_grant,
            grant_id=grant_id,
            scope=asked.scope,
            anchor=anchor(asked.scope),
            glob=wider(asked.scope),
            actions=",".join(actions),
            agent=asked.agent,
            key_id=caller.key_id,
            now_ms=now_ms,
            expires_ms=expires_ms,
        )
        add_entry(
            tx, caller, now_ms, kind="grant", ttl_minutes=asked.ttl_minutes, **made.model_dump()
        )
        return made.model_dump_json()

    return Granted.model_validate_json(
        records.store.write(
            lambda tx: idempotent(tx, given, records.clock(), lambda: keep(tx)),
            account_id=caller.account_id,
        )
    )


def check(records: Records, caller: Caller, asked: PermissionCheck) -> PermissionChecked:
    """Whether this may be done now. The answer is in the audit trail, durably, before it is given.

    It takes no Idempotency-Key: an answer given again would outlive the grant. Raises ReadOnly,
    StoreUnavailable.
    """
    require_write(caller)

    def judge(tx: Transaction) -> PermissionChecked:
        now_ms = records.clock()
        by = _grant_for(tx, asked, now_ms)
        expires_at = rfc3339(by.expires_ms) if by else None
        seq = add_entry(
            tx,
            caller,
            now_ms,
            kind="check",
            allowed=by is not None,
            grant_id=by and by.grant_id,
            expires_at=expires_at,
            **asked.model_dump(),
        )
        if by is None:
            return PermissionChecked(allowed=False, path=asked.path, reason=_DENIED)
        which = {
            "grant_id": by.grant_id,
            "account_id": caller.account_id,
            "action": asked.action,
            "path": asked.path,
        }
        tx.run(SQL.note_allowed, **which, agent=asked.agent, seq=seq)
        reason = f"Grant {by.grant_id} allows it until {expires_at}. Do only this, then log it."
        return PermissionChecked(
            allowed=True,
            grant_id=by.grant_id,
            expires_at=expires_at,
            path=asked.path,
            reason=reason,
        )

    return records.store.write(judge, account_id=caller.account_id)


def log_action(
    records: Records, caller: Caller, done: ActionLog, given: IdempotentRequest | None = None
) -> ActionLogged:
    """Keep what came of an action that a check allowed, whether the grant is over by now or not.

    Raises ReadOnly, NotChecked, Conflict as `once`, StoreUnavailable.
    """
    require_write(caller)
    which = {
        "grant_id": done.grant_id,
        "account_id": caller.account_id,
        "action": done.action,
        "path": done.path,
    }

    def keep(tx: Transaction) -> str:
        checked = tx.one_or_none(SQL.allowed_check, **which)
        if checked is None:
            raise NotChecked
        seq = add_entry(
            tx,
            caller,
            records.clock(),
            kind="log",
            agent=checked.agent,
            check=checked.seq,
            **done.model_dump(),
        )
        return ActionLogged(logged=True, seq=seq).model_dump_json()

    return ActionLogged.model_validate_json(
        records.store.write(
            lambda tx: idempotent(tx, given, records.clock(), lambda: keep(tx)),
            account_id=caller.account_id,
        )
    )


def revoke(
    records: Records, caller: Caller, asked: GrantRevocation, given: IdempotentRequest | None = None
) -> GrantRevoked:
    """End a grant, from the next check on.

    Raises NotOwner, ReadOnly, KeyPinned, GrantUnknown, Conflict as `once`, StoreUnavailable.
    """
    require_unpinned_owner(caller)

    def end(tx: Transaction) -> str:
        known = tx.one_or_none(SQL.revoked_of, grant_id=asked.grant_id)
        if known is None:
            raise GrantUnknown
        if known.revoked_ms is None:
            now_ms = records.clock()
            tx.run(SQL.revoke_grant, grant_id=asked.grant_id, now_ms=now_ms)
            add_entry(tx, caller, now_ms, kind="revoke", grant_id=asked.grant_id)
        return GrantRevoked(revoked=True).model_dump_json()

    return GrantRevoked.model_validate_json(
        records.store.write(
            lambda tx: idempotent(tx, given, records.clock(), lambda: end(tx)),
            account_id=caller.account_id,
        )
    )


def list_grants(records: Records, caller: Caller, asked: GrantsQuery) -> GrantList:
    """A page of the grants in force, newest first.

    Raises NotOwner, ReadOnly, KeyPinned, GrantUnknown, StoreUnavailable.
    """
    require_unpinned_owner(caller)
    now_ms = records.clock()

    def read(tx: Transaction) -> list[Row]:
        before = tx.one_or_none(SQL.place_of_grant, grant_id=asked.before) if asked.before else None
        if asked.before and before is None:
            raise GrantUnknown
        return tx.all(
            SQL.live_grants,
            now_ms=now_ms,
            before=before.id if before else _AFTER_ALL,
            most=asked.limit + 1,
        )

    rows = records.store.read(read, account_id=caller.account_id)
    page = [_live(row, now_ms) for row in rows[: asked.limit]]
    return GrantList(grants=page, next=page[-1].grant_id if len(rows) > asked.limit else None)


def _live(row: Row, now_ms: int) -> LiveGrant:
    return LiveGrant(
        grant_id=row.grant_id,
        scope=row.scope,
        actions=_actions(row),
        agent=row.agent,
        key_id=row.key_id,
        granted_at=rfc3339(row.granted_ms),
        expires_at=rfc3339(row.expires_ms),
        seconds_left=-(-(row.expires_ms - now_ms) // 1000),
    )


def _actions(row: Row) -> list[Action]:
    given = row.actions.split(",")
    return [action for action in ACTIONS if action in given]


def _grant_for(tx: Transaction, asked: PermissionCheck, now_ms: int) -> Row | None:
    """Of the grants that allow it, the one that lasts longest."""
    named = {"path": asked.path, "action": asked.action, "agent": asked.agent}
    rows = tx.all(
        SQL.grants_around, anchors=json.dumps(anchors(asked.path)), now_ms=now_ms, **named
    )
    return next((row for row in rows if _allows(row, asked, now_ms)), None)


def _allows(row: Row, asked: PermissionCheck, now_ms: int) -> bool:
    found = Grant(
        scope=row.scope,
        actions=frozenset(_actions(row)),
        agent=row.agent,
        expires_ms=row.expires_ms,
    )
    return allows(found, path=asked.path, action=asked.action, agent=asked.agent, now_ms=now_ms)
