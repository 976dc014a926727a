"""Train the linear ranker on the development half of LoCoMo; write search/weights.json.

    python bench/train_ranker.py --data locomo-dev.json

Listwise softmax regression (Cao et al., "Learning to Rank: From Pairwise Approach to Listwise
Approach", ICML 2007) on the parts of each conversation, once with each turn as an event and once
with pairs of turns; then the slope of a logistic curve over the scores (Platt 1999). Deterministic:
no random numbers. Prints leave-one-conversation-out recall.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.locomo import Conversation, conversations
from bench.spaces import ranking, view_of
from remembrancer.search import Embedder, open_embedder
from remembrancer.search.scoring import FEATURES

Array = npt.NDArray[Any]
EPOCHS, RATE, PENALTY = 150, 0.05, 1e-3
# Chosen on the same half: 98.8 % of its questions pass the gate, and none of ten unrelated ones.
FLOORS = {
    "multilingual": {
        "gate_coverage": 0.34,
        "gate_cosine": 0.25,
        "floor_coverage": 0.005,
        "floor_cosine": 0.15,
    },
    "none": {
        "gate_coverage": 0.2,
        "gate_cosine": 2.0,
        "floor_coverage": 0.005,
        "floor_cosine": 2.0,
    },
}


@dataclass(frozen=True, slots=True)
class Case:
    """One question: the features of all parts of its space, and the parts that answer it."""

    fold: int
    features: Array
    answers: Array
    events: Array
    turns: list[tuple[str, ...]]
    evidence: frozenset[str]


def cases(spaces: Sequence[Conversation], embedder: Embedder) -> list[Case]:
    """Return every question of the conversations as a case. Its fold is its conversation."""
    result = []
    for fold, conversation in enumerate(spaces):
        view = view_of(conversation, embedder)
        turns = [event.turns for event in conversation.events]
        for question in conversation.questions:
            candidates = ranking(view, question.text, embedder)
            events, sides = view["event"][candidates.pool], view["side"][candidates.pool]
            turn_of_part = [
                turns[event][min(side, len(turns[event]) - 1)]
                for event, side in zip(events, sides, strict=True)
            ]
            answers = np.array([turn in question.evidence for turn in turn_of_part], "f8")
            result.append(
                Case(
                    fold,
                    candidates.features.astype("f8"),
                    answers,
                    events,
                    turns,
                    question.evidence,
                )
            )
    return result


def fit(cases: Sequence[Case]) -> tuple[Array, Array, Array]:
    """Return the weights, means and deviations of the softmax regression (Adam, full batch)."""
    everything = np.concatenate([case.features for case in cases])
    mean, deviation = everything.mean(0), everything.std(0)
    # A constant feature, such as `dense` without an embedder.
    deviation[deviation < 1e-6] = 1.0
    lists = [
        ((case.features - mean) / deviation, case.answers / case.answers.sum())
        for case in cases
        if case.answers.any()
    ]
    weight = np.zeros(len(mean))
    first, second = np.zeros_like(weight), np.zeros_like(weight)
    for epoch in range(1, EPOCHS + 1):
        slope = PENALTY * weight
        for features, expected in lists:
            chance = np.exp((score := features @ weight) - score.max())
            slope = slope + features.T @ (chance / chance.sum() - expected) / len(lists)
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope * slope
        weight = weight - RATE * (first / (1 - 0.9**epoch)) / (
            np.sqrt(second / (1 - 0.99**epoch)) + 1e-8
        )
    return weight, mean, deviation


def recall_at(case: Case, score: Array, most: int) -> float:
    """Return the recall of the evidence among the `most` best events."""
    best: list[int] = []
    for event in case.events[np.argsort(-score, kind="stable")]:
        if event not in best:
            best.append(int(event))
        if len(best) == most:
            break
    return len(case.evidence & {turn for event in best for turn in case.turns[event]}) / len(
        case.evidence
    )


def logistic(scores: Array, answers: Array) -> float:
    """Return the slope of a logistic fit to the share of answers by score (Newton's method)."""
    slope, offset = 1.0, -3.0
    x = np.stack([scores, np.ones_like(scores)], 1)
    for _ in range(50):
        chance = 1 / (1 + np.exp(-(x @ np.array([slope, offset]))))
        gradient = x.T @ (answers - chance)
        curve = (x * (chance * (1 - chance))[:, None]).T @ x + 1e-6 * np.eye(2)
        slope, offset = np.array([slope, offset]) + np.linalg.solve(curve, gradient)
    return float(slope)


def trained(name: str, cases: list[Case]) -> dict[str, Any]:
    """Return the parameters for an embedder; print its held-out recall."""
    for most in (5, 10, 20):
        shares = []
        for fold in sorted({case.fold for case in cases}):
            weight, mean, deviation = fit([case for case in cases if case.fold != fold])
            shares += [
                (recall_at(c, (c.features - mean) / deviation @ weight, most), len(c.turns[0]))
                for c in cases
                if c.fold == fold
            ]
        turn, pair = (
            np.mean([share for share, size in shares if size == expected]) for expected in (1, 2)
        )
        print(f"{name}: held-out recall@{most} turn {turn:.3f}, pair {pair:.3f}")
    weight, mean, deviation = fit(cases)
    scores = np.concatenate([(case.features - mean) / deviation @ weight for case in cases])
    slope = logistic(scores, np.concatenate([case.answers for case in cases]))
    columns = {"weight": weight, "mean": mean, "deviation": deviation}
    return {
        "features": FEATURES,
        **{key: [round(float(value), 5) for value in column] for key, column in columns.items()},
        "slope": round(slope, 4),
        **FLOORS[name],
    }


def main() -> None:
    """Train for every built-in embedder and write the weights."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("src/remembrancer/search/weights.json"),
        help="Default: %(default)s",
    )
    arguments = parser.parse_args()
    turns = conversations(arguments.data)
    pairs = [conversation.paired() for conversation in turns]
    table = {}
    for name in FLOORS:
        embedder = open_embedder(name)
        table[name] = trained(name, cases(turns, embedder) + cases(pairs, embedder))
    arguments.out.write_text(json.dumps(table, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
