"""Count which names, identifiers, dates and amounts occur in the turns of a space, and together.

The counts change in the transaction that stores or erases a turn.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...context import Context
from ...search import entity_keys
from ...search.text.machine_text import MACHINE_NOTICE
from ...store import Transaction, load_queries
from ..spaces import flag_names, row_id, space_of

SQL = load_queries("remembrancer.memory.write", "associations.sql")
OLDER_BATCH = 64  # turns counted in one transaction of the background


def associate(tx: Transaction, row: int, keys: Sequence[str]) -> None:
    """Count the entities of a turn (its row) once, however often this is called."""
    if not keys:
        return
    values = {"space_id": space_of(row), "keys": json.dumps(keys, ensure_ascii=False)}
    if tx.run(SQL.add_entities, event=row, **values):
        tx.run(SQL.count_entities, **values)
        if len(keys) > 1:
            tx.run(SQL.count_pairs, **values)


def erase_associations(tx: Transaction, values: dict[str, int | None]) -> None:
    """Erase the entities of turns, and those that no turn has then.

    `values` are those of an EraseRange; the turns must still exist.
    """
    for statement in (
        SQL.uncount_pairs,
        SQL.uncount_entities,
        SQL.prune_pairs,
        SQL.prune_entities,
        SQL.erase_entities_of_turns,
    ):
        tx.run(statement, **values)


def erase_associations_of_space(tx: Transaction, space_id: int) -> None:
    """Erase all entities of a space: faster than to take every turn from the counts."""
    for statement in (SQL.erase_entities_of_space, SQL.erase_entities, SQL.erase_pairs):
        tx.run(statement, space_id=space_id)


def associate_older(context: Context) -> bool:
    """Count one batch of turns that were stored before turns had entities.

    Returns False if none is left. Raises StoreUnavailable.
    """
    space = context.store.read(lambda tx: tx.one_or_none(SQL.unassociated_space))
    if space is None:
        return False
    end = min(space.associated_to + OLDER_BATCH, space.events_made)

    def count(tx: Transaction) -> None:
        # First, because it locks the space: a turn may be stored at the same time.
        associated_to = None if end == space.events_made else end
        tx.run(SQL.note_associated, space_id=space.id, associated_to=associated_to)
        rows = tx.all(
            SQL.unassociated_turns,
            low=row_id(space.id, space.associated_to),
            high=row_id(space.id, end),
        )
        for row in rows:
            if MACHINE_NOTICE not in flag_names(row.flags):
                associate(tx, row.id, entity_keys(row.query, row.response))

    # Not flushed: a batch that a power cut loses is counted again.
    context.store.write(count, account_id=space.account_id, flush=False)
    return True
