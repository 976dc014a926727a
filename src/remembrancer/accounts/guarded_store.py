"""A store whose writes to one account succeed only while a query finds a row."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from ..store import Row, Store, Transaction

T = TypeVar("T")


class GuardedStore:
    """The store `inner`, where every write to an account checks in its own transaction that it is
    allowed.

    `look` asks for the rows that decide, and `check` raises if they forbid the write. A check
    before the transaction would not do: what it found may have ended when the write begins.
    """

    def __init__(
        self,
        inner: Store,
        account_id: int,
        look: Callable[[Transaction], Callable[[], list[Row]]],
        check: Callable[[list[Row]], object],
    ) -> None:
        self._inner, self._account_id, self._look, self._check = inner, account_id, look, check
        self.is_shared = inner.is_shared

    def write(
        self,
        action: Callable[[Transaction], T],
        *,
        account_id: int | None = None,
        flush: bool = True,
    ) -> T:
        """Run `action` in a transaction, and check in it; see Store.write.

        Raises what the check raises: nothing that the action wrote remains then.
        """

        def checked(tx: Transaction) -> T:
            rows = self._look(tx)  # sent with the first statement of the action: no round trip
            result = action(tx)
            self._check(rows())
            return result

        guarded = checked if account_id == self._account_id else action
        return self._inner.write(guarded, account_id=account_id, flush=flush)

    def read(self, action: Callable[[Transaction], T], *, account_id: int | None = None) -> T:
        """See Store.read."""
        return self._inner.read(action, account_id=account_id)

    def count(self, sql: str, **values: Any) -> Row | None:
        """See Store.count."""
        return self._inner.count(sql, **values)

    def look_up(self, sql: str, **values: Any) -> Row | None:
        """See Store.look_up."""
        return self._inner.look_up(sql, **values)

    def lock(self, *names: str, wait: bool = True) -> AbstractContextManager[bool]:
        """See Store.lock."""
        return self._inner.lock(*names, wait=wait)

    @property
    def index_folder(self) -> Path | None:
        """See Store.index_folder."""
        return self._inner.index_folder

    @property
    def supports_vector_search(self) -> bool:
        """See Store.supports_vector_search."""
        return self._inner.supports_vector_search

    def run_outside_transaction(self, statement: str, *, memory_bytes: int = 0) -> None:
        """See Store.run_outside_transaction."""
        self._inner.run_outside_transaction(statement, memory_bytes=memory_bytes)

    def schema_version(self) -> int:
        """See Store.schema_version."""
        return self._inner.schema_version()

    def check_writes(self) -> None:
        """See Store.check_writes."""
        self._inner.check_writes()

    def close(self) -> None:
        """See Store.close."""
        self._inner.close()
