"""Read the associations of the candidates of a search, for `search.by_association`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable

from ...search import Associations, association, entities
from ...search.associations import CANDIDATES
from ...search.scoring import FREQUENT_SHARE
from ...store import Transaction
from ..spaces import number_of, row_id
from ..write.associations import SQL

QUERY_ENTITIES_MAX = 8  # of a query; a pasted text has more
PAIRS_MAX = 200  # entities most often beside one of the query


def associations_of(
    tx: Transaction, *, space_id: int, turns: int, question: str, events: Iterable[int]
) -> Associations:
    """Return the entities of candidates, and how they belong to those of a question.

    `turns` is the number of turns of the space; `events` are numbers of events, best first, of
    which CANDIDATES count. Three queries and one for each entity of the question.
    """
    ids = [row_id(space_id, event) for event in list(events)[:CANDIDATES]]
    of_event: dict[int, list[str]] = defaultdict(list)
    for row in tx.all(SQL.entities_of, ids=json.dumps(ids)):
        of_event[number_of(row.event)].append(row.key)
    query_keys = list(dict.fromkeys(entity.key for entity in entities(question)))
    keys = {key for keys in of_event.values() for key in keys} | set(query_keys)
    counts = tx.all(
        SQL.turns_of_entities, space_id=space_id, keys=json.dumps(sorted(keys), ensure_ascii=False)
    )
    turns_with = {row.key: row.events for row in counts}
    linked: dict[str, float] = {}
    for key in query_keys[:QUERY_ENTITIES_MAX]:
        own = turns_with.get(key, 0)
        if not 0 < own <= FREQUENT_SHARE * turns:
            continue
        linked[key] = 1.0
        for pair in tx.all(SQL.pairs_of, space_id=space_id, key=key, most=PAIRS_MAX):
            strength = association(pair.events, own, pair.turns)
            linked[pair.other] = max(strength, linked.get(pair.other, 0.0))
    return Associations(of_event=of_event, turns=turns_with, linked=linked, events=turns)
