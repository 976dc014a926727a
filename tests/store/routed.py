"""Several PostgreSQL instances as one store: what an account keeps is on one of them, the rest on the first.

It stands for a distributed PostgreSQL (docs/guides/shards.md), which does the same below one URL: tables of what accounts keep
are spread by `account_id`, and those that everybody's rows refer to are on every instance. Nothing here looks into statements:
whose a transaction is says where it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from remembrancer.store import Store, Transaction

T = TypeVar("T")
EVERYWHERE = ("accounts", "keys")


class Routed:
    """Store of engine.py over several, the first of which is home."""

    def __init__(self, stores: Sequence[Store]) -> None:
        self.stores = stores

    def of(self, account_id: int | None) -> Store:
        """Where the transactions of an account go, and with None those of nobody."""
        return self.stores[0 if account_id is None else account_id % len(self.stores)]

    def write(self, action: Callable[[Transaction], T], *, account_id: int | None = None, flush: bool = True) -> T:
        """See Store; what everybody's rows refer to is on every instance afterwards."""
        result = self.of(account_id).write(action, account_id=account_id, flush=flush)
        if account_id is None:
            for table in EVERYWHERE:
                rows = self.stores[0].read(lambda tx, table=table: tx.all(f"select * from {table}"))  # type: ignore[misc]
                for other in self.stores[1:]:
                    other.write(lambda tx, table=table, rows=rows: [_put(tx, table, row._asdict()) for row in rows])  # type: ignore[misc]
        return result

    def read(self, action: Callable[[Transaction], T], *, account_id: int | None = None) -> T:
        """See Store."""
        return self.of(account_id).read(action, account_id=account_id)

    def backup(self, path: str) -> None:
        """See Store."""
        self.stores[0].backup(path)

    def schema_version(self) -> int:
        """See Store."""
        return self.stores[0].schema_version()

    def close(self) -> None:
        """See Store."""
        for store in self.stores:
            store.close()


def _put(tx: Transaction, table: str, values: dict[str, object]) -> None:
    columns, given = ", ".join(values), ", ".join(f":{name}" for name in values)
    tx.run(f"insert into {table} ({columns}) values ({given}) on conflict do nothing", **values)
