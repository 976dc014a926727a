"""Measure what each part of the ranker's features adds, and what it costs.

    python -m bench.ranker_parts FOLDER [--cache FILE]

A ranker is trained without one group of features at a time, as bench/train_ranker.py trains it, and
measured on the conversations that it was not trained on; coding days and everyday memories also on
their held-out ones. The CPU is that of the functions that compute the group, for the questions of
one BEAM conversation of 500,000 tokens, whose pools are the largest.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from unittest import mock

import numpy as np

from bench.ranker_cases import Case, cases_of_sets, of_sets, recall_at, spaces
from bench.ranker_network import Training, rounded, trained
from bench.report import table, write_section
from bench.spaces import ranking, view_of
from bench.train_ranker import FOLDS, UNKNOWN, folds_of, without
from remembrancer.search import Ranker, load_ranker, open_embedder
from remembrancer.search import ranking as features
from remembrancer.search.ranking import CONTEXT_FEATURES, FEATURES, SIGNALS, ranker_of

Cases: TypeAlias = Mapping[str, Sequence[Case]]

COLUMNS = (
    "LoCoMo",
    "BEAM-500K",
    "RealMem",
    "coding days, held out",
    "everyday, held out",
    "languages",
)
DEPTHS = (1, 10, 50)
GROUPS: dict[str, tuple[str, ...]] = {
    "none": (),
    **SIGNALS,
    "form": tuple(
        name
        for name in FEATURES
        if name not in CONTEXT_FEATURES and not any(name in some for some in SIGNALS.values())
    ),
    "of the query and its memory": CONTEXT_FEATURES,
}
# The functions that compute them; text and dense share one with both together.
FUNCTIONS = {
    "text and dense": "_of_best_parts",
    "text": "_of_words",
    "neighbour": "_of_neighbours",
    "date": "_of_time_and_speaker",
    "form": "_of_form",
    "of the query and its memory": "_of_context",
}


def ranker_without(sets: Cases, off: Sequence[str]) -> Ranker:
    """Train a ranker without some features."""
    parameters = trained(of_sets(sets), Training(off=tuple(off)))
    return ranker_of(rounded(parameters | {"calibration": UNKNOWN}))


def recalls(sets: Cases, held_out: Cases, off: Sequence[str]) -> list[str]:
    """Return recall@1/@10/@50 of each of COLUMNS, conversations left out."""
    folds = folds_of(sets)
    rankers = [ranker_without(without(sets, folds, fold), off) for fold in range(FOLDS)]
    cells = []
    for name in COLUMNS:
        values = [
            np.mean([recall_at(case, one(case.features), DEPTHS) for one in chosen], axis=0)
            for case in {**sets, **held_out}[name]
            if case.evidence
            # A held-out conversation is in no fold: the mean of all rankers.
            for chosen in ([rankers[folds[case.conversation]]] if name in sets else rankers,)
        ]
        cells.append(_means(values))
    return cells


def _means(recalls: Sequence[Any]) -> str:
    """Format the mean recall of questions at each of DEPTHS."""
    return "/".join(f"{value:.3f}" for value in np.mean(recalls, axis=0))


def cpu(folder: Path, embedder_name: str) -> dict[str, float]:
    """Return the CPU milliseconds a query of each of FUNCTIONS, and of the network."""
    embedder = open_embedder(embedder_name)
    conversation = spaces(folder)["BEAM-500K"][0]
    view = view_of(conversation, embedder)
    ranker = load_ranker(embedder_name)
    cost: dict[str, float] = {}

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            start = time.process_time()
            result = function(*arguments)
            cost[name] = cost.get(name, 0.0) + time.process_time() - start
            return result

        return call

    patches = [
        mock.patch.object(features, function, timed(name, getattr(features, function)))
        for name, function in FUNCTIONS.items()
    ]
    for patch in patches:
        patch.start()
    for question in conversation.questions:
        candidates = ranking(view, question.text, embedder)
        timed("of all events of the pool", lambda some=candidates: some.pool_events.candidates)()
        timed("network", ranker)(candidates.features)
    for patch in patches:
        patch.stop()
    return {name: 1_000 * one / len(conversation.questions) for name, one in cost.items()}


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cache", type=Path, help="file that keeps the vectors between runs")
    arguments = parser.parse_args()
    embedder = open_embedder("multilingual")
    sets, held_out = cases_of_sets(arguments.folder, embedder, arguments.cache)
    cost = cpu(arguments.folder, "multilingual")
    plain = [
        _means(
            [
                recall_at(case, case.plain, DEPTHS)
                for case in {**sets, **held_out}[name]
                if case.evidence
            ]
        )
        for name in COLUMNS
    ]
    rows = [["all (plain fusion)", *plain, ""]]
    for name, off in GROUPS.items():
        ms = f"{cost[name]:.2f}" if name in cost else ""
        rows.append([name, *recalls(sets, held_out, off), ms])
    text = table(["left out", *COLUMNS, "CPU ms"], rows)
    text += (
        "\n\nRecall@1/@10/@50 of the evidence. CPU of the network: "
        f"{cost['network']:.2f} ms; of the choice of candidates, which has the session's feature: "
        f"{cost['of all events of the pool']:.2f} ms."
    )
    command = "python -m bench.ranker_parts FOLDER"
    write_section("ranker-parts", "What each part of the ranking adds", command, text)


if __name__ == "__main__":
    main()
