"""Train the ranker and its calibration on several sets; write search/ranker.json.

    python -m bench.train_ranker FOLDER [--report]

FOLDER contains the development files of LoCoMo, BEAM and RealMem (bench/sets.py); the project's own
sets join them (coding days, everyday facts, languages; only their development halves). Each set
counts alike. `--report` also trains with one set left out at a time, and with a third of the
conversations of every set left out, and writes the recall of what was left out to
bench/results.md. Deterministic.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bench.evidence import DEPTHS, formatted
from bench.ranker_cases import Case, cases_of_sets, of_sets, recall_at
from bench.ranker_network import Training, rounded, trained
from bench.report import table, write_section
from remembrancer.search import Ranker, open_embedder
from remembrancer.search.ranking import EVIDENCE, evidence_of, ranker_of

Array: TypeAlias = npt.NDArray[Any]
Cases: TypeAlias = Mapping[str, Sequence[Case]]

PUBLIC = ("LoCoMo", "BEAM-500K", "RealMem")
HITS = 10  # of a search, whose scores are calibrated
FOLDS = 3
BINS = 10
EMBEDDERS = ("multilingual", "none")
UNKNOWN = {"answerable": np.zeros(len(EVIDENCE) + 1), "hit": np.zeros(3)}


def fitted(used: Cases) -> dict[str, Any]:
    """Return the parameters of a ranker trained on some sets.

    Its calibration is fitted to the scores that conversations get from rankers trained without
    them: on those it was trained on, a ranker is too sure.
    """
    folds = folds_of(used)
    others = [ranker_of(_trained(without(used, folds, fold))) for fold in range(FOLDS)]
    pairs = [case for some in _with_strangers(used) for case in some]
    return rounded(
        _trained(used)
        | {"calibration": calibration(pairs, [others[folds[case.conversation]] for case in pairs])}
    )


def _trained(sets: Cases) -> dict[str, Any]:
    return rounded(trained(of_sets(sets), Training()) | {"calibration": UNKNOWN})


def calibration(pairs: Sequence[Case], rankers: Sequence[Ranker]) -> dict[str, Array]:
    """Fit logistic curves: whether a memory answers, and whether a hit is right (Platt 1999).

    `rankers` has one for each case. Questions of a memory and of strangers count alike, and so does
    each set.
    """
    scores = [ranker(case.features) for case, ranker in zip(pairs, rankers, strict=True)]
    evidence = np.array(
        [
            evidence_of(case.features, one, ranker.start)
            for case, one, ranker in zip(pairs, scores, rankers, strict=True)
        ]
    )
    is_own = np.array([case.evidence > 0 for case in pairs], float)
    weights = _weights([(case.set, case.evidence > 0) for case in pairs])
    answerable = logistic(evidence, is_own, weights)
    odds = np.c_[evidence, np.ones(len(evidence))] @ answerable
    rows, labels, shares = [], [], []
    for case, of_events, own_odds, weight in zip(pairs, scores, odds, weights, strict=True):
        best = np.argsort(-of_events, kind="stable")[:HITS]
        log_shares = of_events[best] - np.logaddexp.reduce(of_events)
        rows += [[share, own_odds] for share in log_shares]
        labels += (case.answers[best] > 0).tolist()
        shares += [weight] * len(best)
    hit = logistic(np.array(rows), np.array(labels, float), np.array(shares))
    return {"answerable": answerable, "hit": hit}


def _with_strangers(sets: Cases) -> list[Sequence[Case]]:
    return [some for some in sets.values() if any(not case.evidence for case in some)]


def _weights(groups: Sequence[Any]) -> Array:
    """Return a weight for each element, so that each group counts alike; mean 1."""
    counts = {group: groups.count(group) for group in set(groups)}
    weights = np.array([1 / counts[group] for group in groups])
    result: Array = weights / weights.mean()
    return result


def logistic(inputs: Array, labels: Array, weights: Array) -> Array:
    """Fit a logistic curve by Newton's method: its slopes, then its offset."""
    design = np.c_[inputs, np.ones(len(inputs))]
    values = np.zeros(design.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-np.clip(design @ values, -30, 30)))
        gradient = design.T @ (weights * (labels - chance)) - 1e-2 * values
        curve = (design * (weights * chance * (1 - chance))[:, None]).T @ design
        values = values + np.linalg.solve(curve + 1e-2 * np.eye(len(values)), gradient)
    return values


def report(sets: Cases, held_out: Cases) -> str:
    """Return tables of recall and calibration on what the ranker was not trained on."""
    folds = folds_of(sets)
    by_fold = [ranker_of(_trained(without(sets, folds, fold))) for fold in range(FOLDS)]
    final = ranker_of(fitted(sets))
    rows, bins = [], []
    measured: dict[str, list[Array]] = {}
    for key, some in {**sets, **held_out}.items():
        own = [case for case in some if case.evidence]
        is_trained = key in sets
        unseen = ranker_of(fitted(without_set(sets, key))) if is_trained else final
        others = [by_fold[folds[case.conversation]] if is_trained else final for case in own]
        row = [key, f"{len(own)}"]
        measured[key] = [
            _recalls(own, [case.plain for case in own]),
            _recalls(own, [one(case.features) for one, case in zip(others, own, strict=True)]),
            _recalls(own, [unseen(case.features) for case in own]),
        ]
        row += [formatted([values]) for values in measured[key][: 2 + is_trained]]
        row += [""] * (not is_trained)
        if len(own) == len(some):
            rows.append([*row, "", "", ""])
            continue
        hits = _hits(unseen, some)
        shares = [f"{float((values >= 0.5).mean()):.2f}" for values in (hits.own, hits.strangers)]
        rows.append([*row, *shares, f"{calibration_error(hits):.3f}"])
        bins.append(
            [
                key,
                *(
                    f"{mean:.2f}→{share:.2f}" if mass else ""
                    for mean, share, mass in reliability(hits)
                ),
            ]
        )
    together = [formatted([measured[key][at] for key in PUBLIC]) for at in range(3)]
    rows.append([f"mean of {', '.join(PUBLIC)}", "", *together, "", "", ""])
    heads = ["set", "questions", "plain fusion", "its conversations left out", "the set left out"]
    heads += ["own answerable >= .5", "strangers' >= .5", "calibration error of `score`"]
    edges = [f"{one / BINS:.1f}" for one in range(BINS)]
    return (
        "Evidence recall@5/@10/@50 among the candidates of the ranker, with bootstrap intervals of "
        "95 %. Calibration is that of the "
        "ranker trained without the set; half of the questions are strangers'.\n\n"
        + table(heads, rows)
        + "\n\nReliability of `score` by bins of 0.1: its mean, and the share of right hits.\n\n"
        + table(["set", *edges], bins)
    )


def without(sets: Cases, folds: Mapping[str, int], fold: int) -> Cases:
    """Return the sets without the conversations of one fold."""
    return {
        name: [case for case in some if folds[case.conversation] != fold]
        for name, some in sets.items()
    }


def folds_of(sets: Cases) -> dict[str, int]:
    """Return the fold of each conversation, 0..FOLDS - 1; each set has some in every fold.

    A small memory and quotes are in the fold of the conversation that they were cut out of.
    """
    folds: dict[str, int] = {}
    for some in sets.values():
        for place, one in enumerate(dict.fromkeys(case.conversation for case in some)):
            origin = next((name for name in folds if one.startswith(f"{name} ")), None)
            folds[one] = folds.get(one, place % FOLDS) if origin is None else folds[origin]
    return folds


def without_set(sets: Cases, name: str) -> Cases:
    """Return the sets without one of them and all that was made of its conversations."""
    names = {case.conversation for case in sets[name]}
    starts = tuple(f"{one} " for one in names)
    return {
        key: [
            case
            for case in some
            if case.conversation not in names and not case.conversation.startswith(starts)
        ]
        for key, some in sets.items()
    }


def _recalls(own: Sequence[Case], scores: Sequence[Array]) -> Array:
    """Return the recall of each question at each of DEPTHS."""
    return np.array(
        [recall_at(case, score, DEPTHS) for case, score in zip(own, scores, strict=True)]
    )


class Hits(NamedTuple):
    """The first hits of every question of a set, and whether each is right."""

    chances: Array  # (N,) scores of the hits
    is_right: Array  # (N,) 0 or 1
    weights: Array  # (N,) own questions count as much as strangers' together
    own: Array  # `answerable` of the memory's own questions
    strangers: Array  # of the others


def _hits(ranker: Ranker, some: Sequence[Case]) -> Hits:
    answerable: dict[bool, list[float]] = {True: [], False: []}
    values, labels, weights = [], [], []
    count = sum(case.evidence > 0 for case in some)
    for case in some:
        is_own = case.evidence > 0
        scores = ranker(case.features)
        evidence = evidence_of(case.features, scores, ranker.start)
        answerable[is_own].append(ranker.answerable(evidence))
        best = np.argsort(-scores, kind="stable")[:HITS]
        values += ranker.chances(scores[best], scores, evidence).tolist()
        labels += (case.answers[best] > 0).tolist()
        weights += [1 / (count if is_own else len(some) - count)] * len(best)
    arrays = (values, np.array(labels, float), weights, answerable[True], answerable[False])
    return Hits(*map(np.array, arrays))


def calibration_error(hits: Hits) -> float:
    """Return the expected calibration error in bins of equal width (Guo et al., ICML 2017)."""
    gaps = [mass * abs(mean - share) for mean, share, mass in reliability(hits)]
    return float(sum(gaps))


def reliability(hits: Hits) -> list[tuple[float, float, float]]:
    """Return of each bin the mean score, the share of right hits, and the share of all hits."""
    bins = np.minimum((hits.chances * BINS).astype(int), BINS - 1)
    total = hits.weights.sum()
    rows = []
    for one in range(BINS):
        inside = bins == one
        weights = hits.weights[inside]
        mass = float(weights.sum())
        mean, share = (
            float((values[inside] * weights).sum()) / mass if mass else 0.0
            for values in (hits.chances, hits.is_right)
        )
        rows.append((mean, share, mass / float(total)))
    return rows


def main() -> None:
    """Train for every built-in embedder and write the parameters."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--report", action="store_true", help="also measure what was left out")
    parser.add_argument("--cache", type=Path, help="file that keeps the vectors between runs")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("src/remembrancer/search/ranker.json"),
        help="Default: %(default)s",
    )
    arguments = parser.parse_args()
    rows, parts = {}, []
    for name in EMBEDDERS:
        embedder = open_embedder(name)
        sets, held_out = cases_of_sets(arguments.folder, embedder, arguments.cache)
        rows[name] = fitted(sets)
        if arguments.report and embedder.dimensions:
            parts += [f"**Embedder `{name}`**", "", report(sets, held_out), ""]
    arguments.out.write_text(json.dumps(rows, separators=(",", ":")) + "\n", "utf-8")
    if arguments.report:
        command = "python -m bench.train_ranker FOLDER --report"
        title = "The ranker on what it was not trained on"
        write_section("ranker", title, command, "\n".join(parts))


if __name__ == "__main__":
    main()
