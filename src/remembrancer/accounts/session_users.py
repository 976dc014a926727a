"""The user of a session: requests that name no user_id use the one last named with their session.

The specification's `remember` and start pack have no user_id, but the search before them has.
"""

from __future__ import annotations

from ..context import Caller
from ..store import Row, Transaction, load_queries
from .accounts import NO_KEY
from .keys import default_user_id, space_user_id

SQL = load_queries("remembrancer.accounts", "session_users.sql")
_DAY_MS = 24 * 60 * 60 * 1000


def session_user_id(tx: Transaction, caller: Caller, user_id: str | None, session_id: str) -> str:
    """Return the user_id of a request of a session.

    It is the one that the request names, else the key's pin, else the one that the key last named
    with the session, else the account's name. Raises PinnedToOtherUser.
    """
    if user_id is not None or caller.pinned_user_id is not None:
        return space_user_id(caller, user_id)
    row = _row(tx, caller, session_id)
    return default_user_id(caller) if row is None else str(row.user_id)


def is_user_of_session(tx: Transaction, caller: Caller, user_id: str, session_id: str) -> bool:
    """Return True if `name_session_user` has nothing to change."""
    if caller.pinned_user_id is not None or caller.key_id == NO_KEY:
        return True
    row = _row(tx, caller, session_id)
    return row is not None and row.user_id == user_id


def name_session_user(
    tx: Transaction, caller: Caller, user_id: str, session_id: str, now_ms: int
) -> str | None:
    """Record that a request names this user_id with a session.

    Return a reminder if the key named another one with it within a day; None if not. Browsers name
    the user in every request and pinned keys have one user: nothing is recorded for them.
    """
    if caller.pinned_user_id is not None or caller.key_id == NO_KEY:
        return None
    key = {"key_id": caller.key_id, "session_id": session_id}
    tx.run(SQL.name_user, **key, user_id=user_id, now_ms=now_ms)
    row = tx.one(SQL.user_of, **key)
    if row.other_user_id in (None, user_id) or now_ms - row.other_ms >= _DAY_MS:
        return None
    return (
        f"This key used session_id {session_id!r} for two users within a day: "
        f"{row.other_user_id!r} and {user_id!r}. Requests of this session without a user_id now "
        f"use {user_id!r}. Give each user sessions of their own."
    )


def forget_session_users(tx: Transaction, user_id: str | None = None) -> None:
    """Delete what was recorded about a user, or about all users of the account."""
    tx.run(SQL.delete_users, user_id=user_id)


def _row(tx: Transaction, caller: Caller, session_id: str) -> Row | None:
    return tx.one_or_none(SQL.user_of, key_id=caller.key_id, session_id=session_id)
