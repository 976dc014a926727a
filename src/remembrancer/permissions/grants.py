"""Grants: the owner creates and revokes them; agents check them before an action and log it after.

Grants belong to the service, not to an account: they apply to the agents of every account.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from ..accounts import require_write
from ..accounts.idempotency import IdempotentRequest, write_once
from ..context import Caller, Records
from ..protocol.errors import Conflict, NotFound
from ..protocol.permissions import (
    ACTIONS,
    ONLY_ROOT,
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
from ..protocol.service_keys import mask_service_keys, service_key_warning
from ..protocol.text import rfc3339
from ..store import Row, Transaction
from ..store.rows import read_row
from .audit import SQL, add_entry
from .owner import require_unpinned_owner

_MINUTE_MS = 60_000
_AFTER_ALL = (1 << 63) - 1
_DENIED = "No grant allows this agent to do this here now. Do not do it. Ask the owner for a grant."


class GrantUnknown(NotFound):
    """There is no such grant."""


class NotChecked(Conflict):
    """No check of this account allowed this grant, path and action. Check before each action, and
    log it as it was checked.
    """


def grant(
    records: Records,
    caller: Caller,
    request: GrantRequest,
    idempotency: IdempotentRequest | None = None,
) -> Granted:
    """Create a grant for an agent.

    Raises NotOwner, KeyIsReadOnly, OwnerKeyPinned, IdempotencyKeyReused, StoreUnavailable.
    """
    require_unpinned_owner(caller)
    grant_id = records.ids("g_")
    actions = [action for action in ACTIONS if action in request.actions]

    def write(tx: Transaction) -> Granted:
        now_ms = records.clock()
        expires_ms = now_ms + request.ttl_minutes * _MINUTE_MS
        result = Granted(
            grant_id=grant_id,
            scope=request.scope,
            actions=actions,
            agent=request.agent,
            expires_at=rfc3339(expires_ms),
            note=note(request.scope),
        )
        tx.run(
            SQL.add_grant,
            grant_id=grant_id,
            scope=request.scope,
            anchor=anchor(request.scope),
            glob=wider(request.scope),
            actions=",".join(actions),
            agent=request.agent,
            key_id=caller.key_id,
            now_ms=now_ms,
            expires_ms=expires_ms,
        )
        add_entry(
            tx,
            caller,
            now_ms,
            kind="grant",
            ttl_minutes=request.ttl_minutes,
            **result.model_dump(exclude={"note"}),
        )
        return result

    return write_once(records, caller.account_id, idempotency, Granted, write)


def check(records: Records, caller: Caller, request: PermissionCheck) -> PermissionChecked:
    """Return whether an action is allowed now, and record the decision in the audit trail first.

    It accepts no Idempotency-Key: a repeated answer would outlive the grant. Raises KeyIsReadOnly,
    StoreUnavailable.
    """
    require_write(caller)

    def decide(tx: Transaction) -> PermissionChecked:
        now_ms = records.clock()
        granted = _grant_for(tx, request, now_ms)
        result: dict[str, Any] = {"allowed": granted is not None}
        if granted:
            result |= {"grant_id": granted.grant_id, "expires_at": rfc3339(granted.expires_ms)}
        seq = add_entry(tx, caller, now_ms, kind="check", **result, **request.model_dump())
        if granted:
            which = request.model_dump(include={"action", "path", "agent"})
            tx.run(SQL.note_allowed, grant_id=granted.grant_id, seq=seq, **which)
            reason = (
                f"Grant {granted.grant_id} allows it until {result['expires_at']}. Do only this, "
                "then log it."
            )
        else:
            reason = _denial(tx, request, now_ms)
        return PermissionChecked(path=request.path, reason=reason, **result)

    return records.store.write(decide, account_id=caller.account_id)


def _denial(tx: Transaction, request: PermissionCheck, now_ms: int) -> str:
    """Return why nothing allows the action, naming a grant that almost does."""
    near = tx.one_or_none(
        SQL.near_grant,
        scopes=json.dumps(near_scopes(request.path)),
        now_ms=now_ms,
        agent=request.agent,
        action=request.action,
    )
    if near is None:
        return _DENIED
    return f"{_DENIED} Grant {near.grant_id} {near_miss(near.scope, request.path)}."


def log_action(
    records: Records,
    caller: Caller,
    action_log: ActionLog,
    idempotency: IdempotentRequest | None = None,
) -> ActionLogged:
    """Record the result of an action that a check allowed, even if the grant has ended since.

    Raises KeyIsReadOnly, NotChecked, IdempotencyKeyReused, StoreUnavailable.
    """
    require_write(caller)
    which = action_log.model_dump(include={"grant_id", "action", "path"})

    def write(tx: Transaction) -> ActionLogged:
        check_row = tx.one_or_none(SQL.allowed_check, **which)
        if check_row is None:
            raise NotChecked
        seq = add_entry(
            tx,
            caller,
            records.clock(),
            kind="log",
            agent=check_row.agent,
            check=check_row.seq,
            **action_log.model_dump(exclude={"result"}),
            result=mask_service_keys(action_log.result),
        )
        warning = service_key_warning(action_log.result)
        return ActionLogged(logged=True, seq=seq, detail=warning)

    return write_once(records, caller.account_id, idempotency, ActionLogged, write)


def revoke(
    records: Records,
    caller: Caller,
    request: GrantRevocation,
    idempotency: IdempotentRequest | None = None,
) -> GrantRevoked:
    """Revoke a grant, effective with the next check.

    Raises NotOwner, KeyIsReadOnly, OwnerKeyPinned, GrantUnknown, IdempotencyKeyReused,
    StoreUnavailable.
    """
    require_unpinned_owner(caller)

    def end(tx: Transaction) -> GrantRevoked:
        row = tx.one_or_none(SQL.revoked_of, grant_id=request.grant_id)
        if row is None:
            raise GrantUnknown
        if row.revoked_ms is None:
            now_ms = records.clock()
            tx.run(SQL.revoke_grant, grant_id=request.grant_id, now_ms=now_ms)
            add_entry(tx, caller, now_ms, kind="revoke", grant_id=request.grant_id)
        return GrantRevoked(revoked=True)

    return write_once(records, caller.account_id, idempotency, GrantRevoked, end)


def list_grants(records: Records, caller: Caller, request: GrantsQuery) -> GrantList:
    """Return a page of the valid grants, newest first.

    Raises NotOwner, KeyIsReadOnly, OwnerKeyPinned, GrantUnknown, StoreUnavailable.
    """
    require_unpinned_owner(caller)
    now_ms = records.clock()

    def read(tx: Transaction) -> list[Row]:
        before = _AFTER_ALL
        if request.before:
            place = tx.one_or_none(SQL.place_of_grant, grant_id=request.before)
            if place is None:
                raise GrantUnknown
            before = place.id
        return tx.all(SQL.live_grants, now_ms=now_ms, before=before, most=request.limit + 1)

    rows = records.store.read(read, account_id=caller.account_id)
    page = [_live_grant(row, now_ms) for row in rows[: request.limit]]
    return GrantList(grants=page, next=page[-1].grant_id if len(rows) > request.limit else None)


def _live_grant(row: Row, now_ms: int) -> LiveGrant:
    names, left_ms = row.actions.split(","), row.expires_ms - now_ms
    actions = [action for action in ACTIONS if action in names]
    return read_row(LiveGrant, row, actions=actions, seconds_left=-(-left_ms // 1000))


def _grant_for(tx: Transaction, request: PermissionCheck, now_ms: int) -> Row | None:
    """Return the longest-lasting grant that allows a request, or None."""
    filters = {"path": request.path, "action": request.action, "agent": request.agent}
    rows = tx.all(
        SQL.grants_around, anchors=json.dumps(anchors(request.path)), now_ms=now_ms, **filters
    )
    return next((row for row in rows if covers(row.scope, request.path)), None)


_WILD = frozenset("*?")
_FOLDERS = "**"


def covers(scope: str, path: str) -> bool:
    """Return True if a path is the scope's path, is below its folder, or matches its glob.

    A folder itself is not covered. `*` matches any characters and `?` one character of a name,
    including a leading dot; `**` alone between slashes matches any number of names. All other
    characters, including brackets and backslashes, stand for themselves.
    """
    if not _WILD.intersection(scope):
        if scope.endswith("/"):
            return path.startswith(scope) and path != scope
        return path == ("/" if scope == ONLY_ROOT else scope)
    pattern, names = scope.split("/")[1:], path.split("/")[1:]
    if pattern[-1] in ("", _FOLDERS):  # everything below the folder, but not the folder itself
        pattern[-1:] = ["*", _FOLDERS]
    return names != [""] and _matches(pattern, names, _FOLDERS, _matches_name)


def anchor(scope: str) -> str:
    """Return the fixed prefix of a scope, by which grants are looked up.

    It is the path itself, or a folder with its slash.
    """
    if scope == ONLY_ROOT:
        return "/"
    if not _WILD.intersection(scope):
        return scope
    fixed = min(scope.index(letter) for letter in _WILD if letter in scope)
    return scope[: scope.rindex("/", 0, fixed) + 1]


def wider(scope: str) -> str:
    """Return an SQLite GLOB pattern that matches every path of a scope, and maybe more.

    It pre-selects grants for `covers`. In GLOB `*` also matches slashes, and a bracket starts a set
    of characters.
    """
    if scope == ONLY_ROOT:
        return "/"
    folders = scope.replace("[", "[[]").split("/")[1:]
    last = folders.pop()
    parts = ["*" if name == _FOLDERS else f"{name}/" for name in folders]
    return "/" + re.sub(r"\*+", "*", "".join([*parts, "?*" if last in ("", _FOLDERS) else last]))


def reach(scope: str) -> str:
    """Describe the reach of a scope for the people who grant it."""
    pattern = scope.split("/")[1:]
    if scope == ONLY_ROOT:
        return "The root folder itself, nothing in it."
    if scope in ("/", "/**"):
        return "Everything on the machine."
    if not _WILD.intersection(scope):
        return (
            f"Everything below {scope} at any depth, but not the folder itself."
            if scope.endswith("/")
            else "This path only, nothing below it."
        )
    if pattern[-1] in ("", _FOLDERS):
        return "Everything below each folder that matches, at any depth."
    if _FOLDERS in pattern:
        return "Every path that matches; ** stands for any number of folders, including none."
    return "Every path that matches at this depth: * and ? never match a slash."


def note(scope: str) -> str:
    """Return what a scope covers and, for a single path, how to cover a folder."""
    if _WILD.intersection(scope) or scope.endswith("/") or scope == ONLY_ROOT:
        return reach(scope)
    return f"{reach(scope)} If it is a folder, grant {scope}/ to cover what is below it."


def near_scopes(path: str) -> list[str]:
    """Return the scopes without wildcards that a person may have meant to cover this path.

    Each folder above it without its slash, nearest first, and the path itself with one.
    """
    parts = path.split("/")
    return [f"{path}/", *("/".join(parts[:end]) for end in range(len(parts) - 1, 1, -1))]


def near_miss(scope: str, path: str) -> str:
    """Say why a scope of `near_scopes` does not cover the path."""
    if scope == f"{path}/":
        return f"covers what is below {scope} but not the folder itself; its scope is {path}"
    return f"covers {scope} alone and nothing below it; the scope for that is {scope}/"


def examples(scope: str) -> tuple[list[str], list[str]]:
    """Return paths that a scope covers, and similar paths that it does not."""
    if scope == ONLY_ROOT:
        return ["/"], ["/etc"]
    plain, deep = (
        re.sub("/+", "/", "/".join(_sample_name(name, folders) for name in scope.split("/")))
        for folders in ("", "deep/er")
    )
    plain, deep = plain.rstrip("/"), deep.rstrip("/")
    above, _, last = plain.rpartition("/")
    candidates = [
        plain,
        deep,
        f"{plain}/name",
        f"{above}/folder/{last}",
        f"{plain}/deep/er/name",
        f"{plain}2",
        above,
    ]
    paths = [
        path
        for path in dict.fromkeys(candidate.rstrip("/") for candidate in candidates)
        if path.startswith("/")
    ]
    return [path for path in paths if covers(scope, path)][:3], [
        path for path in paths if not covers(scope, path)
    ][:3]


def _sample_name(name: str, folders: str) -> str:
    """Return a name that matches one name of a pattern."""
    return folders if name == _FOLDERS else re.sub(r"\*+", "name", name).replace("?", "x")


def anchors(path: str) -> list[str]:
    """Return every possible anchor of a scope that covers this path."""
    return [path, *(path[: at + 1] for at, letter in enumerate(path) if letter == "/")]


def _matches_name(pattern: str, name: str) -> bool:
    if not _WILD.intersection(pattern):
        return pattern == name
    return _matches(pattern, name, "*", lambda expected, letter: expected in ("?", letter))


def _matches(
    pattern: Sequence[str], items: Sequence[str], many: str, one_matches: Callable[[str, str], bool]
) -> bool:
    """Return True if `items` match `pattern`, in which `many` matches any number of them.

    It backtracks only to the last `many`, so that the time is bounded by the product of the
    lengths.
    """
    at = place = 0
    restart: tuple[int, int] | None = None
    while place < len(items):
        if at < len(pattern) and pattern[at] == many:
            at, restart = at + 1, (at + 1, place)
        elif at < len(pattern) and one_matches(pattern[at], items[place]):
            at, place = at + 1, place + 1
        elif restart:
            restart = (restart[0], restart[1] + 1)
            at, place = restart
        else:
            return False
    return all(rest == many for rest in pattern[at:])
