"""The layers above the turns: index entries of facts, L1s and the newest map of a space.

They have one index for each space, updated from its rows before each search, like that of turns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..context import Context
from ..protocol.trust import RANKS, TextSource
from ..search import (
    EventText,
    IndexEntry,
    IndexView,
    SpaceIndex,
    analysis_id,
    index_entries,
    unpack_repaired,
)
from ..store import Row, Transaction, embedder_id, load_queries
from .changes import change_keys
from .filters import passing
from .instructions import Instruction, standing_instruction
from .spaces import SQL as SPACES
from .spaces import ErasedEvents, layers_key, number_of, revised, row_id, space_of

SQL = load_queries("remembrancer.memory", "layers.sql")
BATCH = 16  # entries renewed per step; a search waits for their embedding


class Layer(IntEnum):
    """The kinds of entries, as stored."""

    FACT = 0
    SUMMARY = 1
    MAP = 2
    INSTRUCTION = 3  # a fact that states a standing instruction
    CONDITIONAL = 4  # the same with a condition, or a preference
    OLD_FACT = 5  # a superseded fact: for questions about an earlier time


_KIND_BITS = 3  # low bits of a number in the index


def layer_text(text: str, topic: str | None = None) -> EventText:
    """Return the text of a fact, an L1 or a map in the form that is indexed."""
    return EventText(query="", response=text.strip(), topic=topic, occurred_ms=0)


def fact_layer(instruction: Instruction | None) -> Layer:
    """Return the kind of entry of a fact, which may be an instruction."""
    if instruction is None:
        return Layer.FACT
    is_always = instruction.condition is None and instruction.kind == "instruction"
    return Layer.INSTRUCTION if is_always else Layer.CONDITIONAL


def add_layer(
    tx: Transaction, *, space_id: int, layer: Layer, item: int, entry: IndexEntry
) -> None:
    """Store the index entry of a fact (its row id), an L1 (its row id) or a map (its version).

    A new map takes the place of the one before.
    """
    if layer is Layer.MAP:
        tx.run(SQL.drop_map_layers, **_all_of(space_id))
    number = tx.one(SQL.claim_layer, space_id=space_id).number
    values = {
        "id": row_id(space_id, number),
        "kind": int(layer),
        "item": item,
        "words": entry.words,
        "vectors": entry.vectors,
    }
    if not tx.run(SQL.add_layer, derived_by=entry.by, **values):  # the embedder has no number yet
        embedder_id(tx, entry.by, make=True)
        tx.run(SQL.add_layer, derived_by=entry.by, **values)


def layer_entry(context: Context, text: str) -> IndexEntry:
    """Return the index entry of a fact. Raises EmbedderUnavailable."""
    return index_entries(context.writer, [layer_text(text)])[0]


def add_fact_keys(tx: Transaction, space_id: int, fact: int, text: str) -> list[str]:
    """Record what a fact is about, so that a newer one finds it; return the keys."""
    keys = sorted(change_keys(text))
    for key in keys:
        tx.run(SQL.add_fact_key, space_id=space_id, key=key, fact=fact)
    return keys


def wish_in(text: str, source: int) -> Instruction | None:
    """Return the wish that a fact states. Only the user and the model state wishes.

    `source` is the place of its source in the order of trust.
    """
    return standing_instruction(text) if source <= RANKS["model"] else None


def wish_of(row: Row) -> Instruction | None:
    """Return the instruction that a fact is; `row` has text, fact_kind, condition and source."""
    if row.fact_kind == 0:  # or stored before kinds were
        return wish_in(row.text, row.source)
    kind: Literal["instruction", "preference"] = (
        "instruction" if row.fact_kind == 1 else "preference"
    )
    return Instruction(row.text, row.condition, kind)


def move_layer(tx: Transaction, *, item: int, layer: Layer) -> None:
    """Let the entry of a fact (its row id) be of another kind, under a new number.

    Cached indexes keep the old number, which has no row any more, so they need no reload.
    """
    for row in tx.all(SQL.layers_of_fact, item=item):
        number = tx.one(SQL.claim_layer, space_id=space_of(row.id)).number
        moved = row_id(space_of(row.id), number)
        tx.run(SQL.move_layer, id=row.id, new_id=moved, kind=int(layer))


def drop_layer(tx: Transaction, space_id: int, item: int) -> ErasedEvents | None:
    """Delete the entry of a fact (its row id), also from cached indexes of layers.

    Returns the new revision of the space, or None if the fact had no entry.
    """
    if not tx.run(SQL.drop_fact_layer, item=item):
        return None
    return revised(tx, space_id)


def drop_summary(tx: Transaction, space_id: int, item: int) -> None:
    """Delete the entry of an L1 (its row id), also from cached indexes of layers."""
    tx.run(SQL.drop_summary_layer, item=item)
    tx.run(SPACES.revise_space, space_id=space_id)


def prune_layers(tx: Transaction, space_id: int) -> bool:
    """Delete the entries of facts, L1s and maps that were erased, also from cached indexes.

    Returns True if there were some: then the space has a new revision.
    """
    if not tx.run(SQL.prune_layers, **_all_of(space_id)):
        return False
    tx.run(SPACES.revise_space, space_id=space_id)
    return True


def prune_with(tx: Transaction, erased: ErasedEvents) -> ErasedEvents:
    """Delete the entries of what was erased with turns; return the turns with the new revision."""
    is_revised = prune_layers(tx, erased.space_id)
    return replace(erased, revision=erased.revision + 1) if is_revised else erased


def layers_view(context: Context, tx: Transaction, space: Row) -> IndexView:
    """Return a view of the layers of a space that includes everything `tx` sees.

    `space` is the row of the space, read in `tx`. `layers_of` tells the kinds of its events.
    """

    def fill(index: SpaceIndex) -> None:
        numbers = context.embedder_numbers(tx)
        low = row_id(space.id, index.next_event >> _KIND_BITS)
        high = row_id(space.id, space.layers_made)
        rows = tx.all(SQL.layer_rows, low=low, high=high, **numbers)
        # Each entry is a session of its own, so that entries are not neighbours.
        place = context.layout.place
        coded = []
        for row in rows:
            number, vectors = number_of(row.id), place(row.vectors, row.older_vectors)
            coded.append((number << _KIND_BITS | int(row.kind), number, 0, row.words, vectors))

        def text_of(number: int) -> EventText:
            row = layer_rows(tx, space.id, [number])[number]
            return layer_text(row.text, row.topic)

        index.add(
            unpack_repaired(coded, context.layout.dimensions, text_of),
            space.layers_made << _KIND_BITS,
        )

    return context.index_cache.view(
        layers_key(space.id),
        revision=space.revision,
        end=space.layers_made << _KIND_BITS,
        fill=fill,
    )


def passing_layers(
    tx: Transaction, space: Row, view: IndexView, filters: Mapping[str, Any]
) -> npt.NDArray[np.bool_]:
    """Return which events of a layers view pass filters: (size,) bool.

    An L1 passes if a turn of its session does; the map, which tells of all turns, never does.
    """
    facts, turns = passing(filters, "facts"), passing(filters, "events")
    rows = tx.all(
        SQL.passing_layers.replace("true", facts.sql).replace("1 = 1", turns.sql),
        space_id=space.id,
        **_all_of(space.id),
        **(facts.values | turns.values),
    )
    numbers = [number_of(row.id) for row in rows]
    return np.isin(view["event"] >> _KIND_BITS, numbers)


def trusted_layers(
    tx: Transaction, space: Row, view: IndexView, min_trust: TextSource
) -> npt.NDArray[np.bool_]:
    """Return which events of a layers view are at least this trusted: (size,) bool."""
    rows = tx.all(SQL.trusted_layers, **_all_of(space.id), most=RANKS[min_trust])
    return np.isin(view["event"] >> _KIND_BITS, [number_of(row.id) for row in rows])


def layers_of(numbers: Any) -> Any:
    """Return the kind of an event of a layers view, or the kinds of an array of them."""
    return numbers & ((1 << _KIND_BITS) - 1)


def layer_rows(tx: Transaction, space_id: int, events: Sequence[int]) -> dict[int, Row]:
    """Return the rows of events of a layers view, in their order; erased ones are left out.

    Each has id, kind, item, text, since_ms, and where they apply fact_id, l1_id, session_id, topic
    and event_id.
    """
    if not events:
        return {}
    ids = {event: row_id(space_id, event >> _KIND_BITS) for event in events}
    rows = {
        row.id: row
        for row in tx.all(SQL.layer_texts, ids=json.dumps(list(ids.values())))
        if row.text is not None
    }
    return {event: rows[one] for event, one in ids.items() if one in rows}


def renew_layers(context: Context) -> bool:
    """Renew one batch of stale entries; return False if there was none.

    Raises StoreUnavailable, EmbedderUnavailable.
    """
    analysis = analysis_id(context.embedder)

    def find_stale(tx: Transaction) -> list[Row]:
        number = embedder_id(tx, analysis, make=False)
        return tx.all(SQL.stale_layers, embedder=number, most=BATCH)

    stale = context.store.read(find_stale)
    for account_id in dict.fromkeys(row.account_id for row in stale):
        _renew(context, account_id, [row for row in stale if row.account_id == account_id])
    return bool(stale)


def _renew(context: Context, account_id: int, stale: Sequence[Row]) -> None:
    def read(tx: Transaction) -> list[Row]:
        ids = json.dumps([row.id for row in stale])
        return [row for row in tx.all(SQL.layer_texts, ids=ids) if row.text is not None]

    rows = context.store.read(read, account_id=account_id)
    texts = [layer_text(row.text, row.topic) for row in rows]
    entries = index_entries(context.embedder, texts, needs_vectors=True)

    def write(tx: Transaction) -> None:
        number = embedder_id(tx, analysis_id(context.embedder), make=True)
        for row, entry in zip(rows, entries, strict=True):
            values = {"words": entry.words, "vectors": entry.vectors, "embedder": number}
            kind = row.kind
            if row.fact_id and kind != Layer.OLD_FACT:
                kind = fact_layer(wish_of(row))
                add_fact_keys(tx, space_of(row.id), row.item, row.text)
            tx.run(SQL.set_layer, id=row.id, kind=int(kind), **values)
        for space_id in {space_of(row.id) for row in stale}:
            tx.run(SQL.prune_layers, **_all_of(space_id))
            tx.run(SPACES.revise_space, space_id=space_id)

    # Not flushed: a batch that a power cut loses is renewed again.
    context.store.write(write, account_id=account_id, flush=False)


def _all_of(space_id: int) -> dict[str, int]:
    return {"low": row_id(space_id, 0), "high": row_id(space_id + 1, 0)}
