"""Index conversations without a store, for training and retrieval benchmarks."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

import numpy as np

from bench.locomo import Conversation
from remembrancer.search import (
    Embedder,
    IndexView,
    Ranker,
    Ranking,
    SpaceIndex,
    analyze,
    cosines,
    embedding_text,
    lexical_scores,
    load_ranker,
    pack,
    parse_query,
    quantize,
    unpack,
)

_vectors: dict[bytes, np.ndarray] = {}


def encode(embedder: Embedder, texts: list[str]) -> np.ndarray:
    """Return the vectors of texts, cached."""
    keys = [_key(embedder, text) for text in texts]
    new = {key: text for key, text in zip(keys, texts, strict=True) if key not in _vectors}
    names, values = list(new), list(new.values())
    for start in range(0, len(values), 64):
        some = values[start : start + 64]
        _vectors.update(zip(names[start : start + 64], embedder.encode(some), strict=True))
    return np.stack([_vectors[key] for key in keys])


def _key(embedder: Embedder, text: str) -> bytes:
    return blake2b(f"{embedder.name}\0{text}".encode("utf-8", "replace"), digest_size=16).digest()


def load_vectors(path: Path) -> None:
    """Fill the cache of `encode` from a file that `save_vectors` wrote, if it exists."""
    if path.exists():
        with np.load(path) as file:
            keys, vectors = file["keys"], file["vectors"]
        _vectors.update({key.tobytes(): vector for key, vector in zip(keys, vectors, strict=True)})


def save_vectors(path: Path) -> None:
    """Write the cache of `encode`, vectors of one embedder only, to a file."""
    keys = np.frombuffer(b"".join(_vectors), "u1").reshape(-1, 16)
    with path.open("wb") as file:
        np.savez(file, keys=keys, vectors=np.stack(list(_vectors.values())))


def view_of(conversation: Conversation, embedder: Embedder) -> IndexView:
    """Index a conversation as the service does."""
    size = len(conversation.events)
    return views_of(conversation, embedder, [size])[size]


def views_of(
    conversation: Conversation, embedder: Embedder, sizes: Iterable[int]
) -> dict[int, IndexView]:
    """Index a conversation as the service does; return its states after these many events."""
    apart = [
        analyze(query=e.query, response=e.response, topic=None, occurred_ms=e.occurred_ms)
        for e in conversation.events
    ]
    vectors = quantize(encode(embedder, [part.text for parts in apart for part in parts]))
    rows, start = [], 0
    for number, (event, parts) in enumerate(zip(conversation.events, apart, strict=True)):
        end = start + len(parts)
        rows.append(
            (number, event.session, event.occurred_ms, pack(parts), vectors[start:end].tobytes())
        )
        start = end
    index, views, added = SpaceIndex(embedder.dimensions), {}, 0
    for size in sorted(set(sizes)):
        if size > added:
            index.add(unpack(rows[added:size], embedder.dimensions), size)
            added = size
        views[size] = index.view()
    return views


def ranking(
    view: IndexView, text: str, embedder: Embedder, ranker: Ranker | None = None
) -> Ranking:
    """Return the ranking of a search, by the ranker of the embedder or by another."""
    question = parse_query(text, view.languages)
    [vector] = embedder.encode_queries([embedding_text(view, question)])
    scores = lexical_scores(view, question.words), cosines(view, vector)
    return Ranking(view, question, *scores, ranker or load_ranker(embedder.name))
