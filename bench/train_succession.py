"""Train what tells that a later statement takes the place of an earlier one; write it down.

    python -m bench.train_succession FOLDER [--cache FILE]

A logistic regression over the vectors of two statements. It learns from pairs with labels: those of
order.toml and labelled.toml, statements of one memory at random (no change), AutoMemoryBench and
tc-event-hard; and from talk in which nothing is known to change, and everyday facts: hits of their
questions that are evidence, with later ones that are none. Each language of our own pairs, and
each set of talk, is left out once; search/succession.json keeps what was found on it.
"""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bench.changes.order import PAIRS
from bench.changes.pairs import labelled_pairs
from bench.changes.sources import state_pairs, update_pairs
from bench.everyday.memories import NINE, parallel_facts
from bench.languages.memories import memory
from bench.locomo import Conversation
from bench.report import arguments_of
from bench.sets import read_sets, searchable
from bench.spaces import load_vectors, ranking, save_vectors, views_of
from remembrancer.search import Embedder, Known, open_embedder
from remembrancer.search.scoring import unit_vectors

Array: TypeAlias = npt.NDArray[Any]
TALK = ("LoCoMo", "BEAM-500K", "RealMem", "facts")
TALK_PAIRS_MAX, TALK_WEIGHT, OF_A_SET_MAX = 1_500, 0.3, 500
RIDGE = 100.0  # on features of unit variance
HITS = 10
FILE = Path(__file__).parents[1] / "src/remembrancer/search/succession.json"


class Statements(NamedTuple):
    """Pairs of statements: their group, the vectors of both, and whether the later one replaces."""

    group: Array  # (P,) language of our own pairs, or name of a set
    earlier: Array  # (P, dimensions)
    later: Array
    label: Array  # (P,) 0 or 1
    weight: Array


def labelled(folder: Path) -> Iterator[tuple[str, str, str, bool]]:
    """Yield the group, both texts and the label of each pair."""
    rng = np.random.default_rng(0)
    for language in tomllib.loads(PAIRS.read_text("utf-8"))["language"]:
        if language["code"] != "history":
            yield from _of_language(language, rng)
    for pair in labelled_pairs():
        yield pair.source, pair.older, pair.newer, pair.is_change
    for reader in (update_pairs, state_pairs):
        pairs = [pair for _, pair in reader(folder) if pair.older != pair.newer]
        for is_change in (True, False):
            some = [pair for pair in pairs if pair.is_change is is_change]
            for place in rng.permutation(len(some))[:OF_A_SET_MAX].tolist():
                pair = some[place]
                yield pair.source, pair.older, pair.newer, is_change


def _of_language(
    language: Mapping[str, str], rng: np.random.Generator
) -> Iterator[tuple[str, str, str, bool]]:
    """Yield the pairs of a language, and as many of statements at random."""
    code, texts = language["code"], list[str]()
    for kind in ("corrections", "lookalikes"):
        for line in language.get(kind, "").strip().splitlines():
            older, newer, _ = line.split(" | ")
            texts += [older, newer]
            yield code, older, newer, kind == "corrections"
    for first, second in rng.integers(len(texts), size=(len(texts), 2)).tolist():
        if abs(first - second) > 1:
            yield code, texts[first], texts[second], False


def talk_pairs(conversations: Sequence[Conversation], embedder: Embedder) -> tuple[Array, Array]:
    """Return the vectors of hits that answer a question, and of later hits that do not."""
    earlier: list[Array] = []
    later: list[Array] = []
    for conversation in conversations:
        sizes = {searchable(conversation, question) for question in conversation.questions}
        views = views_of(conversation, embedder, sizes)
        for question in conversation.questions:
            view = views[searchable(conversation, question)]
            scores = ranking(view, question.text, embedder).scores(Known())
            best = np.argsort(-scores.total, kind="stable")[:HITS]
            parts = scores.events.parts[scores.events.places_of_best[best]]
            vectors, times = unit_vectors(view, parts), view["occurred_ms"][parts]
            numbers = scores.events.numbers[best].tolist()
            answers = [
                bool(question.evidence.intersection(conversation.events[number].turns))
                for number in numbers
            ]
            for one, other in itertools.product(range(len(best)), repeat=2):
                if answers[one] and not answers[other] and times[one] < times[other]:
                    earlier.append(vectors[one])
                    later.append(vectors[other])
    chosen = np.random.default_rng(2).permutation(len(earlier))[:TALK_PAIRS_MAX]
    return np.array(earlier)[chosen], np.array(later)[chosen]


def statements(
    folder: Path, sets: Mapping[str, Sequence[Conversation]], embedder: Embedder
) -> Statements:
    """Return all pairs to learn from."""
    pairs = list(labelled(folder))
    texts = sorted({text for pair in pairs for text in pair[1:3]})
    vectors = dict(zip(texts, embedder.encode(texts), strict=True))
    columns: list[list[Any]] = [
        [[pair[0] for pair in pairs]],
        [np.array([vectors[pair[1]] for pair in pairs])],
        [np.array([vectors[pair[2]] for pair in pairs])],
        [np.array([pair[3] for pair in pairs], float)],
        [np.ones(len(pairs))],
    ]
    days = memory("en").paired()
    facts = {"facts": [parallel_facts(days, code, code) for code in NINE]}
    for name in TALK:
        earlier, later = talk_pairs({**sets, **facts}[name], embedder)
        none = np.zeros(len(earlier))
        added = ([name] * len(none), earlier, later, none, none + TALK_WEIGHT)
        for column, values in zip(columns, added, strict=True):
            column.append(values)
    return Statements(*(np.concatenate(column) for column in columns))


def features(of: Statements) -> Array:
    """Return the features of pairs: (P, 3 * dimensions)."""
    return np.hstack([of.earlier * of.later, of.later, of.earlier])


def fitted(pairs: Statements) -> tuple[Array, float]:
    """Return the weights of the features and the offset, by Newton's method."""
    rows = features(pairs)
    mean, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    rows = np.hstack([(rows - mean) / spread, np.ones((len(rows), 1))])
    weights, ridge = np.zeros(rows.shape[1]), np.full(rows.shape[1], RIDGE)
    ridge[-1] = 1e-9
    for _ in range(25):
        chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        gradient = rows.T @ (pairs.weight * (chance - pairs.label)) + ridge * weights
        curvature = pairs.weight * chance * (1 - chance) + 1e-9
        step = np.linalg.solve(rows.T @ (rows * curvature[:, None]) + np.diag(ridge), gradient)
        weights -= step
        if np.abs(step).max() < 1e-4:
            break
    scaled = weights[:-1] / spread
    return scaled, float(weights[-1] - scaled @ mean)


def left_out(pairs: Statements) -> dict[str, dict[str, int]]:
    """Return what is found on each group that was left out: pairs, and those above one half."""
    result = {}
    for group in sorted(set(pairs.group.tolist())):
        inside = pairs.group == group
        weights, offset = fitted(Statements(*(column[~inside] for column in pairs)))
        found = features(Statements(*(column[inside] for column in pairs))) @ weights + offset > 0
        is_change = pairs.label[inside] > 0
        result[group] = {
            "changes": int(is_change.sum()),
            "found": int((found & is_change).sum()),
            "others": int((~is_change).sum()),
            "wrong": int((found & ~is_change).sum()),
        }
    return result


def main() -> None:
    """Train, and write the parameters."""
    parser = arguments_of(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cache", type=Path, help="file that keeps the vectors between runs")
    arguments = parser.parse_args()
    if arguments.cache:
        load_vectors(arguments.cache)
    embedder = open_embedder("multilingual")
    pairs = statements(arguments.folder, read_sets(arguments.folder), embedder)
    weights, offset = fitted(pairs)
    both, later, earlier = np.round(weights, 4).reshape(3, -1).tolist()
    row = {"offset": round(offset, 4), "both": both, "later": later, "earlier": earlier}
    document = {embedder.name.partition("/")[0]: row | {"left_out": left_out(pairs)}}
    FILE.write_text(f"{json.dumps(document, indent=1)}\n", "utf-8")
    if arguments.cache:
        save_vectors(arguments.cache)


if __name__ == "__main__":
    main()
