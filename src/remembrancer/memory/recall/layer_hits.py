"""Find the facts, standing instructions, L1s and map lines that bear on a query."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from ...context import Context
from ...protocol.limits import (
    FACTS_FOUND_MAX,
    INSTRUCTIONS_FOUND_MAX,
    SNIPPET_CHARACTERS_MAX,
    SUMMARIES_FOUND_MAX,
)
from ...protocol.search import FactHit, InstructionHit, SummaryHit
from ...protocol.text import rfc3339
from ...search import Fit, IndexView, ParsedQuery, fitting, normalize, passages
from ...store import Row, Transaction
from ..instructions import standing_instruction
from ..layers import SQL, Layer, layer_of, layer_rows, layers_view
from ..spaces import number_of
from .outcome import LayerHits

# Minimum score of a fact or a summary. Chosen on facts and questions written for it: related pairs
# score 0.24 and more, unrelated ones 0.05 and less (tests/memory/test_layers.py).
RELEVANT_MIN = 0.2
CANDIDATES_MAX = 24  # of each kind, in case some were erased a moment ago or repeat each other
INSTRUCTIONS_READ_MAX = 50  # newest instructions whose conditions are compared with a query
SUMMARY_LIFT = 0.5  # added to the score of a turn for an L1 with score 1 that covers it
LIFTED_TURNS_MAX = 40  # of each L1
MAP_LINES_MAX = 3


def layer_hits(
    context: Context,
    tx: Transaction,
    space: Row,
    question: ParsedQuery,
    vector: npt.NDArray[np.float32],
    layers: Collection[str],
) -> LayerHits:
    """Return what bears on a query in these layers of a space, best first.

    `vector` is the query's, shape (dimensions,), or empty without an embedder. `layers` are names
    of the request. Facts that read as standing instructions apply without resembling the query,
    unless they name a condition.
    """
    hits = LayerHits()
    if not space.layers_made:
        return hits
    view = layers_view(context, tx, space)
    scored = fitting(view, question.words, vector, RELEVANT_MIN)
    by_layer: dict[Layer, list[Fit]] = {layer: [] for layer in Layer}
    for one in scored:
        by_layer[layer_of(one.event)].append(one)
    if "facts" in layers or "instructions" in layers:
        facts = by_layer[Layer.FACT] + by_layer[Layer.INSTRUCTION]
        facts.sort(key=lambda one: (-one.score, -one.cosine))
        _add_facts(tx, space.id, view, facts[:CANDIDATES_MAX], layers, hits)
    if "summaries" in layers or "events" in layers:
        summaries = by_layer[Layer.SUMMARY] + by_layer[Layer.MAP]
        summaries.sort(key=lambda one: (-one.score, -one.cosine))
        _add_summaries(tx, space.id, view, summaries[:CANDIDATES_MAX], question, hits)
    if "summaries" not in layers:
        hits.summaries = []
    if "events" not in layers:
        hits.lifts = {}
    return hits


def _add_facts(
    tx: Transaction,
    space_id: int,
    view: IndexView,
    scored: Sequence[Fit],
    layers: Collection[str],
    hits: LayerHits,
) -> None:
    scores = {one.event: one.score for one in scored}
    if "facts" in layers:
        rows = layer_rows(tx, space_id, list(scores))
        hits.facts = [
            FactHit(
                fact_id=row.fact_id,
                text=row.text,
                status="current",
                valid_from=rfc3339(row.since_ms),
                event_id=row.event_id,
                score=round(scores[event], 4),
            )
            for event, row in rows.items()
        ][:FACTS_FOUND_MAX]
    if "instructions" not in layers:
        return
    events = np.unique(view["event"])
    newest = [int(event) for event in events[::-1] if layer_of(int(event)) is Layer.INSTRUCTION]
    for row in layer_rows(tx, space_id, newest[:INSTRUCTIONS_READ_MAX]).values():
        instruction = standing_instruction(row.text)
        if instruction is None:
            continue
        bears = any(fact.fact_id == row.fact_id for fact in hits.facts)
        if instruction.condition is None or bears:
            hits.instructions.append(
                InstructionHit(
                    instruction_id=row.fact_id,
                    text=row.text,
                    condition=instruction.condition,
                    event_id=row.event_id,
                )
            )
        if len(hits.instructions) == INSTRUCTIONS_FOUND_MAX:
            return


def _add_summaries(
    tx: Transaction,
    space_id: int,
    view: IndexView,
    scored: Sequence[Fit],
    question: ParsedQuery,
    hits: LayerHits,
) -> None:
    rows = layer_rows(tx, space_id, [one.event for one in scored])
    for one in scored:
        row = rows.get(one.event)
        if row is None or len(hits.summaries) == SUMMARIES_FOUND_MAX:
            continue
        part = one.part - int(np.searchsorted(view["event"], one.event))
        hits.summaries.append(
            SummaryHit(
                l1_id=row.l1_id,
                map_version=row.item if row.kind == Layer.MAP else None,
                session_id=row.session_id or None,
                topic=row.topic,
                text=_relevant_text(row, part, question),
                score=round(one.score, 4),
            )
        )
        if row.kind == Layer.SUMMARY:
            turns = tx.all(SQL.turns_of_l1, l1=row.item, most=LIFTED_TURNS_MAX)
            for turn in turns:
                number = number_of(turn.id)
                lift = SUMMARY_LIFT * one.score
                hits.lifts[number] = max(hits.lifts.get(number, 0.0), lift)


def _relevant_text(row: Row, part: int, question: ParsedQuery) -> str:
    """Return an L1 if it is short, else its best passage; of a map, the lines that fit best."""
    if row.kind == Layer.MAP:
        words = {normalize(word.text) for word in question.words if not word.is_stop}
        lines = [line for line in row.text.splitlines() if line.strip()]
        counts = [sum(word in normalize(line) for word in words) for line in lines]
        best = sorted(range(len(lines)), key=lambda place: (-counts[place], -place))
        chosen = sorted(place for place in best[:MAP_LINES_MAX] if counts[place])
        if chosen:
            return "\n".join(lines[place] for place in chosen)[:SNIPPET_CHARACTERS_MAX]
    if len(row.text) <= SNIPPET_CHARACTERS_MAX:
        return str(row.text)
    cuts = passages(row.text)
    return cuts[min(part, len(cuts) - 1)].strip()[:SNIPPET_CHARACTERS_MAX]
