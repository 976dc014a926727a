"""Pages of rows from the space of a user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..accounts import space_user_id
from ..context import Caller, Context
from ..store import Row, Transaction
from .spaces import SQL

AFTER_ALL = 1 << 62  # greater than every row id and every time in ms


@dataclass(frozen=True, slots=True)
class PageCursor:
    """The last item of a page of a list in descending order; the next page begins after it."""

    ms: int
    id: int


def space_rows(
    context: Context, caller: Caller, user_id: str, query: Callable[[Transaction, Row], list[Row]]
) -> list[Row]:
    """Return the rows that `query` reads from a user's space; none if the user has no space.

    Raises PinnedToOtherUser, StoreUnavailable.
    """
    user_id = space_user_id(caller, user_id)

    def read(tx: Transaction) -> list[Row]:
        space = tx.one_or_none(SQL.space_of, user_id=user_id)
        return [] if space is None else query(tx, space)

    return context.store.read(read, account_id=caller.account_id)


def split_page(rows: list[Row], size: int) -> tuple[list[Row], Row | None]:
    """Return the first `size` rows, and the last of these if more rows follow, else None."""
    page = rows[:size]
    return page, page[-1] if len(rows) > size else None
