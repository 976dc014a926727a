"""Passwords: stored as argon2id hashes, with a growing delay after failed sign-ins."""

from __future__ import annotations

import hashlib
import threading
import unicodedata
from functools import cache

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from ..context import Records
from ..protocol import limits
from ..protocol.errors import Forbidden, InvalidRequest, TooManyRequests
from ..store import Row, Transaction, load_queries

SQL = load_queries("remembrancer.accounts", "sign_in.sql")
FREE_FAILURES = 5  # consecutive failures without a delay; each further one doubles the delay
_FIRST_WAIT_MS, _LONGEST_WAIT_MS = 30_000, 3_600_000
_HASHING = threading.Semaphore(2)  # a hash needs 19 MiB and 20 ms of CPU
# OWASP's profile for argon2id: 19 MiB, 2 passes, 1 lane (docs/decisions/0012-argon2.md)
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1, type=Type.ID)


class PasswordUnfit(InvalidRequest):
    """This password is not valid."""


class SignInRefused(Forbidden):
    """The name or the password is wrong."""


class SignInTooOften(TooManyRequests):
    """Too many sign-ins under this name failed. Wait a while, then try again."""


def hash_password(password: str) -> str:
    """Return the hash of a password. Raises PasswordUnfit if its length is out of bounds."""
    text = _normalize(password)
    if not limits.PASSWORD_CHARACTERS_MIN <= len(text) <= limits.PASSWORD_CHARACTERS_MAX:
        raise PasswordUnfit(
            f"A password must have {limits.PASSWORD_CHARACTERS_MIN} to "
            f"{limits.PASSWORD_CHARACTERS_MAX} characters."
        )
    with _HASHING:
        return _HASHER.hash(text)


def set_password(tx: Transaction, account_id: int, hashed_password: str, now_ms: int) -> None:
    """Set a password, delete the account's invitations and sign all its browsers out.

    Whoever used the old password is signed out.
    """
    tx.run(SQL.set_password, account_id=account_id, hash=hashed_password, now_ms=now_ms)
    tx.run(SQL.delete_invitations, account_id=account_id, now_ms=now_ms)
    tx.run(SQL.end_sessions, account_id=account_id)


def account_of(records: Records, name: str, password: str, *, is_signed_in: bool = False) -> int:
    """Return the id of the account with this name and password.

    Failures of browsers that are signed in are counted apart: otherwise strangers, who need no more
    than the name, could hold up the owner.
    An unknown name takes as long, fails with the same message and is delayed in the same way as a
    known one. Raises SignInRefused, SignInTooOften (after some failures, whatever the password),
    StoreUnavailable.
    """
    digest = hashlib.sha256(name.strip().encode("utf-8", "replace")).digest()
    if is_signed_in:
        digest = hashlib.sha256(b"signed in " + digest).digest()
    row = records.store.write(lambda tx: _begin(tx, digest, name.strip(), records.clock()))
    if not _matches(row.hash if row else _dummy_hash(), password) or row is None:
        raise SignInRefused
    records.store.write(lambda tx: tx.run(SQL.delete_failures, digest=digest))
    return int(row.id)


def change_password(records: Records, name: str, old: str, new: str) -> None:
    """Set a new password after verifying the old one, and sign all browsers out.

    A wrong old password counts as a failed confirmation. Raises SignInRefused, SignInTooOften,
    PasswordUnfit, StoreUnavailable.
    """
    hashed_password = hash_password(new)
    try:
        account_id = account_of(records, name, old, is_signed_in=True)
    except PasswordUnfit:
        raise SignInRefused from None
    records.store.write(lambda tx: set_password(tx, account_id, hashed_password, records.clock()))


def _begin(tx: Transaction, digest: bytes, name: str, now_ms: int) -> Row | None:
    """Return the password row of a name, counting a failure until the sign-in succeeds.

    Counting first makes parallel attempts count, too.
    """
    failures = tx.one_or_none(SQL.failures_of, digest=digest)
    wait_ms = _wait_ms(failures.failures, failures.last_ms, now_ms) if failures else 0
    if wait_ms:
        raise SignInTooOften(retry_after=-(-wait_ms // 1000))
    tx.run(SQL.delete_old_failures, before_ms=now_ms - 2 * _LONGEST_WAIT_MS)
    tx.run(SQL.note_failure, digest=digest, now_ms=now_ms)
    # No account has a name with NUL, and PostgreSQL cannot store one.
    return tx.one_or_none(SQL.password_of, name=name) if "\0" not in name else None


def _wait_ms(failures: int, last_ms: int, now_ms: int) -> int:
    """Return how long sign-ins under a name are still delayed.

    0 at first, then 30 s, 1 minute, 2, 4 and so on up to an hour.
    """
    if failures < FREE_FAILURES:
        return 0
    wait_ms = min(_FIRST_WAIT_MS << min(failures - FREE_FAILURES, 20), _LONGEST_WAIT_MS)
    return max(last_ms + wait_ms - now_ms, 0)


def _matches(password_hash: str, password: str) -> bool:
    text = _normalize(password)
    if len(text) > limits.PASSWORD_CHARACTERS_MAX:
        return False
    try:
        with _HASHING:
            return _HASHER.verify(password_hash, text)
    except (VerificationError, InvalidHashError):
        return False


@cache
def _dummy_hash() -> str:
    """Return a hash that no password matches, so that an unknown name takes as long."""
    return _HASHER.hash("nobody's, and so nobody has it" + "\0")


def _normalize(password: str) -> str:
    # Keyboards may send the same letters composed or decomposed.
    text = unicodedata.normalize("NFC", password)
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise PasswordUnfit("A password must not contain NUL or lone surrogates.")
    return text
