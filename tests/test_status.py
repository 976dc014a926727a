"""The status record and readiness of a service that is not new."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from remembrancer import status, testing
from remembrancer.context import Context
from remembrancer.search.embedders.port import SymmetricEmbedder
from remembrancer.search.index.entries import VERSION as WORDS_VERSION
from remembrancer.store import Transaction


def add_index_row(context: Context, row: int, embedder: int | None) -> None:
    """Add an index row of an event; `embedder` is None if it has no vector yet."""
    sql = (
        "insert into event_index (account_id, id, session, occurred_ms, words, embedder) values (1,"
        " :row, 1, 0, :words, :embedder)"
    )
    context.store.write(lambda tx: tx.run(sql, row=row, words=b"", embedder=embedder))


def add_embedder(number: int, name: str, tx: Transaction) -> None:
    """Add an embedder with this number and name."""
    tx.run("insert into embedders values (:number, :name)", number=number, name=name)


class Embedder(SymmetricEmbedder):
    """An embedder with two dimensions."""

    name = "small/1"
    dimensions = 2

    def encode(self, texts: Any) -> Any:
        """Return the same vector for every text."""
        return np.ones((len(texts), 2), np.float32)


def test_events_without_current_vectors_are_pending(folder: Path) -> None:
    """A new embedder leaves events pending (specification.md#status-embedding-pending)."""
    context = testing.context(folder, embedder=Embedder())
    by = [f"old/1 words/{WORDS_VERSION}", f"small/1 words/{WORDS_VERSION}", "small/1 words/0"]
    for number, name in enumerate(by, 1):
        context.store.write(partial(add_embedder, number, name))
    for row, embedder in enumerate([None, 1, 2, 2, 3, 3]):
        add_index_row(context, row, embedder)

    record = status.record(context, connections=1, sandbox="ns")
    readiness = status.readiness(context)

    assert record.embedding == readiness.embedding
    assert record.embedding is not None
    assert (record.embedding.name, record.embedding.pending) == ("small/1", 4)
    assert readiness.ready
    context.close()


def test_unavailable_store_makes_the_record_degraded_and_not_ready(folder: Path) -> None:
    context = testing.context(folder)
    context.store.close()

    record = status.record(context, connections=3, sandbox="ns")
    readiness = status.readiness(context)

    assert (record.status, record.connections) == ("degraded", 3)
    assert (record.embedding, record.graph_loaded) == (None, False)
    assert (readiness.ready, readiness.embedder) == (False, "ok")
    assert readiness.store == "the store does not answer"
