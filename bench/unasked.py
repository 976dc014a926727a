"""Measure what keeps memory out of prompts that need none, or train it.

    python -m bench.unasked [--train] --data FOLDER

Two regressions over vectors: which texts say nothing ("ok", "Done."; empty.toml), and which prompts
carry all they need ("write a regex for ISO dates"; prompts.toml, by somebody who knew no rule).
Each language of a file is left out of training once. Beside them: how many turns of conversations,
answers among them, and questions about conversations would be taken for such.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.changes.history import as_words
from bench.regressions import Array, fit_beside, odds_of, store
from bench.report import arguments_of, table, write_section
from remembrancer.search import open_embedder

HERE = Path(__file__).parent
SETS = ("locomo-dev.json", "beam-dev.json", "realmem-dev.json")
# In training, of a turn of a conversation beside texts that say nothing, and of a question beside
# prompts; 1 for a labelled text
TURN_WEIGHT, QUESTION_WEIGHT = 0.05, 0.2
HEADS = ("texts", "found", "others: taken for it")


def labelled(name: str, kind: str) -> list[tuple[str, str, bool]]:
    """Return the language of each text of a file, the text, and if it is of the kind."""
    return [
        (language, line.replace("\\n", "\n"), kind == one)
        for language, kinds in tomllib.loads((HERE / name).read_text("utf-8")).items()
        for one, lines in kinds.items()
        for line in lines.strip().splitlines()
    ]


def conversations(path: Path) -> tuple[list[str], list[str], list[str]]:
    """Return the turns of a set of conversations, those that answer a question, the questions."""
    turns: list[str] = []
    answers: list[str] = []
    questions: list[str] = []
    for sample in json.loads(path.read_text("utf-8")):
        by_id = {
            turn["dia_id"]: turn["text"]
            for value in sample["conversation"].values()
            if isinstance(value, list)
            for turn in value
        }
        turns += by_id.values()
        named = dict.fromkeys(name for one in sample["qa"] for name in one["evidence"])
        answers += [by_id[name] for name in named if name in by_id]
        questions += [one["question"] for one in sample["qa"]]
    return turns, answers, questions


def vectors_of(texts: Sequence[str]) -> Array:
    """Return the vectors of texts, (texts, dimensions)."""
    return open_embedder("multilingual").encode(texts).astype(np.float64)


def left_out(
    texts: Sequence[tuple[str, str, bool]], vectors: Array, others: Array, weight: float
) -> list[list[str]]:
    """Return a row for each language: what a regression finds that was trained on the others."""
    languages = np.array([language for language, *_ in texts])
    labels = np.array([is_of_kind for *_, is_of_kind in texts])
    rows = []
    for language in dict.fromkeys(languages.tolist()):
        out = languages == language
        trained = fit_beside(vectors[~out], labels[~out], others, weight)
        hits = odds_of(trained, vectors[out]) > 0
        right, wrong = (hits & labels[out]).sum(), (hits & ~labels[out]).sum()
        rows.append(
            [language, f"{right} of {labels[out].sum()}", f"{wrong} of {(~labels[out]).sum()}"]
        )
    return rows


def empty_table(folder: Path, *, trains: bool) -> str:
    """Return the table of texts that say nothing; with `trains` the regression is stored."""
    texts = labelled("empty.toml", "empty")
    vectors = vectors_of([text for _, text, _ in texts])
    sets = {name: conversations(folder / name) for name in SETS}
    turns_of_sets = [turn for turns, *_ in sets.values() for turn in turns[0::5]]
    prompts = [as_words(text) for _, text, _ in labelled("prompts.toml", "alone")]
    others = vectors_of(turns_of_sets + prompts)
    regression = fit_beside(vectors, np.array([one for *_, one in texts]), others, TURN_WEIGHT)
    if trains:
        store("empty", regression)
    rows = left_out(texts, vectors, others, TURN_WEIGHT)
    for name, (turns, answers, _) in sets.items():
        rest = [turn for place, turn in enumerate(turns) if place % 5]
        for what, part in (("turns not trained on", rest), ("answers", answers)):
            share = np.mean(odds_of(regression, vectors_of(part)) > 0) if part else np.nan
            rows.append([f"{name}: {what}", "-", f"{share:.4f}"])
    return table(HEADS, rows)


def alone_table(folder: Path, *, trains: bool) -> str:
    """Return the table of prompts that carry all they need; with `trains` it is stored."""
    texts = labelled("prompts.toml", "alone")
    vectors = vectors_of([as_words(text) for _, text, _ in texts])
    sets = {name: conversations(folder / name)[2] for name in SETS}
    by_set = {name: vectors_of([as_words(one) for one in sets[name]]) for name in SETS}
    others = np.concatenate([one[0::2] for one in by_set.values()])
    regression = fit_beside(vectors, np.array([one for *_, one in texts]), others, QUESTION_WEIGHT)
    if trains:
        store("alone", regression)
    rows = left_out(texts, vectors, others, QUESTION_WEIGHT)
    for name, part in by_set.items():
        share = np.mean(odds_of(regression, part[1::2]) > 0)
        rows.append([f"{name}: questions not trained on", "-", f"{share:.4f}"])
    return table(HEADS, rows)


def main() -> None:
    """Train if asked to, measure, and write the tables."""
    parser = arguments_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the conversations")
    parser.add_argument("--train", action="store_true", help="store the regressions")
    arguments = parser.parse_args()
    folder = arguments.data if arguments.data.is_dir() else arguments.data.parent
    empty = empty_table(folder, trains=arguments.train)
    alone = alone_table(folder, trains=arguments.train)
    write_section(
        "unasked",
        "What keeps memory out of a prompt",
        "python -m bench.unasked --data FOLDER",
        f"Texts that say nothing.\n\n{empty}\n\nPrompts that carry all they need.\n\n{alone}",
    )


if __name__ == "__main__":
    main()
