"""Measure what associations add: to storing a turn, milliseconds and bytes; to search, recall.

    python -m bench.associations FOLDER

FOLDER contains files in LoCoMo's format (bench/sets.py). The first turns of a conversation of each
set are stored in two stores, alternating: in one as the service does, in the other without
entities. Real embedder; commits do not wait for the disk, which would hide the difference.
"""

from __future__ import annotations

import argparse
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias
from unittest import mock

import numpy as np

from bench.evidence import DEPTHS, Array, interval, limits
from bench.locomo import Conversation, Event, Question
from bench.report import table, write_section
from bench.sets import read_sets, searchable
from bench.spaces import load_vectors, ranking, views_of
from remembrancer import testing
from remembrancer.accounts import caller_for, keys
from remembrancer.context import Context
from remembrancer.memory.write.events import write_event
from remembrancer.protocol.memory import EventWrite
from remembrancer.search import (
    Associations,
    Embedder,
    RankedEvent,
    association,
    entities,
    entity_keys,
    load_weights,
    open_embedder,
)
from remembrancer.search.associations import (
    CANDIDATES,
    association_features,
    standardized,
)
from remembrancer.search.index import entries
from remembrancer.search.scoring import FREQUENT_SHARE

Weights: TypeAlias = tuple[float, float, float]  # of shared, linked, similar

TURNS = 300  # of each conversation
MULTI_HOP = 1  # LoCoMo's category, also of questions about several sessions
COMPARED = ("LoCoMo", "BEAM-500K", "RealMem")
VARIANTS: dict[str, Weights] = {
    "shared entities": (1.0, 0.0, 0.0),
    "linked entities": (0.0, 0.5, 0.0),
    "both": (1.0, 0.5, 0.0),
    "similar vectors": (0.0, 0.0, 1.0),
    "all, as in `by_association`": (1.0, 0.5, 1.0),
}
GRID = list(product((0.0, 0.5, 1.0, 1.5), (0.0, 0.25, 0.5, 1.0), (0.0, 0.5, 1.0, 1.5)))


class Stores:
    """Two stores of the same turns, with and without their entities."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self.folders = {True: folder / "with", False: folder / "without"}
        self.contexts: dict[bool, Context] = {}
        for key, place in self.folders.items():
            place.mkdir()
            self.contexts[key] = testing.context(place, embedder=embedder)
            keys.create(self.contexts[key], account="owner")

    def store(self, event: Event, *, with_entities: bool) -> float:
        """Store a turn in one of the stores; return the milliseconds of processor time."""
        context = self.contexts[with_entities]
        turn = EventWrite(
            query=event.query,
            response=event.response,
            occurred_at=datetime.fromtimestamp(event.occurred_ms / 1000, UTC),
            user_id="owner",
            session_id=str(event.session),
        )
        none = mock.patch.object(entries, "entity_keys", return_value=())
        with nullcontext() if with_entities else none:
            start = time.process_time()
            write_event(context, caller_for(context), turn)
            return (time.process_time() - start) * 1000

    def close(self) -> dict[bool, int]:
        """Close both; return their sizes in bytes."""
        for context in self.contexts.values():
            context.close()
        return {
            key: sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
            for key, place in self.folders.items()
        }


def cost(conversation: Conversation, embedder: Embedder) -> list[str]:
    """Return medians of milliseconds without and with entities, their ratio, and bytes a turn."""
    ms: dict[bool, list[float]] = {True: [], False: []}
    events = [event for event in conversation.events if event.query][:TURNS]
    with TemporaryDirectory() as folder:
        stores = Stores(Path(folder), embedder)
        for number, event in enumerate(events):
            for with_entities in (number % 2 == 0, number % 2 == 1):
                ms[with_entities].append(stores.store(event, with_entities=with_entities))
        sizes = stores.close()
    without, counted = (float(np.median(ms[key])) for key in (False, True))
    added = (sizes[True] - sizes[False]) / len(events)
    return [
        f"{without:.2f}",
        f"{counted:.2f}",
        f"{counted / without:.3f}x",
        f"{sizes[False] / len(events):,.0f}",
        f"{added:+,.0f}",
    ]


@dataclass(frozen=True, slots=True)
class Case:
    """One question: score and features of its candidates, and the evidence that each has."""

    score: Array  # (candidates,), standardized, descending
    features: Array  # (3, candidates)
    evidence: Array  # (candidates,) number of turns
    total: int
    is_multi_hop: bool

    def recall(self, weights: Weights) -> list[float]:
        """Return the recall at each depth of the ranking with these weights of the features."""
        order = np.argsort(-(self.score + np.array(weights) @ self.features), kind="stable")
        sums = np.cumsum(self.evidence[order]) / self.total
        return [float(sums[min(depth, len(sums)) - 1]) if len(sums) else 0.0 for depth in DEPTHS]


def cases(spaces: Sequence[Conversation], embedder: Embedder) -> list[Case]:
    """Return every question of the conversations with its candidates."""
    weights, result = load_weights(embedder.name), []
    for space in spaces:
        views = views_of(space, embedder, limits(space))
        keys = [entity_keys(event.query, event.response) for event in space.events]
        events_of: dict[str, list[int]] = defaultdict(list)
        for number, some in enumerate(keys):
            for key in some:
                events_of[key].append(number)
        for question in space.questions:
            size = searchable(space, question)
            candidates = ranking(views[size], question.text, embedder)
            ranked = [RankedEvent(*one) for one in candidates.ranked(weights, {}, CANDIDATES)]
            associations = _associations(keys, events_of, question, size, ranked)
            evidence = [
                len(question.evidence.intersection(space.events[one.event].turns)) for one in ranked
            ]
            result.append(
                Case(
                    standardized(ranked) if ranked else np.zeros(0),
                    association_features(views[size], ranked, associations)
                    if ranked
                    else np.zeros((3, 0)),
                    np.array(evidence, "f8"),
                    len(question.evidence),
                    question.category == MULTI_HOP,
                )
            )
    return result


def _associations(
    keys: Sequence[Sequence[str]],
    events_of: Mapping[str, Sequence[int]],
    question: Question,
    size: int,
    ranked: Sequence[RankedEvent],
) -> Associations:
    """Return what the store would return of the first `size` events."""
    turns = {key: bisect_left(events_of[key], size) for one in ranked for key in keys[one.event]}
    linked: dict[str, float] = {}
    for key in {entity.key for entity in entities(question.text)}:
        own = events_of.get(key, ())[: bisect_left(events_of.get(key, ()), size)]
        if not 0 < len(own) <= FREQUENT_SHARE * size:
            continue
        beside = Counter(other for event in own for other in keys[event] if other != key)
        linked[key] = 1.0
        for other, both in beside.items():
            of_other = bisect_left(events_of[other], size)
            strength = association(both, len(own), of_other)
            linked[other] = max(strength, linked.get(other, 0.0))
    of_event = {one.event: keys[one.event] for one in ranked}
    return Associations(of_event=of_event, turns=turns, linked=linked, events=size)


def recalls(some: Sequence[Case], weights: Weights) -> Array:
    """Return the recall of each question at each depth: (questions, len(DEPTHS))."""
    return np.array([case.recall(weights) for case in some])


def left_out(all_cases: Mapping[str, Sequence[Case]], name: str) -> Weights:
    """Return the weights that gain most on the other sets, recall@5 and @10 together."""
    others = [recalls_by_weights(some) for key, some in all_cases.items() if key != name]
    return max(GRID, key=lambda weights: float(np.mean([one[weights] for one in others])))


def recalls_by_weights(some: Sequence[Case]) -> dict[Weights, float]:
    """Return the mean of recall@5 and @10 for all weights of the grid."""
    return {weights: float(recalls(some, weights)[:, :2].mean()) for weights in GRID}


def gains(some: Sequence[Case], label: str, weights: Weights) -> list[str]:
    """Return a row: recall, its gain at 10 with an interval, and recall@10 of multi-hop ones."""
    values = recalls(some, weights)
    gain = (values - recalls(some, (0.0, 0.0, 0.0)))[:, 1]
    low, high = interval([gain])
    is_multi_hop = np.array([case.is_multi_hop for case in some])
    multi_hop = f"{values[is_multi_hop, 1].mean():.3f}" if is_multi_hop.any() else ""
    return [
        label,
        "/".join(f"{value:.3f}" for value in values.mean(0)),
        f"{gain.mean():+.3f} [{low:+.3f}, {high:+.3f}]",
        multi_hop,
    ]


def ablation(sets: Mapping[str, Sequence[Conversation]], embedder: Embedder) -> str:
    """Return a table of what each feature adds, and all with weights of the other sets."""
    all_cases = {name: cases(spaces, embedder) for name, spaces in sets.items()}
    rows = []
    for name, some in all_cases.items():
        rows.append(gains(some, f"{name}: without", (0.0, 0.0, 0.0)))
        for label, weights in VARIANTS.items():
            rows.append(gains(some, label, weights))
        chosen = left_out(all_cases, name)
        rows.append(gains(some, f"weights {chosen} of the other sets", chosen))
    depths = "/".join(f"@{depth}" for depth in DEPTHS)
    return table(["set", f"recall{depths}", "gain @10, 95 %", "multi-hop @10"], rows)


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cache", type=Path, help="file that keeps the vectors between runs")
    arguments = parser.parse_args()
    sets = read_sets(arguments.folder)
    if arguments.cache:
        load_vectors(arguments.cache)
    embedder = open_embedder("multilingual")
    embedder.encode(["The first call loads the weights."])
    rows = [[name, *cost(spaces[0], embedder)] for name, spaces in sets.items()]
    heads = ["set", "ms without", "ms with", "ratio", "bytes a turn without", "added"]
    write_section(
        "associations",
        "Associations",
        "python -m bench.associations FOLDER",
        "Processor time of storing one of the first "
        f"{TURNS} turns of a conversation, median, and bytes of the store.\n\n"
        + table(heads, rows)
        + "\n\nEvidence recall of the ranking, and with `search.by_association` after it, which "
        "searches do not use yet. The last row of each set has the weights that gain most on the "
        "other sets.\n\n"
        + ablation({name: sets[name] for name in sets if name in COMPARED}, embedder),
    )


if __name__ == "__main__":
    main()
