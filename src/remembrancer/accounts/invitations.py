"""Invitation links, with which a person sets the password of an account.

For the owner at the first start, for new users, and for forgotten passwords.
"""

from __future__ import annotations

import secrets

from ..context import Records
from ..protocol import limits
from ..protocol.errors import NotFound
from ..store import Row, Transaction
from .accounts import ensure_own_account, single_line
from .browser_sessions import digest
from .keys import KeySecret
from .passwords import SQL, hash_password, set_password

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
