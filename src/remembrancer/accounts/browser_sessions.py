"""Browsers that are signed in. The API knows nothing of them: it takes keys alone."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

from ..context import Records
from ..store import Row, Transaction
from .passwords import SQL, PasswordUnfit, SignInRefused, account_of

IDLE_MS = 12 * 3_600_000  # unused for so long, a session ends
LASTS_MS = 14 * 86_400_000  # and after so long in any case
# after the password was typed, what needs it is done without asking again
CONFIRMED_MS = 5 * 60_000
_NOTED_EVERY_MS = 60_000

# The first that fits: each names those before it, for old sites' sake.
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
    """Whose browser asks."""

    account_id: int
    account_name: str
    is_owner: bool
    form_token: str  # must come with every form of this session
    is_confirmed: bool = False  # the password was typed in it lately


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """One browser that is signed in; times in ms since 1970."""

    name: str
    since_ms: int
    used_ms: int  # to the minute
    is_this: bool


def sign_in(records: Records, account_id: int, browser: str = "") -> str:
    """Begin a session; gives what the cookie holds:

    256 random bits, of which only a digest is kept. Raises StoreUnavailable.
    """
    token = secrets.token_urlsafe(32)

    def begin(tx: Transaction) -> None:
        now_ms = records.clock()
        tx.run(
            SQL.end_old_sessions,
            created_before_ms=now_ms - LASTS_MS,
            used_before_ms=now_ms - IDLE_MS,
        )
        tx.run(SQL.add_session, digest=digest(token), account_id=account_id, now_ms=now_ms)
        tx.run(SQL.name_browser, digest=digest(token), browser=browser)

    records.store.write(begin)
    return token


def find_session(records: Records, token: str) -> BrowserSession | None:
    """Whose session a cookie is of; None when it is of none, or of one that has ended.

    Raises StoreUnavailable.
    """
    now_ms, key = records.clock(), digest(token)
    ends = {"created_after_ms": now_ms - LASTS_MS, "used_after_ms": now_ms - IDLE_MS}
    row: Row | None = records.store.read(
        lambda tx: tx.one_or_none(SQL.session_of, digest=key, **ends)
    )
    if row is None:
        return None
    if row.used_ms <= now_ms - _NOTED_EVERY_MS:
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
    """Note that who uses this session knows its password: a cookie that was taken is not enough for
    what needs it.

    Failures are counted as those of signing in are. Raises SignInRefused, SignInTooOften,
    StoreUnavailable.
    """
    try:
        known = account_of(records, session.account_name, password)
    except PasswordUnfit:
        raise SignInRefused from None
    if known != session.account_id:
        raise SignInRefused
    records.store.write(
        lambda tx: tx.run(SQL.confirm_session, digest=digest(token), now_ms=records.clock())
    )


def list_browsers(records: Records, session: BrowserSession, token: str) -> list[Browser]:
    """Those that are signed in to the account of a session, the latest used first; `token` is that
    of this one. Raises StoreUnavailable.
    """
    now_ms, this = records.clock(), digest(token)
    ends = {"created_after_ms": now_ms - LASTS_MS, "used_after_ms": now_ms - IDLE_MS}
    rows = records.store.read(
        lambda tx: tx.all(SQL.sessions_of, account_id=session.account_id, **ends)
    )
    return [
        Browser(
            name=row.browser,
            since_ms=row.created_ms,
            used_ms=row.used_ms,
            is_this=row.digest == this,
        )
        for row in rows
    ]


def browser_name(user_agent: str) -> str:
    """What people would call a browser that says this of itself:

    `Firefox on Linux`; empty where nothing is known of it.
    """
    program = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    return f"{program} on {system}" if program and system else program or system


def is_form_of(session: BrowserSession, token: str) -> bool:
    """Whether a form was made for this session."""
    return hmac.compare_digest(session.form_token.encode(), token.encode("utf-8", "replace"))


def sign_out(records: Records, token: str) -> None:
    """End one session. Raises StoreUnavailable."""
    records.store.write(lambda tx: tx.run(SQL.end_session, digest=digest(token)))


def sign_out_everywhere(records: Records, account_id: int) -> None:
    """End every session of an account. Raises StoreUnavailable."""
    records.store.write(lambda tx: tx.run(SQL.end_sessions, account_id=account_id))


def digest(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def _form_token(token: str) -> str:
    # made of the cookie, which no other page can read; nothing more has to be kept
    return hashlib.sha256(f"form {token}".encode()).hexdigest()
