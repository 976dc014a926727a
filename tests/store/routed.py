"""Several PostgreSQL instances as one store: each account on one of them, the rest on the first.

It stands for a distributed PostgreSQL (docs/guides/several-servers.md), which does the same behind one URL:
account tables are distributed by `account_id`, and the tables they all reference are on every
instance. Statements are not parsed: the account of a transaction selects its instance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeVar

from remembrancer.store import Row, Store, Transaction

T = TypeVar("T")
EVERYWHERE = ("accounts", "keys")


class Routed:
    """A Store over several stores; the first one holds the data that has no account."""

    is_shared = True
    supports_vector_search = False  # a database searches its own rows alone
    index_folder = None  # the instances have machines of their own

    def __init__(self, stores: Sequence[Store]) -> None:
        self.stores = stores

    def of(self, account_id: int | None) -> Store:
        """Return the store for an account; with None, the first one."""
        return self.stores[0 if account_id is None else account_id % len(self.stores)]

    def write(
        self,
        action: Callable[[Transaction], T],
        *,
        account_id: int | None = None,
        flush: bool = True,
    ) -> T:
        """See Store; afterwards, copy the reference tables to every instance."""
        result = self.of(account_id).write(action, account_id=account_id, flush=flush)
        if account_id is None:
            for table in EVERYWHERE:
                rows = self.stores[0].read(partial(_rows, table))
                for other in self.stores[1:]:
                    other.write(partial(_put, table, rows))
        return result

    def read(self, action: Callable[[Transaction], T], *, account_id: int | None = None) -> T:
        """See Store."""
        return self.of(account_id).read(action, account_id=account_id)

    def count(self, sql: str, **values: Any) -> Row | None:
        """See Store."""
        return self.stores[0].count(sql, **values)

    def look_up(self, sql: str, **values: Any) -> Row | None:
        """See Store."""
        return self.stores[0].look_up(sql, **values)

    def lock(self, *names: str, wait: bool = True) -> AbstractContextManager[bool]:
        """See Store."""
        return self.stores[0].lock(*names, wait=wait)

    def schema_version(self) -> int:
        """See Store."""
        return self.stores[0].schema_version()

    def check_writes(self) -> None:
        """See Store."""
        for store in self.stores:
            store.check_writes()

    def close(self) -> None:
        """See Store."""
        for store in self.stores:
            store.close()


def _rows(table: str, tx: Transaction) -> list[Row]:
    return tx.all(f"select * from {table}")


def _put(table: str, rows: list[Row], tx: Transaction) -> None:
    for row in rows:
        columns, values = ", ".join(row._fields), ", ".join(f":{name}" for name in row._fields)
        add = f"insert into {table} ({columns}) values ({values}) on conflict do nothing"
        tx.run(add, **row._asdict())
