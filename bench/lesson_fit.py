"""Measure which lessons are served in the labelled situations, or train what decides it.

    python -m bench.lesson_fit [--train]

Every situation of bench/situations meets all lessons of the pool. `--train` makes
src/remembrancer/cubes/fit_weights.json from the situations that are not held out: a logistic
regression with an L2 penalty, once with vectors and once without. Precision is that of the at most
three lessons served, over the situations with lessons that fit; silence is the share of situations
without such a lesson in which nothing is served. The floor is the ranking before: coverage of words
and similarity, with its threshold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.report import arguments_of, table, write_section
from bench.situations import PoolLesson, load_situations
from bench.situations import Situation as Labelled
from remembrancer.cubes import fit
from remembrancer.search import Embedder, open_embedder
from remembrancer.settings import Settings

WEIGHTS = Path(fit.__file__).with_name("fit_weights.json")
CANDIDATES, PENALTY, STEPS, SERVED_MAX = 16, 20.0, 40, 3
COSINES, FLOOR_MIN = (0.15, 0.65), 0.35  # of the ranking before
COVERED = 5  # place of the feature: share of the message's words in the lesson
SIZES = 3, 30  # lessons of smaller pools
Rows = list[tuple[list[int], "np.ndarray", "np.ndarray"]]  # candidates, features, labels


@dataclass(frozen=True, slots=True)
class Pool:
    """The lessons with their vectors; none for words alone."""

    lessons: list[PoolLesson]
    texts: list[fit.Wording]
    cohort: fit.Cohort
    heads: fit.Vector
    rules: fit.Vector
    encode: Callable[[str], fit.Vector]
    embedder: Embedder | None = None

    @classmethod
    def open(cls, lessons: list[PoolLesson], *, vectors: bool) -> Pool:
        """Embed the pool."""
        texts = [fit.Wording(one.topic, one.essence, one.rules) for one in lessons]
        if not vectors:
            none = fit.NO_VECTOR
            return cls(lessons, texts, fit.cohort_of(None), none, none, lambda _: none)
        embedder = open_embedder(Settings().embedder)
        return cls(
            lessons,
            texts,
            fit.cohort_of(embedder),
            embedder.encode([one.head for one in texts]),
            embedder.encode([one.rules for one in texts]),
            lambda text: embedder.encode_queries([text])[0] if text else fit.NO_VECTOR,
            embedder,
        )

    def rows(self, one: Labelled) -> tuple[list[int], np.ndarray, np.ndarray]:
        """Return the best candidates of a situation, their features and labels."""
        situation = fit.Situation(
            message=one.query, error=one.error, others=(*one.tools, *one.files)
        )
        message, error = self.encode(one.query), self.encode(one.error)
        fits = fit.LessonFit(situation, self.cohort, message, error)
        candidates = [
            replace(text, near=self.near(place, message, error))
            for place, text in enumerate(self.texts)
        ]
        features = fits.features(candidates)
        order = np.argsort(-features[:, 0])[:CANDIDATES].tolist()
        labels = np.array([self.lessons[place].name in one.fits for place in order], float)
        return order, features[order], labels

    def near(self, place: int, message: fit.Vector, error: fit.Vector) -> fit.Similarities | None:
        """Return the similarities of a lesson; None without vectors."""
        if not len(message):
            return None
        head, rules = self.heads[place], self.rules[place]
        near_error = float(max(head @ error, rules @ error)) if len(error) else 0.0
        return fit.Similarities(
            head=float(head @ message), rules=float(rules @ message), error=near_error
        )


def train(rows: Rows) -> dict[str, list[float] | float]:
    """Return the weights by Newton's method."""
    features = np.vstack([one for _, one, _ in rows])
    labels = np.concatenate([one for _, _, one in rows])
    mean, scale = features.mean(0), features.std(0) + 1e-6
    x = np.hstack([(features - mean) / scale, np.ones((len(features), 1))])
    weights = np.zeros(x.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (p - labels) + PENALTY * np.append(weights[:-1], 0)
        curve = (x * (p * (1 - p))[:, None]).T @ x + PENALTY * np.eye(len(weights))
        weights -= np.linalg.solve(curve, slope)
    return {
        "mean": np.round(mean, 6).tolist(),
        "scale": np.round(scale, 6).tolist(),
        "slope": np.round(weights[:-1], 6).tolist(),
        "bias": round(float(weights[-1]), 6),
    }


def figures(served: Sequence[Sequence[str]], situations: Sequence[Labelled]) -> list[str]:
    """Return precision at three, recall and silence, as cells."""
    precision, recall, silence = [], [], []
    for names, one in zip(served, situations, strict=True):
        if not one.fits:
            silence.append(not names)
            continue
        right = len(set(names) & set(one.fits))
        recall.append(right / len(one.fits))
        if names:
            precision.append(right / len(names))
    quiet = f"{np.mean(silence):.3f} ({sum(silence)} of {len(silence)})"
    return [f"{np.mean(precision):.3f}", f"{np.mean(recall):.3f}", quiet]


def floor(pool: Pool, one: Labelled) -> list[str]:
    """Return what the ranking before serves: coverage and similarity, with a threshold."""
    order, features, _ = pool.rows(one)
    near = [pool.near(place, pool.encode(one.query), fit.NO_VECTOR) for place in order]
    low, high = COSINES
    best = np.array([max(row.head, row.rules) if row else 0.0 for row in near])
    score = 1 - (1 - np.minimum(features[:, COVERED], 1)) * (
        1 - np.clip((best - low) / (high - low), 0, 1)
    )
    chosen = [k for k in np.argsort(-score)[:SERVED_MAX] if score[k] >= FLOOR_MIN]
    return [pool.lessons[order[k]].name for k in chosen]


def served(
    pools: tuple[Pool, Pool], one: Labelled, places: Sequence[int], *, vectors: bool
) -> list[str]:
    """Return the names of the lessons served of those at these places, best first."""
    pool = pools[0]
    situation = fit.Situation(message=one.query, error=one.error, others=(*one.tools, *one.files))
    message, error = pool.encode(one.query), pool.encode(one.error)
    lessons = [
        replace(pool.texts[place], near=pool.near(place, message, error)) for place in places
    ]
    embedder = pool.embedder if vectors else None
    chances = fit.chances(situation, embedder, message, error, lessons)
    best = sorted(range(len(places)), key=lambda k: -chances[k])[:SERVED_MAX]
    least = fit.fits_min(len(places))
    return [pool.lessons[places[k]].name for k in best if chances[k] >= least]


def main() -> None:
    """Train or measure."""
    parser = arguments_of(__doc__)
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--data", type=Path, help="ignored")
    options = parser.parse_args()
    lessons, situations = load_situations()
    pools = Pool.open(lessons, vectors=True), Pool.open(lessons, vectors=False)
    if options.train:
        trained = {}
        for name, pool in zip(("vectors", "words"), pools, strict=True):
            tuned = [pool.rows(one) for one in situations if one.split == "tuned"]
            trained[name] = train(tuned)
        WEIGHTS.write_text(json.dumps(trained, indent=1) + "\n", "utf-8")
        return
    numbers = {one.name: place for place, one in enumerate(lessons)}
    random = np.random.default_rng(0)
    cells = []
    for split in ("tuned", "held out"):
        chosen = [one for one in situations if one.split == split]
        for size in (*SIZES, len(lessons)):
            own = [[numbers[name] for name in one.fits] for one in chosen]
            rest = [[k for k in range(len(lessons)) if k not in places] for places in own]
            places = [
                [*fits, *random.choice(others, max(size - len(fits), 0), replace=False).tolist()]
                for fits, others in zip(own, rest, strict=True)
            ]
            for name, vectors in (("words and vectors", True), ("words alone", False)):
                names = [
                    served(pools, one, some, vectors=vectors)
                    for one, some in zip(chosen, places, strict=True)
                ]
                cells.append([split, str(size), name, *figures(names, chosen)])
        before = [floor(pools[0], one) for one in chosen]
        cells.append([split, str(len(lessons)), "floor", *figures(before, chosen)])
    heads = ["situations", "lessons", "chosen by", "precision@3", "recall", "silence"]
    fitting = sum(bool(one.fits) for one in situations)
    note = (
        f"{len(situations)} situations; a lesson of the pool fits {fitting} of them. Smaller pools "
        "are those that fit and others at random."
    )
    command = "python -m bench.lesson_fit"
    text = f"{note}\n\n{table(heads, cells)}"
    write_section("lesson fit", "Which lessons are served", command, text)


if __name__ == "__main__":
    main()
