"""Recognise questions that ask for an earlier state, measure how well, and train it.

history.toml was written by somebody who knew no rule. The regression is measured on each language
with that language left out, and on questions of conversations, hardly any of which asks for an
earlier state, with the other half of them.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.regressions import Array, fit_beside, odds_of, store
from bench.report import table
from remembrancer.memory.changes import names_history
from remembrancer.memory.changes.requests import ODDS_MIN
from remembrancer.search import open_embedder, parse_query
from remembrancer.search.embedders.regressions import Regression

QUESTIONS = Path(__file__).with_name("history.toml")
SETS = ("locomo-dev.json", "beam-dev.json", "realmem-dev.json", "prefeval-explicit-dev.json")
WEIGHT = 0.3  # of a question of a conversation in training; 1 for a labelled one


class Labelled(NamedTuple):
    """A question of history.toml."""

    language: str
    text: str
    kind: str  # `history`; `now`; `plain`: only trained on, asks for no earlier state either


def labelled() -> list[Labelled]:
    """Return the questions of the file."""
    return [
        Labelled(language, line, kind)
        for language, kinds in tomllib.loads(QUESTIONS.read_text("utf-8")).items()
        for kind, lines in kinds.items()
        for line in lines.strip().splitlines()
    ]


def questions_of(folder: Path) -> dict[str, list[str]]:
    """Return the different questions of each set of conversations."""
    return {
        name: list(
            dict.fromkeys(
                question["question"]
                for sample in json.loads((folder / name).read_text("utf-8"))
                for question in sample["qa"]
            )
        )
        for name in SETS
    }


def as_words(text: str) -> str:
    """Return a question as a search embeds it: its words."""
    words = parse_query(text).words
    return "".join(word.text if word.is_joined else f" {word.text}" for word in words).lstrip()


def vectors_of(texts: Sequence[str]) -> Array:
    """Return the vectors of questions as a search embeds them, (questions, dimensions)."""
    embedder = open_embedder("multilingual")
    return embedder.encode_queries([as_words(text) for text in texts]).astype(np.float64)


def _is_recognised(regression: Regression, vectors: Array) -> npt.NDArray[np.bool_]:
    return odds_of(regression, vectors) >= ODDS_MIN


def history_table(folder: Path) -> str:
    """Return the table of recall and precision, and of what is recognised in conversations."""
    questions, ordinary = labelled(), questions_of(folder)
    vectors = vectors_of([one.text for one in questions])
    labels = np.array([one.kind == "history" for one in questions])
    is_asked = np.array([one.kind != "plain" for one in questions])
    phrase = np.array([names_history(one.text) for one in questions])
    languages = np.array([one.language for one in questions])
    parts = {name: vectors_of(texts) for name, texts in ordinary.items()}
    half = np.concatenate([part[0::2] for part in parts.values()])
    learned = np.zeros(len(questions), bool)
    names = list(dict.fromkeys(languages.tolist()))
    for name in names:
        left_out = languages == name
        regression = fit_beside(vectors[~left_out], labels[~left_out], half, WEIGHT)
        learned[left_out] = _is_recognised(regression, vectors[left_out])
    both, rows = phrase | learned, []
    for name in [*names, "all"]:
        chosen = is_asked & ((languages == name) | (name == "all"))
        rates = *_rates(phrase[chosen], labels[chosen]), *_rates(both[chosen], labels[chosen])
        rows.append([name, *rates])
    regression = fit_beside(vectors, labels, half, WEIGHT)
    rows += _conversation_rows(ordinary, parts, regression)
    heads = [
        "questions",
        "phrases: recall",
        "precision",
        "with the regression: recall",
        "precision",
    ]
    return (
        "Questions about an earlier state by somebody who knew no rule (history.toml), each "
        "language left out of training. Of questions of conversations: the share that is "
        f"recognised, of the half that was not trained on.\n\n{table(heads, rows)}"
    )


def _conversation_rows(
    ordinary: Mapping[str, list[str]], parts: Mapping[str, Array], regression: Regression
) -> list[list[str]]:
    rows = []
    for name, texts in ordinary.items():
        phrase = np.array([names_history(text) for text in texts[1::2]])
        learned = _is_recognised(regression, parts[name][1::2])
        rows.append([name, f"{phrase.mean():.3f}", "-", f"{(phrase | learned).mean():.3f}", "-"])
    return rows


def _rates(recognised: npt.NDArray[np.bool_], labels: npt.NDArray[np.bool_]) -> tuple[str, str]:
    correct = np.count_nonzero(recognised & labels)
    return f"{correct / labels.sum():.2f}", f"{correct / max(recognised.sum(), 1):.2f}"


def train(folder: Path) -> None:
    """Train and store the regression."""
    questions = labelled()
    vectors = vectors_of([one.text for one in questions])
    labels = np.array([one.kind == "history" for one in questions])
    texts = [text for chosen in questions_of(folder).values() for text in chosen[0::2]]
    store("history", fit_beside(vectors, labels, vectors_of(texts), WEIGHT))
