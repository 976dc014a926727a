"""Train the ranker and its calibration on several sets; write search/ranker.json.

    make ranker SETS=FOLDER [ARGS=--report]  # installs LightGBM apart, and runs this module

FOLDER contains the development files of bench/sets.py; the project's own sets join them (coding
days, everyday facts, languages; only their development halves). Each set counts alike. Before the
file is written, a ranker is trained without each style in turn, and must not be below plain fusion
on it, at 10 events or at 50: the file keeps these differences, and a test reads them. `--report`
writes the table to bench/results.md, with an ablation of each feature. Deterministic.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bench.evidence import interval
from bench.ranker_cases import Case, cases_of_sets, of_sets, recall_at
from bench.ranker_trees import Training, trained
from bench.report import arguments_of, table, write_section
from remembrancer.search import Ranker, open_embedder
from remembrancer.search.ranking import EVIDENCE, FEATURES, FEW_EVENTS, checksum, ranker_of

Array: TypeAlias = npt.NDArray[Any]
Cases: TypeAlias = Mapping[str, Sequence[Case]]

# A style is left out as a whole: its sets, and all that was made of their conversations.
STYLES = {
    "LoCoMo": ("LoCoMo", "LoCoMo, turns"),
    "BEAM-500K": ("BEAM-500K",),
    "RealMem": ("RealMem",),
    "PrefEval, stated": ("PrefEval, stated",),
    "PrefEval, implied": ("PrefEval, implied",),
    "coding days": ("coding days",),
    "everyday": ("everyday",),
    "languages": ("languages",),
    "facts": ("facts", "facts across languages"),
}
HITS = 10  # of a search, whose scores are calibrated
DEPTHS = (1, 10, 50)
FOLDS = 3
BINS = 10
BELIEVED = 0.5  # `answerable` from which hooks, chat and /v1 put hits into a prompt
EMBEDDERS = ("multilingual", "none")
UNKNOWN = {"answerable": np.zeros(len(EVIDENCE) + 1), "hit": np.zeros(3)}


def fitted(used: Cases, how: Training | None = None) -> dict[str, Any]:
    """Return the parameters of a ranker trained on some sets.

    Its calibration is fitted to the scores that conversations get from rankers trained without
    them: on those it was trained on, a ranker is too sure.
    """
    folds = folds_of(used)
    others = [_ranker(without(used, folds, fold), how) for fold in range(FOLDS)]
    pairs = [case for some in used.values() if _has_strangers(some) for case in some]
    curves = calibration(pairs, [others[folds[case.conversation]] for case in pairs])
    rounded = {key: np.round(values, 4).tolist() for key, values in curves.items()}
    return trained(of_sets(used), how) | {"calibration": rounded}


def _ranker(sets: Cases, how: Training | None = None) -> Ranker:
    return ranker_of(trained(of_sets(sets), how) | {"calibration": UNKNOWN})


def _has_strangers(some: Sequence[Case]) -> bool:
    return any(not case.evidence for case in some)


def calibration(pairs: Sequence[Case], rankers: Sequence[Ranker]) -> dict[str, Array]:
    """Fit logistic curves: whether a memory answers, and whether a hit is right (Platt 1999).

    `rankers` has one for each case. Questions of a memory and of strangers count alike, and so does
    each set.
    """
    scores = [ranker(case.features) for case, ranker in zip(pairs, rankers, strict=True)]
    evidence = np.array(
        [
            signs_with(case, one, ranker.start)
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


def signs_with(case: Case, scores: Array, start: float) -> Array:
    """Return the evidence of a case for a ranker: the last sign is the lead of its best event."""
    signs = case.signs.copy()
    if len(scores):
        signs[-1] = scores.max() - (scores.sum() + FEW_EVENTS * start) / (len(scores) + FEW_EVENTS)
    return signs


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


class LeftOut(NamedTuple):
    """Recall of a style from a ranker that was trained without it, beside plain fusion."""

    questions: int
    plain: Array  # (questions, len(DEPTHS))
    ranked: Array

    @property
    def gains(self) -> list[list[float]]:
        """The paired gain at 10 and at 50 with its interval of 95 %: mean, low, high."""
        rows = []
        for column in (1, 2):
            gain = self.ranked[:, column] - self.plain[:, column]
            rows.append([round(value, 4) for value in (float(gain.mean()), *interval([gain]))])
        return rows


def left_out(sets: Cases, style: str, how: Training | None = None) -> LeftOut:
    """Train without a style and measure it."""
    ranker = _ranker(without_style(sets, style), how)
    own = [case for name in STYLES[style] for case in sets[name] if case.evidence]
    own = [case for case in own if case.set != "LoCoMo, turns"]
    plain = np.array([recall_at(case, case.plain, DEPTHS) for case in own])
    ranked = np.array([recall_at(case, ranker(case.features), DEPTHS) for case in own])
    return LeftOut(len(own), plain, ranked)


class Belief(NamedTuple):
    """The verdicts of a calibrated ranker on own and on strange questions of a style."""

    own: Array  # `answerable` of the memory's own questions
    strangers: Array  # of those of other memories
    chances: Array  # (N,) the scores of the first hits
    is_right: Array  # (N,) whether these answer
    weights: Array  # (N,) own questions count as much as strangers'

    @property
    def strangers_believed(self) -> float:
        """The share of strange questions that are believed where .90 of the own ones are."""
        return float((self.strangers >= np.quantile(self.own, 0.1)).mean())

    @property
    def calibration_error(self) -> float:
        """The expected calibration error in bins of equal width (Guo et al., ICML 2017)."""
        places = np.minimum((self.chances * BINS).astype(int), BINS - 1)
        gap = self.weights * (self.chances - self.is_right)
        return float(np.abs(np.bincount(places, gap, BINS)).sum() / self.weights.sum())


def believed(sets: Cases, style: str) -> Belief | None:
    """Calibrate a ranker without a style and ask it; None for a style without strange questions."""
    some = [case for name in STYLES[style] for case in sets[name]]
    if not _has_strangers(some):
        return None
    ranker = ranker_of(fitted(without_style(sets, style)))
    answerable: dict[bool, list[float]] = {True: [], False: []}
    chances, is_right, weights = [], [], []
    counts = Counter(case.evidence > 0 for case in some)
    for case in some:
        is_own, scores = case.evidence > 0, ranker(case.features)
        odds = ranker.answerable_odds(signs_with(case, scores, ranker.start))
        answerable[is_own].append(float(1 / (1 + np.exp(-odds))))
        best = np.argsort(-scores, kind="stable")[:HITS]
        chances += ranker.chances(scores[best], scores, odds).tolist()
        is_right += (case.answers[best] > 0).tolist()
        weights += [1 / counts[is_own]] * len(best)
    columns = answerable[True], answerable[False], chances, np.array(is_right, float), weights
    return Belief(*map(np.array, columns))


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


def without_style(sets: Cases, style: str) -> Cases:
    """Return the sets without those of a style and all that was made of their conversations."""
    names = {case.conversation for name in STYLES[style] for case in sets[name]}
    starts = tuple(f"{one} " for one in names)
    return {
        key: [
            case
            for case in some
            if case.conversation not in names and not case.conversation.startswith(starts)
        ]
        for key, some in sets.items()
    }


def report(sets: Cases, held_out: Cases) -> str:
    """Return tables: each style left out, and each feature left out of that."""
    rows = []
    for style in STYLES:
        one = left_out(sets, style)
        gains = [f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]" for mean, low, high in one.gains]
        rows.append([style, f"{one.questions}", _means(one.plain), _means(one.ranked), *gains])
    final = _ranker(sets)
    for name, some in held_out.items():
        own = [case for case in some if case.evidence]
        plain = np.array([recall_at(case, case.plain, DEPTHS) for case in own])
        ranked = np.array([recall_at(case, final(case.features), DEPTHS) for case in own])
        rows.append([name, f"{len(own)}", _means(plain), _means(ranked), "", ""])
    ablated = []
    for off in ("", *FEATURES):
        how = Training(off=(off,) if off else ())
        recalls = [left_out(sets, style, how).ranked[:, 1] for style in STYLES]
        means = [float(values.mean()) for values in recalls]
        mean_of_all = sum(means) / len(means)
        ablated.append([off or "none", *(f"{mean:.3f}" for mean in means), f"{mean_of_all:.4f}"])
    beliefs = []
    for style in STYLES:
        belief = believed(sets, style)
        if belief is not None:
            shares = [(values >= BELIEVED).mean() for values in (belief.own, belief.strangers)]
            cells = [*shares, belief.strangers_believed, belief.calibration_error]
            beliefs.append([style, *(f"{value:.2f}" for value in cells)])
    heads = ["style", "questions", "plain fusion @1/@10/@50", "the style left out", "gain @10"]
    signs = ["style", f"own >= {BELIEVED}", f"strangers' >= {BELIEVED}"]
    signs += ["strangers' where own are .90", "calibration error of `score`"]
    return (
        "Evidence recall among the candidates of the ranker (of implied preferences: hit). Gains "
        "are paired, with a bootstrap interval of 95 %.\n\n"
        + table([*heads, "gain @50"], rows)
        + "\n\nRecall@10 of each style left out, without a feature.\n\n"
        + table(["without", *STYLES, "mean"], ablated)
        + "\n\n`answerable` of a ranker trained and calibrated without the style: the share "
        "of own and of strange questions that it believes.\n\n" + table(signs, beliefs)
    )


def _means(recalls: Array) -> str:
    return " / ".join(f"{mean:.3f}" for mean in recalls.mean(axis=0))


def main() -> None:
    """Train for every built-in embedder and write the parameters."""
    parser = arguments_of(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--report", action="store_true", help="also write the tables")
    parser.add_argument("--cache", type=Path, help="file that keeps the vectors between runs")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("src/remembrancer/search/ranker.json"),
        help="Default: %(default)s",
    )
    arguments = parser.parse_args()
    rows: dict[str, Any] = {}
    for name in EMBEDDERS:
        embedder = open_embedder(name)
        sets, held_out = cases_of_sets(arguments.folder, embedder, arguments.cache)
        rows[name] = fitted(sets)
        rows[name]["checksum"] = checksum(rows[name])
        rows[name]["left_out"] = {style: left_out(sets, style).gains for style in STYLES}
        for style, gains in rows[name]["left_out"].items():
            print(name, style, gains, flush=True)
        worse = [style for style, gains in rows[name]["left_out"].items() if below(gains)]
        if worse and name == "multilingual":
            parser.exit(1, f"below plain fusion without the style: {', '.join(worse)}\n")
        if arguments.report and embedder.dimensions:
            command = "make ranker SETS=FOLDER ARGS=--report"
            title = "The ranker on styles that it was not trained on"
            write_section("ranker", title, command, report(sets, held_out))
    arguments.out.write_text(json.dumps(rows, separators=(",", ":")) + "\n", "utf-8")


def below(gains: Sequence[Sequence[float]]) -> bool:
    """Return True if a gain is surely negative: its whole interval is below 0."""
    return any(high < 0 for _, _, high in gains)


if __name__ == "__main__":
    main()
