"""Measure how much evidence for later questions the extractive summaries keep.

    python -m bench.headlines --data locomo-dev.json

Each session stands for one L1: its turns are one text. All methods produce the same length. A
question has two scores: the share of its evidence words (without stop words) in the summary, and
the share of its evidence turns of which the summary has a sentence of at least 25 characters.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.locomo import Conversation, conversations
from bench.report import table, write_section
from remembrancer.memory.summaries.extractive import Headline, headlines, sentences
from remembrancer.search import Embedder, open_embedder
from remembrancer.search.text.analysis import words
from remembrancer.search.text.languages import BY_CODE

SHARES = (0.05, 0.10)  # length of the summary / length of the texts
SEED = 7
Choose = Callable[[Sequence[str], int], list[Headline]]


class Scores(NamedTuple):
    """The scores of a question, or their means over all questions."""

    words: float
    turns: float


def everything(texts: Sequence[str]) -> list[Headline]:
    """Return all sentences of all texts."""
    return [
        Headline(number, place, s)
        for number, text in enumerate(texts)
        for place, s in enumerate(sentences(text))
    ]


def within(candidates: Sequence[Headline], characters: int) -> list[Headline]:
    """Return the sentences that fit, in the given order."""
    chosen = []
    for one in candidates:
        if len(one.sentence) <= characters:
            chosen.append(one)
            characters -= len(one.sentence)
    return chosen


def at_random(texts: Sequence[str], characters: int) -> list[Headline]:
    """Return random sentences: a baseline."""
    candidates = everything(texts)
    random.Random(SEED).shuffle(candidates)
    return within(candidates, characters)


def first_sentences(texts: Sequence[str], characters: int) -> list[Headline]:
    """Return the first sentences of each text, then the second ones: a baseline."""
    return within(sorted(everything(texts), key=lambda one: (one.place, one.text)), characters)


def central(embedder: Embedder, texts: Sequence[str], characters: int) -> list[Headline]:
    """Return the sentences whose vectors are nearest to the mean: a baseline."""
    candidates = everything(texts)
    vectors = embedder.encode([one.sentence for one in candidates])
    order = np.argsort(-(vectors @ vectors.mean(axis=0)), kind="stable")
    return within([candidates[at] for at in order], characters)


def content(text: str) -> set[str]:
    """Return the content words of a text."""
    return set(words(text)) - BY_CODE["en"].stop


def measured(conversation: Conversation, choose: Choose, share: float) -> list[Scores]:
    """Return the scores of each question."""
    texts: dict[int, list[str]] = {}
    text_of: dict[str, str] = {}
    for event in conversation.events:
        text = (event.query or event.response).partition(": ")[2]
        texts.setdefault(event.session, []).append(text)
        text_of[event.turns[0]] = text
    joined = ["\n".join(lines) for lines in texts.values()]
    chosen = choose(joined, int(share * sum(map(len, joined))))
    selected = [one.sentence for one in chosen]
    summary_words = content(" ".join(selected))
    scores = []
    for question in conversation.questions:
        evidence = [text_of[turn] for turn in question.evidence if turn in text_of]
        if evidence:
            expected = set().union(*(content(text) for text in evidence))
            touched = [
                any(len(sentence) >= 25 and sentence in text for sentence in selected)
                for text in evidence
            ]
            scores.append(
                Scores(
                    len(expected & summary_words) / max(len(expected), 1),
                    sum(touched) / len(touched),
                )
            )
    return scores


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    arguments = parser.parse_args()
    histories = conversations(arguments.data)
    choices: tuple[tuple[str, Choose], ...] = (
        ("baseline: random sentences", at_random),
        ("baseline: first sentences", first_sentences),
        (
            "baseline: sentences nearest to the mean vector",
            partial(central, open_embedder("multilingual")),
        ),
        ("Remembrancer", headlines),
    )
    rows = []
    for share in SHARES:
        baselines: list[Scores] = []
        for name, choose in choices:
            mean = Scores(
                *np.mean(
                    [
                        one
                        for conversation in histories
                        for one in measured(conversation, choose, share)
                    ],
                    axis=0,
                )
            )
            best = (
                max((baseline.words for baseline in baselines), default=0.0),
                max((baseline.turns for baseline in baselines), default=0.0),
            )
            ratio = (
                f"{mean.words / best[0]:.2f}x / {mean.turns / best[1]:.2f}x"
                if choose is headlines
                else ""
            )
            rows.append([f"{share:.0%}", name, f"{mean.words:.3f}", f"{mean.turns:.3f}", ratio])
            baselines.append(mean)
    heads = [
        "length",
        "method",
        "share of evidence words",
        "share of evidence turns",
        "words / turns, ratio to the best baseline",
    ]
    write_section(
        "headlines",
        "Extractive summaries",
        f"python -m bench.headlines --data {arguments.data.name}",
        table(heads, rows),
    )


if __name__ == "__main__":
    main()
