"""Measure evidence recall in seven languages, beside FTS5 and relative to English.

    python -m bench.languages

The same events of a year, written natively for each language, turn by turn, and 30 questions each;
then a memory whose sessions are in eight languages and whose questions are in others than their
evidence. Questions at odd places (from 1) are for development, the others are held out. "Not cut":
the order of all turns, including those that a search leaves out because they match too weakly. It
shows what analysis and embedder know of a language, whatever the thresholds are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.coding.__main__ import DEPTHS, recalls
from bench.languages.memories import LANGUAGES, MIXED, memory
from bench.locomo import Conversation
from bench.report import table, write_section
from bench.retrieval import Search, fts_baseline, service_search
from bench.spaces import ranking, view_of
from remembrancer.search import Embedder, load_weights, open_embedder

PARTS = {"all": slice(None), "development": slice(None, None, 2), "held-out": slice(1, None, 2)}


def uncut_search(conversation: Conversation, embedder: Embedder) -> Search:
    """Search like the service, without its thresholds: every turn is returned."""
    view = view_of(conversation, embedder)
    weights = replace(
        load_weights(embedder.name),
        gate_coverage=-1, gate_cosine=-1, floor_coverage=-1, floor_cosine=-1,
    )  # fmt: skip
    return lambda text: [
        event for event, _, _ in ranking(view, text, embedder).ranked(weights, {}, max(DEPTHS))
    ]


def rows(part: str, embedder: Embedder) -> list[list[str]]:
    """Return a row for each memory. A ratio is of the means over DEPTHS."""
    systems = (
        lambda one: service_search(one, embedder),
        lambda one: uncut_search(one, embedder),
        fts_baseline,
    )
    english: list[float] = []
    result = []
    for name in (*LANGUAGES, MIXED):
        conversation = memory(name)
        questions = conversation.questions[PARTS[part]]
        figures = [
            np.mean(recalls(conversation, make(conversation), questions), axis=0)
            for make in systems
        ]
        english = english or [float(one.mean()) for one in figures]
        ratios = (one.mean() / mean for one, mean in zip(figures[:2], english, strict=False))
        values = [f"{value:.3f}" for one in figures for value in one]
        result.append(
            [f"{name}, {part}", str(len(questions)), *values, *(f"{one:.2f}" for one in ratios)]
        )
    return result


def main() -> None:
    """Measure and write the table."""
    embedder = open_embedder("multilingual")
    names = ("recall", "not cut", "FTS5")
    heads = ["memory", "questions", *(f"{name} @{depth}" for name in names for depth in DEPTHS)]
    heads += ["relative to English", "not cut"]
    text = table(heads, [row for part in PARTS for row in rows(part, embedder)])
    title = "One memory in seven languages: evidence recall"
    write_section("languages", title, "python -m bench.languages", text)


if __name__ == "__main__":
    main()
