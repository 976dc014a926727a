"""Links that set the password of an account:

for the owner at the first start, for those the owner invites, for who forgot theirs.
"""

from __future__ import annotations

import secrets

from ..context import Records
from ..protocol import limits
from ..protocol.errors import NotFound
from ..store import Row, Transaction
from .accounts import ensure_account, single_line
from .browser_sessions import digest
from .keys import KeySecret
from .passwords import SQL, hash_password, set_password

_HOUR_MS = 3_600_000


class InvitationUnknown(NotFound):
    """This link does not work: it was used, has ended, or was replaced by a newer one. Ask the
    owner for another.
    """


def invite(records: Records, name: str) -> KeySecret:
    """The token of a link for an account, which is made when there is none of that name; earlier
    links for it stop working.

    Who may ask for it is for the caller to see to. Raises InvalidRequest for a name out of bounds,
    StoreUnavailable.
    """
    name, token = single_line(name, "The account's name", least=1), secrets.token_urlsafe(32)

    def keep(tx: Transaction) -> None:
        now_ms = records.clock()
        account = ensure_account(tx, name, now_ms)
        tx.run(SQL.delete_invitations, account_id=account.id, now_ms=now_ms)
        expires_ms = now_ms + limits.INVITATION_HOURS * _HOUR_MS
        tx.run(
            SQL.add_invitation, digest=digest(token), account_id=account.id, expires_ms=expires_ms
        )

    records.store.write(keep)
    return KeySecret(token)


def invitation_account(records: Records, token: str) -> str:
    """The name of the account that a link is for. Raises InvitationUnknown, StoreUnavailable."""
    return str(records.store.read(lambda tx: _invitation(tx, token, records.clock())).name)


def accept(records: Records, token: str, password: str) -> int:
    """Set the password, use up the link, sign every browser of the account out; gives the account's
    id.

    Raises InvitationUnknown, PasswordUnfit (the link then still works), StoreUnavailable.
    """
    invitation_account(records, token)  # before the work of hashing is done for anybody
    kept = hash_password(password)

    def use(tx: Transaction) -> int:
        now_ms = records.clock()
        account = _invitation(tx, token, now_ms)
        set_password(tx, account.id, kept, now_ms)
        return int(account.id)

    return records.store.write(use)


def _invitation(tx: Transaction, token: str, now_ms: int) -> Row:
    row = tx.one_or_none(SQL.invitation_of, digest=digest(token), now_ms=now_ms)
    if row is None:
        raise InvitationUnknown
    return row
