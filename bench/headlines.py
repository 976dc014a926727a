"""Measure how much of the evidence for later questions extractive summaries keep.

    python -m bench.headlines --data locomo-dev.json

Each session stands for an L1: its turns are one text. All methods have the same length. The scores
of a question are the share of the words of its evidence turns that are in the summary, without stop
words, and the share of its evidence turns of which a sentence of at least 25 characters was taken.
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

SHARES = (0.05, 0.10)  # of the length of the texts
SEED = 7
Choose = Callable[[Sequence[str], int], list[Headline]]


class Means(NamedTuple):
    """Means over all questions."""

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
    """Return random sentences: a floor."""
    candidates = everything(texts)
    random.Random(SEED).shuffle(candidates)
    return within(candidates, characters)


def first_sentences(texts: Sequence[str], characters: int) -> list[Headline]:
    """Return the first sentences of each text, then the second ones: a floor."""
    return within(sorted(everything(texts), key=lambda one: (one.place, one.text)), characters)


def central(embedder: Embedder, texts: Sequence[str], characters: int) -> list[Headline]:
    """Return the sentences whose vectors are nearest to the mean: a floor."""
    candidates = everything(texts)
    vectors = embedder.encode([one.sentence for one in candidates])
    order = np.argsort(-(vectors @ vectors.mean(axis=0)), kind="stable")
    return within([candidates[at] for at in order], characters)


def content(text: str) -> set[str]:
    """Return the content words of a text."""
    return set(words(text)) - BY_CODE["en"].stop


def measured(conversation: Conversation, choose: Choose, share: float) -> list[Means]:
    """Return one score per question."""
    texts: dict[int, list[str]] = {}
    output: dict[str, str] = {}
    for event in conversation.events:
        text = (event.query or event.response).partition(": ")[2]
        texts.setdefault(event.session, []).append(text)
        output[event.turns[0]] = text
    joined = ["\n".join(lines) for lines in texts.values()]
    chosen = choose(joined, int(share * sum(map(len, joined))))
    selected = [one.sentence for one in chosen]
    leaked = content(" ".join(selected))
    matches = []
    for question in conversation.questions:
        evidence = [output[turn] for turn in question.evidence if turn in output]
        if evidence:
            expected = set().union(*(content(text) for text in evidence))
            touched = [
                any(len(sentence) >= 25 and sentence in text for sentence in selected)
                for text in evidence
            ]
            matches.append(
                Means(len(expected & leaked) / max(len(expected), 1), sum(touched) / len(touched))
            )
    return matches


def main() -> None:
    """Print the table and keep it in bench/results.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    outcome = conversations(arguments.data)
    choices: tuple[tuple[str, Choose], ...] = (
        ("floor: any sentences", at_random),
        ("floor: first sentences", first_sentences),
        ("floor: central by meaning", partial(central, open_embedder("multilingual"))),
        ("ours", headlines),
    )
    rows = []
    for share in SHARES:
        floors: list[Means] = []
        for name, choose in choices:
            mean = Means(
                *np.mean(
                    [
                        one
                        for conversation in outcome
                        for one in measured(conversation, choose, share)
                    ],
                    axis=0,
                )
            )
            best = (
                max((floor.words for floor in floors), default=0.0),
                max((floor.turns for floor in floors), default=0.0),
            )
            ratio = (
                f"{mean.words / best[0]:.2f}x / {mean.turns / best[1]:.2f}x"
                if choose is headlines
                else ""
            )
            rows.append([f"{share:.0%}", name, f"{mean.words:.3f}", f"{mean.turns:.3f}", ratio])
            floors.append(mean)
    heads = [
        "length",
        "chosen",
        "words of the evidence kept",
        "evidence turns touched",
        "ours / best floor",
    ]
    write_section(
        "headlines",
        "Headlines",
        f"python -m bench.headlines --data {arguments.data.name}",
        table(heads, rows),
    )


if __name__ == "__main__":
    main()
