"""API keys: made, listed, revoked, and recognised when they come back.

A key is `sk_`, 56 random hex digits, and the CRC32 of all that as 8 more: a slip of the hand is
refused without a look-up, and a scanner of leaked text can tell a real one. Only its SHA-256 is
kept; with 224 random bits it needs no salt.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, NamedTuple, NoReturn

from ..context import Caller, Records
from ..protocol import limits
from ..protocol.errors import Forbidden, InvalidRequest, Unauthorized
from ..store import StoreUnavailable, Transaction
from .accounts import SQL, ensure_account, single_line
from .durations import DURATION_MS_MAX

PREFIX = "sk_"
HINT_CHARACTERS = 8  # hex digits that stay visible, for people to tell keys apart
USE_NOTED_EVERY_MS = 60_000
_KEY = re.compile(rf"{PREFIX}[0-9a-f]{{64}}")
_CHECK_CHARACTERS = 8
_NO_DIGEST = bytes(32)  # compared with when there is no such key, so that the work is the same

Reason = Literal["malformed", "unknown", "revoked", "expired"]


class KeyRefused(Unauthorized):
    """This key is not good: it is mistyped, unknown, or no longer in force. Check it, or ask for a
    new one.
    """

    def __init__(self, reason: Reason) -> None:
        """`reason` is for the log alone: who tries keys must not learn which of them exist."""
        super().__init__(
            "This key has expired. Ask for a new one." if reason == "expired" else None
        )
        self.reason = reason


class KeySecret:
    """A text that shows itself only when asked to:

    neither `repr`, formatting nor pickling gives it away.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not to be copied or kept")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key just made: the only time that `key` can be had."""

    id: int
    key: KeySecret
    hint: str
    account: str
    is_owner: bool
    expires_ms: int | None


class Key(NamedTuple):
    """What is known of a key, times in ms since 1970; the key itself is not."""

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

    def state(self, now_ms: int) -> Literal["good", "revoked", "expired"]:
        """Whether it is accepted at this moment, else why not."""
        if self.revoked_ms is not None:
            return "revoked"
        return "expired" if _is_over(self.expires_ms, now_ms) else "good"


def mint() -> str:
    """A new key; 224 random bits."""
    body = PREFIX + secrets.token_hex(28)
    return body + _check(body)


def is_well_formed(text: str) -> bool:
    """Whether this can be a key at all: its shape and its checksum. Looks nothing up."""
    return _KEY.fullmatch(text) is not None and text[-_CHECK_CHARACTERS:] == _check(
        text[:-_CHECK_CHARACTERS]
    )


def create(
    records: Records,
    *,
    account: str,
    label: str = "",
    user_id: str | None = None,
    read_only: bool = False,
    expires_in_ms: int | None = None,
) -> NewKey:
    """Make a key, and its account when there is none of that name; the first account of all is the
    owner.

    `user_id` pins the key to one user_id. Raises InvalidRequest for a name, label, user_id or
    expiry out of bounds.
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
    known = {
        "digest": _digest(key),
        "hint": hint,
        "label": label,
        "user_id": user_id,
        "read_only": int(read_only),
    }

    def keep(tx: Transaction) -> tuple[int, bool]:
        owner = ensure_account(tx, account, now_ms)
        row = tx.one(
            SQL.add_key, account_id=owner.id, now_ms=now_ms, expires_ms=expires_ms, **known
        )
        return row.id, owner.role == "owner"

    key_id, is_owner = records.store.write(keep)
    return NewKey(
        id=key_id,
        key=KeySecret(key),
        hint=hint,
        account=account,
        is_owner=is_owner,
        expires_ms=expires_ms,
    )


def list_keys(records: Records, account: str | None = None) -> list[Key]:
    """Every key, revoked and expired ones too, oldest first; of one account when it is named."""
    rows = records.store.read(lambda tx: tx.all(SQL.keys, account=account))
    return [Key(*row)._replace(read_only=bool(row.read_only)) for row in rows]


def revoke(records: Records, key_id: int) -> bool:
    """Refuse a key from the next request on, in every process.

    False when there is no such key or it is revoked already.
    """
    now_ms = records.clock()
    return records.store.write(lambda tx: tx.run(SQL.revoke_key, key_id=key_id, now_ms=now_ms)) == 1


def revoke_own(records: Records, caller: Caller, key_id: int) -> bool:
    """The same of a key of the caller's account; False for one of another, as for one that does not
    exist.
    """
    whose = {"account_id": caller.account_id, "key_id": key_id, "now_ms": records.clock()}
    return records.store.write(lambda tx: tx.run(SQL.revoke_own_key, **whose)) == 1


def rename_own(records: Records, caller: Caller, key_id: int, label: str) -> bool:
    """Give a key of the caller's account another label; False for one of another account.

    Raises InvalidRequest for one out of bounds.
    """
    whose = {
        "account_id": caller.account_id,
        "key_id": key_id,
        "label": single_line(label, "The label"),
    }
    return records.store.write(lambda tx: tx.run(SQL.relabel_own_key, **whose)) == 1


def authenticate(records: Records, text: str) -> Caller:
    """Whose key this is, looked up anew each time: what another process revoked is refused at once.

    Raises KeyRefused, and StoreUnavailable.
    """
    if not is_well_formed(text):
        raise KeyRefused("malformed")
    digest, now_ms = _digest(text), records.clock()
    row = records.store.read(lambda tx: tx.one_or_none(SQL.key_of_digest, digest=digest))
    is_same = hmac.compare_digest(row.digest if row else _NO_DIGEST, digest)
    if row is None or not is_same or row.revoked_ms is not None:
        raise KeyRefused("revoked" if row else "unknown")
    if _is_over(row.expires_ms, now_ms):
        raise KeyRefused("expired")
    if row.last_used_ms is None or row.last_used_ms <= now_ms - USE_NOTED_EVERY_MS:
        _note_use(records, row.id, now_ms)
    return Caller(
        account_id=row.account_id,
        account_name=row.account,
        is_owner=row.role == "owner",
        key_id=row.id,
        pinned_user_id=row.user_id,
        read_only=bool(row.read_only),
    )


def _note_use(records: Records, key_id: int, now_ms: int) -> None:
    noted_before_ms = now_ms - USE_NOTED_EVERY_MS
    with suppress(StoreUnavailable):  # a full disk must not lock out those who only read
        # not flushed: no request waits for the disk so that people see when a key was last used
        records.store.write(
            lambda tx: tx.run(
                SQL.note_use, key_id=key_id, now_ms=now_ms, noted_before_ms=noted_before_ms
            ),
            flush=False,
        )


def _is_over(expires_ms: int | None, now_ms: int) -> bool:
    return expires_ms is not None and now_ms >= expires_ms


def _check(body: str) -> str:
    return f"{zlib.crc32(body.encode('ascii')):08x}"


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("ascii")).digest()


class PinnedToOtherUser(Forbidden):
    """This key is for one user_id only, and that is another one. Leave user_id out, or use another
    key.
    """


class KeyIsReadOnly(Forbidden):
    """This key may only read. Use another key to write."""


class NotOwner(Forbidden):
    """Only the owner may do this."""


def default_user_id(caller: Caller) -> str:
    """Whose memory is meant where a request names none:

    the key's pin, else the account's own name.
    """
    return caller.account_name if caller.pinned_user_id is None else caller.pinned_user_id


def space_user_id(caller: Caller, asked: str | None) -> str:
    """Whose memory a request is about. Raises Pinned when a pinned key asks for another one's."""
    if asked is None:
        return default_user_id(caller)
    if caller.pinned_user_id not in (None, asked):
        raise PinnedToOtherUser
    return asked


def require_write(caller: Caller) -> None:
    """Raises ReadOnly when the key may not."""
    if caller.read_only:
        raise KeyIsReadOnly


def require_owner(caller: Caller) -> None:
    """Raises NotOwner when the key is of another account than an owner's."""
    if not caller.is_owner:
        raise NotOwner
