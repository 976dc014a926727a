"""Browser sessions of the console. The API ignores them: it accepts only keys."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

from ..context import Records
from ..store import Row, Transaction
from .passwords import SQL, PasswordUnfit, SignInRefused, account_of

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


@dataclass(frozen=True, slots=True, kw_only=True)
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
    limits = {
        "created_after_ms": now_ms - LIFETIME_MS,
        "used_after_ms": now_ms - IDLE_MS,
        "now_ms": now_ms,
    }
    row: Row | None = records.store.read(
        lambda tx: tx.one_or_none(SQL.session_of, digest=key, **limits)
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


def confirm(records: Records, session: BrowserSession, token: str, password: str) -> None:
    """Record that the user of this session entered its password.

    A stolen cookie alone must not permit sensitive actions. Failures delay further ones.
    Raises SignInRefused, SignInTooOften, StoreUnavailable.
    """
    try:
        account_id = account_of(records, session.account_name, password, is_signed_in=True)
    except PasswordUnfit:
        raise SignInRefused from None
    if account_id != session.account_id:
        raise SignInRefused
    records.store.write(
        lambda tx: tx.run(SQL.confirm_session, digest=digest(token), now_ms=records.clock())
    )


def list_browsers(records: Records, session: BrowserSession, token: str) -> list[Browser]:
    """Return the browsers signed in to a session's account, most recently used first.

    `token` is that of this session. Raises StoreUnavailable.
    """
    now_ms, own_digest = records.clock(), digest(token)
    limits = {
        "created_after_ms": now_ms - LIFETIME_MS,
        "used_after_ms": now_ms - IDLE_MS,
        "now_ms": now_ms,
    }
    rows = records.store.read(
        lambda tx: tx.all(SQL.sessions_of, account_id=session.account_id, **limits)
    )
    return [
        Browser(
            name=row.browser,
            since_ms=row.created_ms,
            used_ms=row.used_ms,
            is_this=row.digest == own_digest,
        )
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
