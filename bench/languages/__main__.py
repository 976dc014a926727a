"""Measure evidence recall in seven languages, beside FTS5 and relative to English.

    python -m bench.languages

The same events of a year, written natively for each language, turn by turn, and 30 questions each;
then a memory whose sessions are in eight languages and whose questions are in others than their
evidence. Questions at odd places (from 1) are for development, the others are held out.
"""

from __future__ import annotations

import numpy as np

from bench.coding.__main__ import DEPTHS, recalls
from bench.languages.memories import LANGUAGES, MIXED, memory
from bench.report import table, write_section
from bench.retrieval import fts_baseline, service_search
from remembrancer.search import Embedder, open_embedder

PARTS = {"all": slice(None), "development": slice(None, None, 2), "held-out": slice(1, None, 2)}


def rows(part: str, embedder: Embedder) -> list[list[str]]:
    """Return a row for each memory. A ratio is of the means over DEPTHS."""
    systems = (
        lambda one: service_search(one, embedder),
        fts_baseline,
    )
    english = 0.0
    result = []
    for name in (*LANGUAGES, MIXED):
        conversation = memory(name)
        questions = conversation.questions[PARTS[part]]
        figures = [
            np.mean(recalls(conversation, make(conversation), questions), axis=0)
            for make in systems
        ]
        english = english or float(figures[0].mean())
        values = [f"{value:.3f}" for one in figures for value in one]
        ratio = f"{figures[0].mean() / english:.2f}"
        result.append([f"{name}, {part}", str(len(questions)), *values, ratio])
    return result


def main() -> None:
    """Measure and write the table."""
    embedder = open_embedder("multilingual")
    names = ("recall", "FTS5")
    heads = ["memory", "questions", *(f"{name} @{depth}" for name in names for depth in DEPTHS)]
    heads += ["relative to English"]
    text = table(heads, [row for part in PARTS for row in rows(part, embedder)])
    title = "One memory in seven languages: evidence recall"
    write_section("languages", title, "python -m bench.languages", text)


if __name__ == "__main__":
    main()
