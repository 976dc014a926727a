"""Accounts, and which space a caller may name."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from ..context import Caller, Records
from ..protocol.errors import InvalidRequest
from ..store import Row, Transaction, load_queries

SQL = load_queries("remembrancer.accounts", "accounts.sql")
NAME_CHARACTERS_MAX = 200
# the name of the first account where nobody gave another, and so of its default user_id
OWNER = "owner"
NO_KEY = 0  # the key_id of a caller on the machine itself; keys are numbered from 1
# control characters, lone surrogates, line and paragraph separators
_UNPRINTABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})


class AccountUnknown(InvalidRequest):
    """There is no such account. `remembrancer accounts list` shows those there are."""


class Account(NamedTuple):
    """A person, or a team's robot."""

    id: int
    name: str
    role: str  # owner or member
    created_ms: int
    keys: int  # that are good now


def list_accounts(records: Records) -> list[Account]:
    """Every account, oldest first."""
    now_ms = records.clock()
    return records.store.read(
        lambda tx: [Account(*row) for row in tx.all(SQL.accounts, now_ms=now_ms)]
    )


def ensure_account(tx: Transaction, name: str, now_ms: int) -> Row:
    """The account of a checked name (id, name, role), made when there is none.

    The first of all is the owner.
    """
    tx.run(SQL.add_account, name=name, now_ms=now_ms)
    return tx.one(SQL.account_named, name=name)


def caller_for(records: Records, account: str | None = None) -> Caller:
    """Who works on the machine itself, without a key: an account by its name, else the owner, made
    when there is none.

    Raises AccountUnknown, and StoreUnavailable.
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
    """Whether language models on other machines may read what this account keeps.

    Raises AccountUnknown, StoreUnavailable.
    """
    if not records.store.write(
        lambda tx: tx.run(SQL.set_outside_models, name=account.strip(), allowed=int(allowed))
    ):
        raise AccountUnknown


def may_use_outside_models(records: Records, caller: Caller) -> bool:
    """Whether they may read what the caller's account keeps:

    yes, until someone forbids it. Raises StoreUnavailable.
    """
    return bool(
        records.store.read(
            lambda tx: tx.one(SQL.outside_models, account_id=caller.account_id)
        ).outside_models
    )


def single_line(text: str, what: str, *, least: int = 0, most: int = NAME_CHARACTERS_MAX) -> str:
    """One printable line of `least` to `most` characters, trimmed.

    Raises InvalidRequest; `what` names it there.
    """
    line = text.strip()
    if not least <= len(line) <= most:
        raise InvalidRequest(f"{what} must have {least} to {most} characters")
    if any(unicodedata.category(character) in _UNPRINTABLE for character in line):
        raise InvalidRequest(f"{what} must be one line without control characters")
    return line
