"""Find the facts, standing instructions, L1s and map lines that bear on a query."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...context import Context
from ...protocol.limits import (
    FACTS_FOUND_MAX,
    INSTRUCTIONS_FOUND_MAX,
    SNIPPET_CHARACTERS_MAX,
    SUMMARIES_FOUND_MAX,
)
from ...protocol.search import LAYERS, FactHit, InstructionHit, MemoryQuery, SummaryHit
from ...protocol.text import rfc3339
from ...protocol.trust import SOURCES
from ...search import (
    Fit,
    IndexView,
    ParsedQuery,
    cosines,
    fitting,
    normalize,
    passages,
)
from ...store import Row, Transaction
from ..changes import names_history
from ..facts.life import SUPERSEDED, VERSION
from ..instructions import applies
from ..layers import (
    SQL,
    Layer,
    layer_rows,
    layers_of,
    layers_view,
    passing_layers,
    trusted_layers,
    wish_of,
)
from ..spaces import number_of, read_metadata

# Minimum score of a fact or a summary. Chosen on facts and questions written for it: related pairs
# score 0.24 and more, unrelated ones 0.05 and less.
RELEVANT_MIN = 0.2
CONDITION_MIN = 0.35  # of an instruction whose condition has no word of the query
# Minimum cosine of a query and a preference that governs it, in whatever words: four in five of a
# person's are found, and one in six other questions shows one (bench/governing.py).
GOVERNED_MIN = 0.2
CANDIDATES_MAX = 16  # of each kind, in case some were erased a moment ago or repeat each other
INSTRUCTIONS_READ_MAX = 8  # newest instructions that are read, in case some were just erased
SUMMARY_LIFT = 1.25  # added to the score of a turn for an L1 with score 1 that covers it
LIFTED_TURNS_MAX = 40  # of each L1
MAP_LINES_MAX = 3
Rows: TypeAlias = Mapping[int, Row]  # by number in the view of the layers
Scores: TypeAlias = Mapping[int, float]  # alike


@dataclass(slots=True, kw_only=True)
class LayerHits:
    """The facts, instructions and summaries that bear on a query, best first."""

    facts: list[FactHit] = field(default_factory=list)
    instructions: list[InstructionHit] = field(default_factory=list)
    summaries: list[SummaryHit] = field(default_factory=list)
    lifts: dict[int, float] = field(default_factory=dict)  # by number of a summarised event
    asks_history: bool = False  # the query asks for an earlier state


def layer_hits(
    context: Context,
    tx: Transaction,
    space: Row,
    question: ParsedQuery,
    vector: npt.NDArray[np.float32],
    query: MemoryQuery,
    as_of_ms: int | None,
    filters: Mapping[str, Any] | None,
) -> LayerHits:
    """Return what bears on a query in its layers of a space, best first.

    `vector` is the query's, shape (dimensions,), or empty without an embedder; `filters` are its
    own, or those of its project. Facts that read as standing instructions apply without resembling
    the query, unless they name a condition. Superseded facts are returned to a query about an
    earlier time, and with `as_of_ms` (ms since 1970), as of which facts and summaries are then.
    """
    asks_history = names_history(query.query_text, vector, context.embedder.name)
    hits, layers = LayerHits(asks_history=asks_history), query.layers or LAYERS
    if not space.layers_made:
        return hits
    view = layers_view(context, tx, space)
    kinds = layers_of(view["event"])
    is_old = kinds == Layer.OLD_FACT
    with_old = bool(is_old.any()) and (as_of_ms is not None or asks_history)
    groups = ((kinds == Layer.SUMMARY) | (kinds == Layer.MAP)).astype("i1")
    if not with_old:
        groups[is_old] = -1
    if filters is not None:
        groups[~passing_layers(tx, space, view, filters)] = -1
    if query.min_trust is not None:
        groups[~trusted_layers(tx, space, view, query.min_trust)] = -1
    cosine = cosines(view, vector)
    among = {"groups": groups, "most": CANDIDATES_MAX}
    fits = list(fitting(view, question.words, cosine, RELEVANT_MIN, **among))
    facts = [one for one in fits if not groups[one.part]]
    summaries = [one for one in fits if groups[one.part]]
    scores = {one.event: one.score for one in facts}
    governing, instructions = _governing(view, facts, groups, cosine)
    if "instructions" not in layers:
        instructions = []
    facts = facts if "facts" in layers else []
    summaries = summaries if "summaries" in layers or "events" in layers else []
    events = dict.fromkeys([*instructions, *(one.event for one in [*facts, *summaries])])
    now_ms = context.clock()
    rows = {
        event: row
        for event, row in layer_rows(tx, space.id, list(events)).items()
        if _holds(row, now_ms, as_of_ms, with_old=with_old)
    }
    hits.facts = _facts(rows, facts)
    near = governing if len(vector) else scores  # without vectors, words decide
    hits.instructions = _instructions(rows, instructions, scores, near, question.text)
    if "events" in layers:
        hits.lifts = _lifts(tx, rows, summaries)
    if "summaries" in layers:
        hits.summaries = _summaries(rows, view, summaries, question)
    return hits


def _governing(
    view: IndexView, facts: Sequence[Fit], groups: npt.NDArray[Any], cosine: npt.NDArray[Any]
) -> tuple[list[int], list[int]]:
    """Return the wishes near to a query, and those to examine: near, fitting, then the newest.

    Near are preferences and conditional instructions, the nearest first. `groups`, (size,), is
    below 0 for what is left out; `cosine`, (size,), is that of the query.
    """
    event, kinds = view["event"], (Layer.INSTRUCTION, Layer.CONDITIONAL)
    layers = np.where(groups < 0, -1, layers_of(event))
    near = ((layers == Layer.CONDITIONAL) & (cosine >= GOVERNED_MIN)).nonzero()[0]
    best = near[np.argsort(-cosine[near], kind="stable")][:CANDIDATES_MAX]
    governing = list(dict.fromkeys(event[best].tolist()))
    bearing = [one.event for one in facts if layers_of(one.event) in kinds]
    unconditional: list[int] = sorted(set(event[layers == Layer.INSTRUCTION].tolist()))
    newest = unconditional[: -INSTRUCTIONS_READ_MAX - 1 : -1]
    return governing, list(dict.fromkeys([*governing, *bearing, *newest]))


def _holds(row: Row, now_ms: int, as_of_ms: int | None, *, with_old: bool) -> bool:
    """Return True if a fact or summary is to be served now, or as of an earlier time."""
    at_ms = now_ms if as_of_ms is None else as_of_ms
    if row.since_ms > at_ms or (row.expires_ms is not None and row.expires_ms <= now_ms):
        return False
    is_over = row.valid_to_ms is not None and row.valid_to_ms <= at_ms
    return not is_over or (as_of_ms is None and with_old and row.status == SUPERSEDED)


def _facts(rows: Rows, scored: Sequence[Fit]) -> list[FactHit]:
    """Return facts by score, after each superseded one gave its score to what replaced it."""
    scores: dict[str, float] = {}
    found: list[Row] = []
    for one in scored:
        row = rows.get(one.event)
        # What was recognised in a turn is an instruction; its turn may be a hit.
        if row is not None and row.origin != 1 and len(found) < FACTS_FOUND_MAX:
            found.append(row)
            scores[row.fact_id] = round(one.score, 4)
    for row in found:
        older, newer = row.fact_id, row.superseded_by
        if newer in scores and scores[newer] < scores[older]:
            scores[newer], scores[older] = scores[older], scores[newer]
    found.sort(key=lambda row: (-scores[row.fact_id], row.status == SUPERSEDED))
    return [
        FactHit(
            # A version is an earlier wording of the fact that took its place.
            fact_id=row.superseded_by if row.origin == VERSION else row.fact_id,
            text=row.text,
            source=SOURCES[row.source],
            status="superseded" if row.status == SUPERSEDED else "current",
            valid_from=rfc3339(row.since_ms),
            valid_to=None if row.valid_to_ms is None else rfc3339(row.valid_to_ms),
            superseded_by=row.superseded_by,
            event_id=row.event_id,
            metadata=read_metadata(row.metadata),
            score=scores[row.fact_id],
        )
        for row in found
    ]


def _instructions(
    rows: Rows, events: Sequence[int], scores: Scores, near: Container[int], query: str
) -> list[InstructionHit]:
    """Return instructions; those with scores must also fit a query by words, or very well.

    Preferences must be among those near to the query.
    """
    counts, hits = {"instruction": 0, "preference": 0}, []
    for event in events:
        row = rows.get(event)
        instruction = None if row is None else wish_of(row)
        if row is None or instruction is None:
            continue
        is_fit = event in near
        if instruction.kind != "preference":
            score = scores.get(event, 1.0 if instruction.condition is None else 0.0)
            is_fit = score >= CONDITION_MIN or applies(instruction, query) > 0
        if not is_fit or counts[instruction.kind] == INSTRUCTIONS_FOUND_MAX:
            continue
        counts[instruction.kind] += 1
        hits.append(
            InstructionHit(
                instruction_id=row.fact_id,
                text=row.text,
                source=SOURCES[row.source],
                kind="preference" if instruction.kind == "preference" else "instruction",
                condition=instruction.condition,
                valid_from=rfc3339(row.since_ms),
                event_id=row.event_id,
                metadata=read_metadata(row.metadata),
            )
        )
    return hits


def _summaries(
    rows: Rows, view: IndexView, scored: Sequence[Fit], question: ParsedQuery
) -> list[SummaryHit]:
    found = [(one, rows[one.event]) for one in scored if one.event in rows][:SUMMARIES_FOUND_MAX]
    firsts = np.searchsorted(view["event"], [one.event for one, _ in found]).tolist()
    return [
        SummaryHit(
            l1_id=row.l1_id,
            map_version=row.item if row.kind == Layer.MAP else None,
            session_id=row.session_id or None,
            topic=row.topic,
            text=_relevant_text(row, one.part - first, question),
            source=SOURCES[row.source],
            score=round(one.score, 4),
        )
        for (one, row), first in zip(found, firsts, strict=True)
    ]


def _lifts(tx: Transaction, rows: Rows, scored: Sequence[Fit]) -> dict[int, float]:
    """Return the score to add to each turn that one of the best L1s covers."""
    l1s = [
        (rows[one.event].item, one.score)
        for one in scored
        if one.event in rows and rows[one.event].kind == Layer.SUMMARY
    ]
    best = dict(reversed(l1s[:SUMMARIES_FOUND_MAX]))
    if not best:
        return {}
    lifts: dict[int, float] = {}
    covered = tx.all(SQL.turns_of_l1s, l1s=json.dumps(list(best)), most=LIFTED_TURNS_MAX)
    for row in sorted(covered, key=lambda row: best[row.l1]):  # the largest lift of a turn counts
        turns = map(number_of, json.loads(row.turns))
        lifts |= dict.fromkeys(turns, SUMMARY_LIFT * best[row.l1])
    return lifts


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
