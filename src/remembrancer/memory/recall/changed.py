"""Order hits by the changes between turns: newer values before those they replace."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...search import RankedEvent, Ranking
from ...store import Row, Transaction
from ..links import SQL, EventLinks, event_links
from ..spaces import number_of, row_id

CHANGES_MAX = 500  # newest changes of a space that a question about an earlier time considers
TIE = 3.25  # changes whose scores differ by less fit a question equally well: oldest first
HISTORY_LIFT = 7.5  # added to the newer turn of a change for a question about an earlier time


@dataclass(slots=True)
class TurnChanges:
    """The changes between some turns: by number of an event, the rows of the changes."""

    newer: dict[int, list[Row]] = field(default_factory=dict)  # that replace it
    older: dict[int, list[Row]] = field(default_factory=dict)  # that it replaces

    def successor(self, event: int) -> Row | None:
        """Return the newest certain change that replaced a turn."""
        return next((row for row in reversed(self.newer.get(event, [])) if row.certain), None)


def changes_of(
    tx: Transaction, space_id: int, events: Sequence[int], as_of_ms: int | None
) -> TurnChanges:
    """Return the changes between these turns and others, as of a time (ms since 1970)."""
    changes = TurnChanges()
    if not events:
        return changes
    ids = json.dumps([row_id(space_id, event) for event in events])
    for row in tx.all(SQL.changes_of, ids=ids):
        if as_of_ms is None or row.occurred_ms <= as_of_ms:
            changes.newer.setdefault(number_of(row.older), []).append(row)
            changes.older.setdefault(number_of(row.newer), []).append(row)
    return changes


def history_lifts(tx: Transaction, space_id: int) -> dict[int, float]:
    """Return the lifts of turns that a question about an earlier state of things is about."""
    rows = tx.all(SQL.newest_changes, space_id=space_id, most=CHANGES_MAX)
    return {number_of(row.newer): HISTORY_LIFT for row in rows}


def oldest_first(
    ranked: Sequence[RankedEvent], lifts: Mapping[int, float], ranking: Ranking
) -> list[RankedEvent]:
    """Return the events with changes that fit a question about equally well in order of time.

    "What was it before, and what is it now?" may mean several things. Scores stay in descending
    order.
    """
    best = next((one.raw for one in ranked if one.event in lifts), 0.0)
    places = [
        place for place, one in enumerate(ranked) if one.event in lifts and one.raw >= best - TIE
    ]
    occurred = ranking.view["occurred_ms"]
    in_time = sorted((ranked[place] for place in places), key=lambda one: int(occurred[one.part]))
    result = list(ranked)
    for place, one in zip(places, in_time, strict=True):
        result[place] = one._replace(score=ranked[place].score)
    return result


def newer_first(
    ranked: Sequence[RankedEvent], changes: TurnChanges, ranking: Ranking, *, with_older: bool
) -> list[RankedEvent]:
    """Return the events with the successor of each replaced one before it.

    A successor that is not among them is added, and `with_older` what each one replaced, after it.
    Scores stay in descending order: a turn that moves up takes the score of the one that it joins.
    """
    if not changes.newer:
        return list(ranked)
    result: list[RankedEvent] = []
    waiting = {one.event: one for one in ranked}
    placed: set[int] = set()

    def place(event: int, score: float) -> None:
        if event in placed:
            return
        one = waiting.get(event)
        part = ranking.first_part(event) if one is None else one.part
        if part is not None:
            placed.add(event)
            result.append(RankedEvent(event, score, part))

    for one in ranked:
        if one.event in placed:
            continue
        for successor in _successors(one.event, changes):
            place(successor, one.score)
        place(one.event, one.score)
        for row in changes.older.get(one.event, []) if with_older else []:
            if row.certain:
                place(number_of(row.older), one.score)
    return result


def _successors(event: int, changes: TurnChanges) -> list[int]:
    """Return the turns that replaced a turn, the newest first; of a chain, those that are read."""
    chain: list[int] = []
    row = changes.successor(event)
    while row is not None and number_of(row.newer) not in (event, *chain):
        chain.insert(0, number_of(row.newer))
        row = changes.successor(chain[0])
    return chain


def links_of(space_id: int, event: int, changes: TurnChanges) -> EventLinks:
    """Return the links of a hit."""
    rows = [*changes.newer.get(event, []), *changes.older.get(event, [])]
    return event_links(row_id(space_id, event), rows)
