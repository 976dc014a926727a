"""API keys: create, list, revoke and authenticate them, and tell which user a request is about.

A key is `sk_`, 56 random hex digits, and their CRC32 as 8 more digits: typos are rejected without a
look-up, and scanners of leaked text can recognize real keys. Only the SHA-256 is stored; with 224
random bits it needs no salt.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, NamedTuple, NoReturn

from ..context import Caller, Records
from ..protocol import limits
from ..protocol.errors import Forbidden, InvalidRequest, Unauthorized
from ..protocol.message import DEFAULT_SESSION
from ..protocol.service_keys import PREFIX, checksum, is_service_key
from ..protocol.text import DAY_MS
from ..store import Row, StoreUnavailable, Transaction
from .accounts import NO_KEY, SQL, ensure_own_account, single_line
from .durations import DURATION_MS_MAX

HINT_CHARACTERS = 8  # hex digits that stay visible, to tell keys apart
USE_INTERVAL_MS = 60_000
_NO_DIGEST = bytes(32)  # compared with for unknown keys, so that they take the same time

Reason = Literal["malformed", "unknown", "revoked", "expired"]


class KeyRefused(Unauthorized):
    """This key is not valid: it is mistyped, unknown, revoked or expired. Check it, or ask for a
    new one.
    """

    def __init__(self, reason: Reason) -> None:
        """Keep `reason` for the log only: callers must not learn which keys exist."""
        super().__init__(
            "This key has expired. Ask for a new one." if reason == "expired" else None
        )
        self.reason = reason


class KeySecret:
    """A text that `repr`, formatting and pickling do not reveal."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret must not be pickled or copied")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A new key. `key` is available only here."""

    id: int
    key: KeySecret
    hint: str
    account: str
    is_owner: bool
    expires_ms: int | None


class Key(NamedTuple):
    """The properties of a key, times in ms since 1970; the key itself is not stored."""

    id: int
    account: str
    hint: str  # the first hex digits
    label: str
    user_id: str | None  # the one user_id it is pinned to
    read_only: bool
    created_ms: int
    expires_ms: int | None
    revoked_ms: int | None
    last_used_ms: int | None  # to the minute
    has_protocol: bool = True  # False: each request is a pure read or write

    def state(self, now_ms: int) -> Literal["good", "revoked", "expired"]:
        """Return whether the key is accepted at this moment, else why not."""
        if self.revoked_ms is not None:
            return "revoked"
        has_expired = self.expires_ms is not None and now_ms >= self.expires_ms
        return "expired" if has_expired else "good"


def mint() -> str:
    """Return a new random key."""
    body = PREFIX + secrets.token_hex(28)
    return body + checksum(body)


def create(
    records: Records,
    *,
    account: str,
    label: str = "",
    user_id: str | None = None,
    read_only: bool = False,
    has_protocol: bool = True,
    expires_in_ms: int | None = None,
) -> NewKey:
    """Create a key, and its account if there is none with this name; the first account is the
    owner.

    `user_id` pins the key to one user_id. Without the protocol, every request with the key is a
    pure read or write: it counts no step and owes nothing. Raises InvalidRequest for an invalid
    name, label, user_id or expiry.
    """
    account = single_line(account, "The account's name", least=1)
    label = single_line(label, "The label")
    if (
        user_id is not None
        and single_line(user_id, "user_id", least=1, most=limits.ID_CHARACTERS_MAX) != user_id
    ):
        raise InvalidRequest("user_id must not begin or end with white space")
    if expires_in_ms is not None and not 0 < expires_in_ms <= DURATION_MS_MAX:
        raise InvalidRequest("The expiry must be 1 ms to 100 years from now")
    key, now_ms = mint(), records.clock()
    expires_ms = None if expires_in_ms is None else now_ms + expires_in_ms
    hint = key[len(PREFIX) : len(PREFIX) + HINT_CHARACTERS]
    properties = {
        "digest": _digest(key),
        "hint": hint,
        "label": label,
        "user_id": user_id,
        "read_only": int(read_only),
        "protocol": int(has_protocol),
    }

    def store(tx: Transaction) -> tuple[int, bool]:
        owner = ensure_own_account(tx, account, now_ms)
        row = tx.one(
            SQL.add_key, account_id=owner.id, now_ms=now_ms, expires_ms=expires_ms, **properties
        )
        return row.id, owner.role == "owner"

    key_id, is_owner = records.store.write(store)
    return NewKey(
        id=key_id,
        key=KeySecret(key),
        hint=hint,
        account=account,
        is_owner=is_owner,
        expires_ms=expires_ms,
    )


def list_keys(records: Records, account: str | None = None) -> list[Key]:
    """Return every key, oldest first, including revoked and expired ones.

    `account` restricts them to the account with this name.
    """
    rows = records.store.read(lambda tx: tx.all(SQL.keys, account=account))
    return [
        Key(*row)._replace(read_only=bool(row.read_only), has_protocol=bool(row.protocol))
        for row in rows
    ]


def revoke(records: Records, key_id: int) -> bool:
    """Revoke a key, effective with the next request in every process.

    Returns False if there is no such key or it is revoked already.
    """
    now_ms = records.clock()
    return records.store.write(lambda tx: tx.run(SQL.revoke_key, key_id=key_id, now_ms=now_ms)) == 1


def revoke_own(records: Records, caller: Caller, key_id: int) -> bool:
    """Revoke a key of the caller's account; return False if the account has no such key."""
    values = {"account_id": caller.account_id, "key_id": key_id, "now_ms": records.clock()}
    return records.store.write(lambda tx: tx.run(SQL.revoke_own_key, **values)) == 1


def rename_own(records: Records, caller: Caller, key_id: int, label: str) -> bool:
    """Change the label of a key of the caller's account; return False if it has no such key.

    Raises InvalidRequest for an invalid label.
    """
    label = single_line(label, "The label")
    values = {"account_id": caller.account_id, "key_id": key_id, "label": label}
    return records.store.write(lambda tx: tx.run(SQL.relabel_own_key, **values)) == 1


def authenticate(records: Records, text: str) -> Caller:
    """Return the caller of a key, which is always looked up: revoking takes effect at once.

    Raises KeyRefused, StoreUnavailable.
    """
    if not is_service_key(text):
        raise KeyRefused("malformed")
    digest, now_ms = _digest(text), records.clock()
    row = records.store.look_up(SQL.key_of_digest, digest=digest)
    is_same = hmac.compare_digest(row.digest if row else _NO_DIGEST, digest)
    if row is None or not is_same or row.revoked_ms is not None:
        raise KeyRefused("revoked" if row else "unknown")
    if row.expires_ms is not None and now_ms >= row.expires_ms:
        raise KeyRefused("expired")
    if row.last_used_ms is None or row.last_used_ms <= now_ms - USE_INTERVAL_MS:
        _note_use(records, row.id, now_ms)
    return Caller(
        account_id=row.account_id,
        account_name=row.account,
        is_owner=row.role == "owner",
        key_id=row.id,
        pinned_user_id=row.user_id,
        read_only=bool(row.read_only),
        has_protocol=bool(row.protocol),
        key_expires_ms=row.expires_ms,
    )


def _note_use(records: Records, key_id: int, now_ms: int) -> None:
    before_ms = now_ms - USE_INTERVAL_MS
    with suppress(StoreUnavailable):  # a full disk must not block reading
        # Not flushed: the time of the last use is not worth waiting for the disk.
        records.store.write(
            lambda tx: tx.run(
                SQL.note_use, key_id=key_id, now_ms=now_ms, noted_before_ms=before_ms
            ),
            flush=False,
        )


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("ascii")).digest()


class PinnedToOtherUser(Forbidden):
    """This key is pinned to another user_id. Leave user_id out, or use another key."""


class KeyIsReadOnly(Forbidden):
    """This key may only read. Use another key to write."""


class NotOwner(Forbidden):
    """Only the owner may do this."""


def default_user_id(caller: Caller) -> str:
    """Return the user_id of requests that name none: the key's pin, else the account's name."""
    return caller.account_name if caller.pinned_user_id is None else caller.pinned_user_id


def space_user_id(caller: Caller, user_id: str | None) -> str:
    """Return the user_id of a request. Raises PinnedToOtherUser for another than the key's pin."""
    if user_id is None:
        return default_user_id(caller)
    if caller.pinned_user_id not in (None, user_id):
        raise PinnedToOtherUser
    return user_id


def require_write(caller: Caller) -> None:
    """Raise KeyIsReadOnly if the key may only read."""
    if caller.read_only:
        raise KeyIsReadOnly


def require_owner(caller: Caller) -> None:
    """Raise NotOwner unless the key belongs to an owner's account."""
    if not caller.is_owner:
        raise NotOwner


def session_user(
    tx: Transaction, caller: Caller, user_id: str | None, session_id: str | None
) -> tuple[str, Row | None]:
    """Return the user_id of a request of a session, the default one for None; and the row of the
    session's users, if it was chosen from two of them.

    The user_id is the one that the request names, else the key's pin, else the one that the key
    last named with the session, else the account's name. Raises PinnedToOtherUser.
    """
    if user_id is not None or caller.pinned_user_id is not None:
        return space_user_id(caller, user_id), None
    row = _row(tx, caller, session_id)
    if row is None:
        return default_user_id(caller), None
    return str(row.user_id), None if row.other_user_id is None else row


def session_user_id(
    tx: Transaction, caller: Caller, user_id: str | None, session_id: str | None
) -> str:
    """Return the user_id of a request of a session, as `session_user`."""
    return session_user(tx, caller, user_id, session_id)[0]


def user_of_session(
    records: Records, caller: Caller, user_id: str | None, session_id: str | None = None
) -> str:
    """Return the user_id of a request of a session, as `session_user`, in a read of its own."""
    return records.store.read(
        lambda tx: session_user_id(tx, caller, user_id, session_id), account_id=caller.account_id
    )


def records_user(caller: Caller) -> bool:
    """Return True if the caller's requests record their user.

    Browsers name the user in every request and pinned keys have one user: nothing is recorded for
    them.
    """
    return caller.pinned_user_id is None and caller.key_id != NO_KEY


def is_user_of_session(
    tx: Transaction, caller: Caller, user_id: str, session_id: str | None
) -> bool:
    """Return True if `name_session_user` has nothing to change."""
    if not records_user(caller):
        return True
    row = _row(tx, caller, session_id)
    return row is not None and row.user_id == user_id


def name_session_user(
    tx: Transaction, caller: Caller, user_id: str, session_id: str | None, now_ms: int
) -> Callable[[], str | None]:
    """Record that a request names this user_id with a session, if it is to be recorded.

    `session_id` None: the default session, whose users may share it without a reminder. Returns a
    function that returns a reminder if the key named another one with it within a day, else None.
    Call it after other statements: it waits for this one (Transaction.later).
    """
    if not records_user(caller):
        return lambda: None
    rows = tx.later(
        SQL.name_user,
        key_id=caller.key_id,
        session_id=session_id or DEFAULT_SESSION,
        user_id=user_id,
        now_ms=now_ms,
    )
    if session_id is None:
        return lambda: None
    return lambda: user_reminder(rows()[0], user_id, session_id, now_ms)


def note_session_user(records: Records, caller: Caller, user_id: str) -> None:
    """Record that a read names this user_id, and no session, unless it is recorded."""
    account = {"account_id": caller.account_id}
    if not records.store.read(lambda tx: is_user_of_session(tx, caller, user_id, None), **account):
        records.store.write(
            lambda tx: name_session_user(tx, caller, user_id, None, records.clock()),
            flush=False,
            **account,
        )


def user_reminder(row: Row, user_id: str, session_id: str, now_ms: int) -> str | None:
    """Return a reminder if a key named another user_id with a session within a day; else None.

    `row` has the other user_id of the session and its time, as returned by `name_user`.
    """
    if row.other_user_id in (None, user_id) or now_ms - row.other_ms >= DAY_MS:
        return None
    return (
        f"This key used session_id {session_id!r} for two users within a day: "
        f"{row.other_user_id!r} and {user_id!r}. Requests of this session without a user_id now "
        f"use {user_id!r}. Send a session_id of its own for each user; without one it is "
        f"{DEFAULT_SESSION!r}."
    )


def forget_session_users(
    tx: Transaction, user_id: str | None = None, session_id: str | None = None
) -> None:
    """Delete which keys named a user, or all users of the account, with a session or with any."""
    tx.run(SQL.delete_users, user_id=user_id, session_id=session_id)


def _row(tx: Transaction, caller: Caller, session_id: str | None) -> Row | None:
    session_id = session_id or DEFAULT_SESSION
    return tx.one_or_none(SQL.user_of, key_id=caller.key_id, session_id=session_id)
