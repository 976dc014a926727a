"""Index conversations without a store, for training and retrieval benchmarks."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from bench.locomo import Conversation
from remembrancer.search import (
    Embedder,
    IndexView,
    Ranking,
    SpaceIndex,
    analyze,
    cosines,
    embedding_text,
    lexical_scores,
    pack,
    parse_query,
    quantize,
    unpack,
)

_vectors: OrderedDict[tuple[str, str], np.ndarray] = OrderedDict()


def encode(embedder: Embedder, texts: list[str]) -> np.ndarray:
    """Return the vectors of texts, cached."""
    new = list(dict.fromkeys(text for text in texts if (embedder.name, text) not in _vectors))
    for start in range(0, len(new), 64):
        some = new[start : start + 64]
        for text, vector in zip(some, embedder.encode(some), strict=True):
            _vectors[embedder.name, text] = vector
    return np.stack([_vectors[embedder.name, text] for text in texts])


def view_of(conversation: Conversation, embedder: Embedder) -> IndexView:
    """Index a conversation as the service does."""
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
    index = SpaceIndex(embedder.dimensions)
    index.add(unpack(rows, embedder.dimensions), len(rows))
    return index.view()


def ranking(view: IndexView, text: str, embedder: Embedder) -> Ranking:
    """Return the candidates of a search before ranking."""
    question = parse_query(text, view.languages)
    vector = encode(embedder, [embedding_text(view, question)])[0]
    return Ranking(view, question, lexical_scores(view, question.words), cosines(view, vector))
