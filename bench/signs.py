"""Measure the recall of an index of vector signs against exact cosine.

python -m bench.signs --data locomo-dev.json
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from bench.engines_data import Events, Remembered
from bench.report import table, write_section
from remembrancer.search import open_embedder, quantize

STRANGE, QUESTIONS = 60_000, 150
BEST = 10
MOST_ALIKE = (20, 50, 100, 200)


def main() -> None:
    """Print the table and keep it in bench/results.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    embedder = Remembered(open_embedder("multilingual"))
    events = Events(options.data, embedder)
    real = [
        one.vector for conversation in events.conversations for one in events.turns_of(conversation)
    ]
    questions = [
        request.text for conversation in events.conversations for request in conversation.questions
    ]
    request = quantize(embedder.encode(questions[:: len(questions) // QUESTIONS][:QUESTIONS]))
    rows = []
    for name, vectors in (
        ("turns", real),
        (
            f"turns and {STRANGE:,} between two of them each",
            real + [one.vector for one in events.strange(STRANGE)],
        ),
    ):
        rows.append(
            [
                name,
                f"{len(vectors):,}",
                *(f"{share:.3f}" for share in shares(np.stack(vectors), request)),
            ]
        )
    heads = [
        "vectors",
        "how many",
        *(f"of the {BEST} nearest, among {most}" for most in MOST_ALIKE),
    ]
    write_section(
        "signs",
        "Signs of vectors",
        f"python -m bench.signs --data {options.data.name}",
        table(heads, rows),
    )


def shares(vectors: np.ndarray, queries: np.ndarray) -> list[float]:
    """Return, for each of MOST_ALIKE, the recall of the BEST by cosine among that many by signs."""
    unit = vectors.astype("f4") / np.linalg.norm(vectors.astype("f4"), axis=1, keepdims=True)
    signs = np.where(vectors > 0, 1, -1).astype("f4")
    matches = np.zeros((len(queries), len(MOST_ALIKE)))
    for row, one in enumerate(queries):
        nearest = set(np.argsort(-(unit @ one.astype("f4")), kind="stable")[:BEST].tolist())
        alike = np.argsort(-(signs @ np.where(one > 0, 1, -1).astype("f4")), kind="stable").tolist()
        matches[row] = [len(nearest & set(alike[:most])) / BEST for most in MOST_ALIKE]
    return [float(share) for share in matches.mean(axis=0)]


if __name__ == "__main__":
    main()
