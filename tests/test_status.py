"""The status record and readiness, beyond what a new service says."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from remembrancer import status, testing
from remembrancer.accounts import keys
from remembrancer.context import Context
from remembrancer.search.embedder import NoEmbedder
from remembrancer.search.index.entries import VERSION as WORDS_VERSION
from remembrancer.store import Transaction


def derived(context: Context, row: int, embedder: int | None) -> None:
    """An index row of an event, embedded by this embedder or not yet."""
    sql = (
        "insert into event_index (account_id, id, session, occurred_ms, words, embedder) values (1,"
        " :row, 1, 0, :words, :embedder)"
    )
    context.store.write(lambda tx: tx.run(sql, row=row, words=b"", embedder=embedder))


def numbered(number: int, name: str, tx: Transaction) -> None:
    """The number of what derives words and vectors under this name."""
    tx.run("insert into embedders values (:number, :name)", number=number, name=name)


class Embedder:
    """Two dimensions are enough to have a name."""

    name = "small/1"
    dimensions = 2

    def encode(self, texts: Any) -> Any:
        """All the same."""
        return np.ones((len(texts), 2), np.float32)


def test_events_without_vectors_of_the_embedder_in_use_are_pending(folder: Path) -> None:
    """A new embedder leaves events pending (specification.md#status-embedding-pending)."""
    context = testing.context(folder, embedder=Embedder())
    by = [f"old/1 words/{WORDS_VERSION}", f"small/1 words/{WORDS_VERSION}", "small/1 words/0"]
    for number, name in enumerate(by, 1):
        context.store.write(partial(numbered, number, name))
    for row, embedder in enumerate([None, 1, 2, 2, 3, 3]):
        derived(context, row, embedder)

    record, readiness = (
        status.record(context, connections=1, sandbox="ns"),
        status.readiness(context),
    )

    assert record.embedding == readiness.embedding
    assert record.embedding is not None
    assert (record.embedding.name, record.embedding.pending) == ("small/1", 4)
    assert readiness.ready
    context.close()


def test_without_an_embedder_the_words_may_be_pending(folder: Path) -> None:
    context = testing.context(folder, embedder=NoEmbedder())
    context.store.write(lambda tx: numbered(1, f"none words/{WORDS_VERSION}", tx))
    for row, embedder in enumerate([None, 1, 1]):
        derived(context, row, embedder)

    embedding = status.record(context, connections=1, sandbox="ns").embedding

    assert embedding is not None
    assert embedding.pending == 1
    context.close()


def test_without_the_store_the_record_is_degraded_and_it_is_not_ready(folder: Path) -> None:
    context = testing.context(folder)
    context.store.close()

    record, readiness = (
        status.record(context, connections=3, sandbox="ns"),
        status.readiness(context),
    )

    assert (record.status, record.connections, record.embedding, record.graph_loaded) == (
        "degraded",
        3,
        None,
        False,
    )
    assert (readiness.ready, readiness.store, readiness.embedder) == (
        False,
        "the store does not answer",
        "ok",
    )


def test_it_is_new_until_there_is_a_key(folder: Path) -> None:
    """An import makes the owner, but gives nobody a key."""
    context = testing.context(folder)
    sql = "insert into accounts (name, role, created_ms) values ('owner', 'owner', 0)"

    context.store.write(lambda tx: tx.run(sql))
    before = status.is_new(context)
    keys.create(context, account="owner")

    assert (before, status.is_new(context)) == (True, False)
    context.close()
