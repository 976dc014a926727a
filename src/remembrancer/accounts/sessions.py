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
CONFIRMED_MS = 5 * 60_000  # after the password was typed, what needs it is done without asking again
_NOTED_EVERY_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """Whose browser asks."""

    account_id: int
    account_name: str
    is_owner: bool
    form_token: str  # must come with every form of this session
    is_confirmed: bool = False  # the password was typed in it lately


def sign_in(records: Records, account_id: int) -> str:
    """Begin a session; gives what the cookie holds: 256 random bits, of which only a digest is kept. Raises StoreUnavailable."""
    token = secrets.token_urlsafe(32)

    def begin(tx: Transaction) -> None:
        now_ms = records.clock()
        tx.run(SQL.end_old_sessions, created_before_ms=now_ms - LASTS_MS, used_before_ms=now_ms - IDLE_MS)
        tx.run(SQL.add_session, digest=digest(token), account_id=account_id, now_ms=now_ms)

    records.store.write(begin)
    return token


def signed_in(records: Records, token: str) -> SignedIn | None:
    """Whose session a cookie is of; None when it is of none, or of one that has ended. Raises StoreUnavailable."""
    now_ms, key = records.clock(), digest(token)
    ends = {"created_after_ms": now_ms - LASTS_MS, "used_after_ms": now_ms - IDLE_MS}
    row: Row | None = records.store.read(lambda tx: tx.one(SQL.session_of, digest=key, **ends))
    if row is None:
        return None
    if row.used_ms <= now_ms - _NOTED_EVERY_MS:
        records.store.write(lambda tx: tx.run(SQL.note_session_use, digest=key, now_ms=now_ms), flush=False)
    is_confirmed = row.confirmed_ms is not None and row.confirmed_ms > now_ms - CONFIRMED_MS
    return SignedIn(
        account_id=row.id,
        account_name=row.name,
        is_owner=row.role == "owner",
        form_token=_form_token(token),
        is_confirmed=is_confirmed,
    )


def confirm(records: Records, session: SignedIn, token: str, password: str) -> None:
    """Note that who uses this session knows its password: a cookie that was taken is not enough for what needs it.

    Failures are counted as those of signing in are. Raises SignInRefused, SignInTooOften, StoreUnavailable.
    """
    try:
        known = account_of(records, session.account_name, password)
    except PasswordUnfit:
        raise SignInRefused from None
    if known != session.account_id:
        raise SignInRefused
    records.store.write(lambda tx: tx.run(SQL.confirm_session, digest=digest(token), now_ms=records.clock()))


def is_form_of(session: SignedIn, token: str) -> bool:
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
