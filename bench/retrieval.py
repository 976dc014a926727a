"""Measure recall and nDCG of search on LoCoMo, compared with three baselines.

    python -m bench.retrieval --data locomo-dev.json

The baselines are exact cosine of the same embedder on whole events with the unchanged question,
SQLite FTS5 (Porter stems, BM25), and the usual hybrid of both by reciprocal rank fusion (k = 60, 50
candidates each).
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import apsw
import numpy as np

from bench.locomo import Conversation, Question, conversations
from bench.report import arguments_of, table, write_section
from bench.spaces import encode, ranking, view_of
from remembrancer.search import Embedder, Known, open_embedder

Search = Callable[[str], Sequence[int]]  # from a question to event numbers, best first
Make = Callable[[Conversation], Search]
HYBRID = "baseline: FTS5 + cosine, RRF"
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
DEPTH = 20


def service_search(conversation: Conversation, embedder: Embedder) -> Search:
    """Search with the service's index, without a store."""
    view = view_of(conversation, embedder)
    return lambda text: [one.event for one in ranking(view, text, embedder).ranked(Known(), DEPTH)]


def cosine_baseline(conversation: Conversation, embedder: Embedder) -> Search:
    """Search by exact cosine over whole events."""
    vectors = encode(
        embedder, [f"{event.query}\n{event.response}" for event in conversation.events]
    )
    return lambda text: np.argsort(-(vectors @ encode(embedder, [text])[0]), kind="stable")[
        :50
    ].tolist()


def fts_baseline(conversation: Conversation) -> Search:
    """Search with FTS5: Porter stems, any word, ranked by BM25."""
    db = apsw.Connection(":memory:")
    db.execute("create virtual table texts using fts5(text, tokenize = 'porter unicode61')")
    db.executemany(
        "insert into texts (rowid, text) values (?, ?)",
        [(n, f"{e.query}\n{e.response}") for n, e in enumerate(conversation.events)],
    )

    def search(text: str) -> list[int]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        return [
            row[0]
            for row in db.execute(
                "select rowid from texts where texts match ? order by bm25(texts) limit 50",
                (words,),
            )
        ]

    return search


def fused(*searches: Search) -> Search:
    """Combine searches by reciprocal rank fusion (Cormack, Clarke, Buettcher, SIGIR 2009)."""

    def search(text: str) -> list[int]:
        score: dict[int, float] = defaultdict(float)
        for one in searches:
            for rank, event in enumerate(one(text), 1):
                score[event] += 1 / (60 + rank)
        return sorted(score, key=lambda event: (-score[event], event))[:DEPTH]

    return search


def measured(
    conversation: Conversation, question: Question, best: Sequence[int]
) -> dict[str, float]:
    """Return recall of the evidence among the best events, and nDCG."""
    turns = [set(conversation.events[event].turns) for event in best]
    figures = {
        f"recall@{most}": len(question.evidence & set().union(*turns[:most]))
        / len(question.evidence)
        for most in (5, 10, 20)
    }
    gains = [1.0 if some & question.evidence else 0.0 for some in turns[:10]]
    holding = sum(1 for event in conversation.events if set(event.turns) & question.evidence)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(holding, 10)))
    return figures | {
        "nDCG@10": sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains)) / ideal
    }


def evaluate(
    histories: Sequence[Conversation], make: Make
) -> tuple[dict[str, float], dict[int, float]]:
    """Return means over all questions, and recall@10 by category."""
    rows, by_category = [], defaultdict(list)
    for conversation in histories:
        search = make(conversation)
        for question in conversation.questions:
            figures = measured(conversation, question, search(question.text))
            rows.append(figures)
            by_category[question.category].append(figures["recall@10"])
    return {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}, {
        c: float(np.mean(v)) for c, v in sorted(by_category.items())
    }


def comparison(systems: Mapping[str, Make], histories: Sequence[Conversation]) -> str:
    """Return the table of all systems. The hybrid baseline comes before Remembrancer."""
    rows, hybrid = [], 0.0
    for name, make in systems.items():
        figures, categories = evaluate(histories, make)
        hybrid = figures["recall@10"] if name == HYBRID else hybrid
        ratio = f"{figures['recall@10'] / hybrid:.2f}x" if name.startswith("Remembrancer") else ""
        values = (f"{value:.3f}" for value in (*figures.values(), *categories.values()))
        rows.append([name, *values, ratio])
    heads = ["system", *figures, *(f"recall@10 {CATEGORIES[c]}" for c in categories)]
    return table([*heads, "recall@10 / RRF baseline"], rows)


def main() -> None:
    """Measure and write the table."""
    parser = arguments_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    arguments = parser.parse_args()
    turns = conversations(arguments.data)
    embedder, without = open_embedder("multilingual"), open_embedder("none")
    systems: dict[str, Make] = {
        "baseline: exact cosine": lambda c: cosine_baseline(c, embedder),
        "baseline: FTS5": fts_baseline,
        HYBRID: lambda c: fused(fts_baseline(c), cosine_baseline(c, embedder)),
        "Remembrancer, embedder `none`": lambda c: service_search(c, without),
        "Remembrancer": lambda c: service_search(c, embedder),
    }
    lines = []
    for unit, histories in (
        ("one turn per event", turns),
        ("two turns per event", [c.paired() for c in turns]),
    ):
        lines += [
            (
                f"**{unit}** ({sum(len(c.questions) for c in histories)} questions, "
                f"{sum(len(c.events) for c in histories)} events)"
            ),
            "",
            comparison(systems, histories),
            "",
        ]
    write_section(
        "retrieval",
        "Retrieval quality",
        "python -m bench.retrieval --data locomo-dev.json",
        "\n".join(lines),
    )


if __name__ == "__main__":
    main()
