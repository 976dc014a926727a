"""Vectors of one embedder for all peers, and what embedding costs."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bench.peers.port import Item
from bench.spaces import encode
from remembrancer.search import Embedder, analyze

TIMED = 100  # texts
MEMORY = """
import sys
from pathlib import Path
import numpy
from remembrancer.search.embedders.opening import open_embedder
def pss():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
before = pss()
embedder = open_embedder(sys.argv[1])
embedder.encode(["The ferry leaves at 9:40 from pier 3."])
print(pss() - before)
"""


class Encoding(Protocol):
    """Vectors of texts for a comparison."""

    name: str  # as in the setting `embedder`
    dimensions: int

    def vectors(self, texts: Sequence[str]) -> list[bytes]:
        """Return the vector of each text: float32, unit length."""
        ...

    def query_vectors(self, texts: Sequence[str]) -> list[bytes]:
        """Return the vector of each question: float32, unit length."""
        ...


class EmbedderEncoding:
    """The vectors of an embedder of the project."""

    def __init__(self, name: str, embedder: Embedder) -> None:
        """Take the embedder and its name in the setting."""
        self.name, self.dimensions, self.embedder = name, embedder.dimensions, embedder

    def vectors(self, texts: Sequence[str]) -> list[bytes]:
        """See Encoding."""
        return [vector.astype("f4").tobytes() for vector in encode(self.embedder, list(texts))]

    def query_vectors(self, texts: Sequence[str]) -> list[bytes]:
        """See Encoding."""
        vectors = self.embedder.encode_queries(list(texts))
        return [vector.astype("f4").tobytes() for vector in vectors]


@dataclass(frozen=True, slots=True)
class EmbedderCost:
    """CPU ms of a question, of a whole item, and of an item in the parts that we embed; memory."""

    question_ms: float
    item_ms: float
    parts_ms: float
    memory_mb: float


def cpu_ms(embed: Any, texts: list[str]) -> float:
    """Return CPU milliseconds of one text, embedded one by one as in a write."""
    embed(texts[:1])
    start = time.process_time()
    for text in texts:
        embed([text])
    return float(time.process_time() - start) * 1000 / len(texts)


def cost_of(
    encoding: EmbedderEncoding, items: Sequence[Item], questions: list[str]
) -> EmbedderCost:
    """Measure an embedder on some items and questions, one at a time."""
    embedder, some = encoding.embedder, items[:TIMED]
    parts: list[Any] = [
        [
            part.text
            for part in analyze(
                query=item.query,
                response=item.response,
                topic=None,
                occurred_ms=item.occurred_ms,
            )
        ]
        for item in some
    ]
    output = subprocess.run(
        [sys.executable, "-c", MEMORY, encoding.name], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    return EmbedderCost(
        question_ms=cpu_ms(embedder.encode_queries, questions[:TIMED]),
        item_ms=cpu_ms(embedder.encode, [item.text for item in some]),
        parts_ms=cpu_ms(lambda lists: embedder.encode(lists[0]), parts),
        memory_mb=float(output),
    )
