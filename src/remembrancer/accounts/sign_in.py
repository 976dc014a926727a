"""Sign-in of people: passwords, invitation links and browser sessions."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import unicodedata
from dataclasses import dataclass
from functools import cache

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from ..context import Records
from ..protocol import limits
from ..protocol.errors import Forbidden, InvalidRequest, NotFound, TooManyRequests
from ..store import Row, Transaction, load_queries
from .accounts import ensure_own_account, single_line
from .keys import KeySecret

# --- Passwords: stored as argon2id hashes, with a growing delay after failed sign-ins --------

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
    account_id = _confirmed(records, name, old)
    records.store.write(lambda tx: set_password(tx, account_id, hashed_password, records.clock()))


def _confirmed(records: Records, name: str, password: str) -> int:
    """Return the account of a signed-in browser whose user entered its password again."""
    try:
        return account_of(records, name, password, is_signed_in=True)
    except PasswordUnfit:
        raise SignInRefused from None


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


# --- Browser sessions of the console. The API ignores them: it accepts only keys -------------

IDLE_MS = 12 * 3_600_000  # a session expires if it is unused for this long
LIFETIME_MS = 14 * 86_400_000  # maximum lifetime of a session
# After the password was entered, sensitive actions do not ask for it again for this long.
CONFIRMED_MS = 5 * 60_000
_USE_INTERVAL_MS = 60_000

# The first match counts: user agents also contain the names of those after them.
_BROWSERS = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    *(("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad")),
    *(("CrOS", "ChromeOS"), ("Windows", "Windows"), ("Mac OS X", "macOS"), ("Linux", "Linux")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserSession:
    """The account of a signed-in browser."""

    account_id: int
    account_name: str
    is_owner: bool
    form_token: str  # required with every form of this session
    is_confirmed: bool = False  # the password was entered recently


@dataclass(frozen=True, slots=True)
class Browser:
    """One signed-in browser; times in ms since 1970."""

    name: str
    since_ms: int
    used_ms: int  # to the minute
    is_this: bool


def sign_in(records: Records, account_id: int, browser: str = "") -> str:
    """Start a session and return the cookie's token: 256 random bits, stored as a digest only.

    Raises StoreUnavailable.
    """
    token = secrets.token_urlsafe(32)

    def begin(tx: Transaction) -> None:
        now_ms = records.clock()
        tx.run(
            SQL.end_old_sessions,
            created_before_ms=now_ms - LIFETIME_MS,
            used_before_ms=now_ms - IDLE_MS,
        )
        tx.run(SQL.add_session, digest=digest(token), account_id=account_id, now_ms=now_ms)
        tx.run(SQL.name_browser, digest=digest(token), browser=browser)

    records.store.write(begin)
    return token


def find_session(records: Records, token: str) -> BrowserSession | None:
    """Return the session of a cookie; None if it does not exist or has expired.

    Raises StoreUnavailable.
    """
    now_ms, key = records.clock(), digest(token)
    row: Row | None = records.store.read(
        lambda tx: tx.one_or_none(SQL.session_of, digest=key, **_limits(now_ms))
    )
    if row is None:
        return None
    if row.used_ms <= now_ms - _USE_INTERVAL_MS:
        records.store.write(
            lambda tx: tx.run(SQL.note_session_use, digest=key, now_ms=now_ms), flush=False
        )
    is_confirmed = row.confirmed_ms is not None and row.confirmed_ms > now_ms - CONFIRMED_MS
    return BrowserSession(
        account_id=row.id,
        account_name=row.name,
        is_owner=row.role == "owner",
        form_token=_form_token(token),
        is_confirmed=is_confirmed,
    )


def _limits(now_ms: int) -> dict[str, int]:
    """Return the times after which a session that is signed in began and was used."""
    return {
        "created_after_ms": now_ms - LIFETIME_MS,
        "used_after_ms": now_ms - IDLE_MS,
        "now_ms": now_ms,
    }


def confirm(records: Records, session: BrowserSession, token: str, password: str) -> None:
    """Record that the user of this session entered its password.

    A stolen cookie alone must not permit sensitive actions. Failures delay further ones.
    Raises SignInRefused, SignInTooOften, StoreUnavailable.
    """
    if _confirmed(records, session.account_name, password) != session.account_id:
        raise SignInRefused
    records.store.write(
        lambda tx: tx.run(SQL.confirm_session, digest=digest(token), now_ms=records.clock())
    )


def list_browsers(records: Records, session: BrowserSession, token: str) -> list[Browser]:
    """Return the browsers signed in to a session's account, most recently used first.

    `token` is that of this session. Raises StoreUnavailable.
    """
    now_ms, own_digest = records.clock(), digest(token)
    rows = records.store.read(
        lambda tx: tx.all(SQL.sessions_of, account_id=session.account_id, **_limits(now_ms))
    )
    return [
        Browser(row.browser, row.created_ms, row.used_ms, is_this=row.digest == own_digest)
        for row in rows
    ]


def browser_name(user_agent: str) -> str:
    """Return a short name for a user agent, such as `Firefox on Linux`; "" if it is unknown."""
    program = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    return f"{program} on {system}" if program and system else program or system


def is_form_of(session: BrowserSession, token: str) -> bool:
    """Return True if a form was created for this session."""
    return hmac.compare_digest(session.form_token.encode(), token.encode("utf-8", "replace"))


def sign_out(records: Records, token: str) -> None:
    """End one session. Raises StoreUnavailable."""
    records.store.write(lambda tx: tx.run(SQL.end_session, digest=digest(token)))


def sign_out_everywhere(records: Records, account_id: int) -> None:
    """End every session of an account. Raises StoreUnavailable."""
    records.store.write(lambda tx: tx.run(SQL.end_sessions, account_id=account_id))


def digest(token: str) -> bytes:
    """Return the digest under which a token is stored."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def _form_token(token: str) -> str:
    # Derived from the cookie, which other pages cannot read, so that nothing more has to be stored.
    return hashlib.sha256(f"form {token}".encode()).hexdigest()


# --- Invitation links, with which a person sets the password of an account -------------------
# For the owner at the first start, for new users, and for forgotten passwords.

_HOUR_MS = 3_600_000


class InvitationUnknown(NotFound):
    """This link does not work: it was used, has expired, or was replaced by a newer one. Ask the
    owner for another.
    """


def invite(records: Records, name: str) -> KeySecret:
    """Return the token of a new link for an account, creating the account if necessary.

    Earlier links of the account stop working. The caller must check permissions. Raises
    InvalidRequest for an invalid name, StoreUnavailable.
    """
    name, token = single_line(name, "The account's name", least=1), secrets.token_urlsafe(32)

    def store_token(tx: Transaction) -> None:
        now_ms = records.clock()
        account = ensure_own_account(tx, name, now_ms)
        tx.run(SQL.delete_invitations, account_id=account.id, now_ms=now_ms)
        expires_ms = now_ms + limits.INVITATION_HOURS * _HOUR_MS
        tx.run(
            SQL.add_invitation, digest=digest(token), account_id=account.id, expires_ms=expires_ms
        )

    records.store.write(store_token)
    return KeySecret(token)


def invitation_account(records: Records, token: str) -> str:
    """Return the name of an invitation's account. Raises InvitationUnknown, StoreUnavailable."""
    return str(records.store.read(lambda tx: _invitation(tx, token, records.clock())).name)


def accept(records: Records, token: str, password: str) -> int:
    """Set the password, delete the link and sign all browsers of the account out.

    Returns the account's id. Raises InvitationUnknown, PasswordUnfit (the link then still works),
    StoreUnavailable.
    """
    invitation_account(records, token)  # check first: hashing is expensive
    hashed_password = hash_password(password)

    def use(tx: Transaction) -> int:
        now_ms = records.clock()
        account = _invitation(tx, token, now_ms)
        set_password(tx, account.id, hashed_password, now_ms)
        return int(account.id)

    return records.store.write(use)


def _invitation(tx: Transaction, token: str, now_ms: int) -> Row:
    row = tx.one_or_none(SQL.invitation_of, digest=digest(token), now_ms=now_ms)
    if row is None:
        raise InvitationUnknown
    return row
