"""Count which names, identifiers, dates and amounts occur in the turns of a space, and together.

The counts change in the transaction that stores or erases a turn.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import permutations

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
    values = {"space_id": space_of(row), "keys": _json(keys)}
    if tx.run(SQL.add_entities, event=row, **values):
        tx.run(SQL.count_entities, **values)
        if len(keys) > 1:
            tx.run(SQL.count_pairs, **values)


def erase_associations(tx: Transaction, values: dict[str, int | None]) -> None:
    """Erase the entities of turns, and those that no turn has then.

    `values` are those of an EraseRange; the turns must still exist.
    """
    keys_of: dict[int, list[str]] = defaultdict(list)
    for row in tx.all(SQL.entities_in_range, **values):
        keys_of[row.event].append(row.key)
    if not keys_of:
        return
    space_id = space_of(next(iter(keys_of)))
    turns = Counter(key for keys in keys_of.values() for key in keys)
    pairs: dict[str, Counter[str]] = defaultdict(Counter)
    for keys in keys_of.values():
        for key, other in permutations(keys, 2):
            pairs[key][other] += 1
    tx.run(SQL.erase_entities_of_turns, **values)
    for number, some in _by_count(turns):
        tx.run(SQL.uncount_entities, space_id=space_id, keys=_json(some), turns=number)
    for key, others in pairs.items():
        for number, some in _by_count(others):
            tx.run(SQL.uncount_pairs, space_id=space_id, key=key, others=_json(some), turns=number)
    for statement in (SQL.prune_entities, SQL.prune_pairs):
        tx.run(statement, space_id=space_id, keys=_json(turns))


def _by_count(counts: Counter[str]) -> Iterable[tuple[int, list[str]]]:
    """Return the keys of each count."""
    keys: dict[int, list[str]] = defaultdict(list)
    for key, number in counts.items():
        keys[number].append(key)
    return keys.items()


def _json(keys: Iterable[str]) -> str:
    return json.dumps(list(keys), ensure_ascii=False)


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
