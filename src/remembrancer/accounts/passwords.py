"""Passwords of people: kept as argon2id, tried no faster than is good for them."""

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
FREE_FAILURES = 5  # in a row; each further one doubles the wait
_FIRST_WAIT_MS, _LONGEST_WAIT_MS = 30_000, 3_600_000
_AT_ONCE = threading.Semaphore(2)  # each takes 19 MiB and a processor for 20 ms
# OWASP's profile for argon2id: 19 MiB, 2 passes, 1 lane (docs/decisions/0012-argon2.md)
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1, type=Type.ID)


class PasswordUnfit(InvalidRequest):
    """This cannot be a password."""


class SignInRefused(Forbidden):
    """The name or the password is wrong."""


class SignInTooOften(TooManyRequests):
    """Too many sign-ins under this name failed. Wait a while, then try again."""


def hash_password(password: str) -> str:
    """What is kept of a password. Raises PasswordUnfit for one out of bounds."""
    text = _normal(password)
    if not limits.PASSWORD_CHARACTERS_MIN <= len(text) <= limits.PASSWORD_CHARACTERS_MAX:
        raise PasswordUnfit(
            f"A password has {limits.PASSWORD_CHARACTERS_MIN} to {limits.PASSWORD_CHARACTERS_MAX} characters."
        )
    with _AT_ONCE:
        return _HASHER.hash(text)


def set_password(tx: Transaction, account_id: int, hashed_password: str, now_ms: int) -> None:
    """Keep it, end every invitation of the account and sign all its browsers out:

    whoever had the old one is out.
    """
    tx.run(SQL.set_password, account_id=account_id, hash=hashed_password, now_ms=now_ms)
    tx.run(SQL.delete_invitations, account_id=account_id, now_ms=now_ms)
    tx.run(SQL.end_sessions, account_id=account_id)


def account_of(records: Records, name: str, password: str) -> int:
    """The id of the account with this name and password.

    A name that does not exist takes as long, fails in the same words and is held up in the same way
    as one that does. Raises SignInRefused; SignInTooOften after some failures, whatever the
    password; StoreUnavailable.
    """
    digest = hashlib.sha256(name.strip().encode("utf-8", "replace")).digest()

    known = records.store.write(lambda tx: _begin(tx, digest, name.strip(), records.clock()))
    if not _fits(known.hash if known else _nobodys(), password) or known is None:
        raise SignInRefused
    records.store.write(lambda tx: tx.run(SQL.delete_failures, digest=digest))
    return int(known.id)


def change_password(records: Records, name: str, old: str, new: str) -> None:
    """Set a new password for who knows the old one, and sign all browsers of the account out.

    A wrong old one counts as a failed sign-in does. Raises SignInRefused, SignInTooOften,
    PasswordUnfit, StoreUnavailable.
    """
    kept = hash_password(new)
    try:
        account_id = account_of(records, name, old)
    except PasswordUnfit:
        raise SignInRefused from None
    records.store.write(lambda tx: set_password(tx, account_id, kept, records.clock()))


def _begin(tx: Transaction, digest: bytes, name: str, now_ms: int) -> Row | None:
    """What is kept for this name.

    It counts as a failure until it worked, so that many tries at once are not free.
    """
    failed = tx.one_or_none(SQL.failures_of, digest=digest)
    wait_ms = _wait_ms(failed.failures, failed.last_ms, now_ms) if failed else 0
    if wait_ms:
        raise SignInTooOften(retry_after=-(-wait_ms // 1000))
    tx.run(SQL.delete_old_failures, before_ms=now_ms - 2 * _LONGEST_WAIT_MS)
    tx.run(SQL.note_failure, digest=digest, now_ms=now_ms)
    # no account has such a name, and PostgreSQL no such text
    return tx.one_or_none(SQL.password_of, name=name) if "\0" not in name else None


def _wait_ms(failures: int, last_ms: int, now_ms: int) -> int:
    """How long a name is still held up:

    not at all at first, then 30 s, 1 minute, 2, 4 and so on up to an hour.
    """
    if failures < FREE_FAILURES:
        return 0
    wait_ms = min(_FIRST_WAIT_MS << min(failures - FREE_FAILURES, 20), _LONGEST_WAIT_MS)
    return max(last_ms + wait_ms - now_ms, 0)


def _fits(kept: str, password: str) -> bool:
    text = _normal(password)
    if len(text) > limits.PASSWORD_CHARACTERS_MAX:
        return False
    try:
        with _AT_ONCE:
            return _HASHER.verify(kept, text)
    except (VerificationError, InvalidHashError):
        return False


@cache
def _nobodys() -> str:
    """A hash that no password has, so that a name without an account takes as long."""
    return _HASHER.hash("nobody's, and so nobody has it" + "\0")


def _normal(password: str) -> str:
    # the same letters typed on another keyboard may come composed in another way
    text = unicodedata.normalize("NFC", password)
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise PasswordUnfit("A password is text without NUL.")
    return text
