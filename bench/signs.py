"""Measure the recall of candidates by vector signs, compared with exact cosine.

python -m bench.signs --data locomo-dev.json
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from bench.engines_data import CachedEmbedder, Events
from bench.report import table, write_section
from remembrancer.search import open_embedder, quantize

SYNTHETIC, QUESTIONS = 60_000, 150
BEST = 10
CANDIDATES = (20, 50, 100, 200)


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    options = parser.parse_args()
    embedder = CachedEmbedder(open_embedder("multilingual"))
    events = Events(options.data, embedder)
    real = [
        one.vector for conversation in events.conversations for one in events.turns_of(conversation)
    ]
    questions = [
        question.text
        for conversation in events.conversations
        for question in conversation.questions
    ]
    queries = quantize(embedder.encode(questions[:: len(questions) // QUESTIONS][:QUESTIONS]))
    rows = []
    for name, vectors in (
        ("real turns", real),
        (
            f"real turns and {SYNTHETIC:,} interpolated vectors",
            real + [one.vector for one in events.synthetic(SYNTHETIC)],
        ),
    ):
        rows.append(
            [
                name,
                f"{len(vectors):,}",
                *(f"{share:.3f}" for share in shares(np.stack(vectors), queries)),
            ]
        )
    heads = [
        "vectors",
        "count",
        *(f"recall@{BEST}, {most} candidates" for most in CANDIDATES),
    ]
    write_section(
        "signs",
        "Recall of vector signs",
        f"python -m bench.signs --data {options.data.name}",
        table(heads, rows),
    )


def shares(vectors: np.ndarray, queries: np.ndarray) -> list[float]:
    """Return, for each of CANDIDATES, the recall of the BEST by cosine among that many by signs."""
    unit = vectors.astype("f4") / np.linalg.norm(vectors.astype("f4"), axis=1, keepdims=True)
    signs = np.where(vectors > 0, 1, -1).astype("f4")
    recalls = np.zeros((len(queries), len(CANDIDATES)))
    for row, one in enumerate(queries):
        nearest = set(np.argsort(-(unit @ one.astype("f4")), kind="stable")[:BEST].tolist())
        alike = np.argsort(-(signs @ np.where(one > 0, 1, -1).astype("f4")), kind="stable").tolist()
        recalls[row] = [len(nearest & set(alike[:most])) / BEST for most in CANDIDATES]
    return [float(share) for share in recalls.mean(axis=0)]


if __name__ == "__main__":
    main()
