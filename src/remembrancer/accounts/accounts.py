"""Accounts, and the caller of commands on this machine."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from ..context import Caller, Records
from ..protocol.errors import InvalidRequest
from ..protocol.service_keys import mask_service_keys
from ..store import Row, Transaction, load_queries

SQL = load_queries("remembrancer.accounts", "accounts.sql")
NAME_CHARACTERS_MAX = 200
# Default name of the first account, and so its default user_id.
OWNER = "owner"
NO_KEY = 0  # key_id of a caller on this machine; keys are numbered from 1
# Control characters, lone surrogates, line and paragraph separators.
_UNPRINTABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})


class AccountUnknown(InvalidRequest):
    """There is no such account. `remembrancer accounts list` shows all accounts."""


class AccountIsTeam(InvalidRequest):
    """This account is the space of a team, which has neither keys nor a password. Its members use
    their own keys.
    """


class Account(NamedTuple):
    """A person or a team's bot."""

    id: int
    name: str
    role: str  # owner, member, or team: the space of a team
    created_ms: int
    keys: int  # that are valid now


def list_accounts(records: Records) -> list[Account]:
    """Return every account, oldest first."""
    now_ms = records.clock()
    return records.store.read(
        lambda tx: [Account(*row) for row in tx.all(SQL.accounts, now_ms=now_ms)]
    )


def ensure_account(tx: Transaction, name: str, now_ms: int) -> Row:
    """Return an account (id, name, role) by its validated name, creating it if necessary.

    The first account is the owner.
    """
    tx.run(SQL.add_account, name=name, now_ms=now_ms)
    return tx.one(SQL.account_named, name=name)


def ensure_own_account(tx: Transaction, name: str, now_ms: int) -> Row:
    """Return an account that may have keys and a password, creating it if necessary.

    Raises AccountIsTeam.
    """
    account = ensure_account(tx, name, now_ms)
    if account.role == "team":
        raise AccountIsTeam
    return account


def caller_for(records: Records, account: str | None = None) -> Caller:
    """Return the caller for a command on this machine, which needs no key.

    `account` is a name; None means the owner, whose account is created if necessary. Raises
    AccountUnknown, StoreUnavailable.
    """

    def find(tx: Transaction) -> Row:
        if account is None:
            return tx.one_or_none(SQL.first_account) or ensure_account(tx, OWNER, records.clock())
        row = tx.one_or_none(SQL.account_named, name=account.strip())
        if row is None:
            raise AccountUnknown
        return row

    row = records.store.write(find)
    return Caller(
        account_id=row.id, account_name=row.name, is_owner=row.role == "owner", key_id=NO_KEY
    )


def allow_outside_models(records: Records, account: str, *, allowed: bool) -> None:
    """Allow or forbid language models on other machines for an account's data.

    Raises AccountUnknown, StoreUnavailable.
    """
    if not records.store.write(
        lambda tx: tx.run(SQL.set_outside_models, name=account.strip(), allowed=int(allowed))
    ):
        raise AccountUnknown


def may_use_outside_models(records: Records, caller: Caller) -> bool:
    """Return True if models on other machines may read the account's data.

    Allowed by default. Raises StoreUnavailable.
    """
    return bool(
        records.store.read(
            lambda tx: tx.one(SQL.outside_models, account_id=caller.account_id)
        ).outside_models
    )


def single_line(text: str, name: str, *, least: int = 0, most: int = NAME_CHARACTERS_MAX) -> str:
    """Return a printable line of `least` to `most` characters, stripped.

    Raises InvalidRequest, naming the value `what`.
    """
    line = text.strip()
    if mask_service_keys(line) != line:
        raise InvalidRequest(f"{name} must not contain an API key")
    if not least <= len(line) <= most:
        raise InvalidRequest(f"{name} must have {least} to {most} characters")
    if any(unicodedata.category(character) in _UNPRINTABLE for character in line):
        raise InvalidRequest(f"{name} must be one line without control characters")
    return line
