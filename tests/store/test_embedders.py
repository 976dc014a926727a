"""Each embedder has one id, stored with the rows of its vectors."""

from __future__ import annotations

from remembrancer.context import Context
from remembrancer.store import embedder_id
from remembrancer.store.embedders import NEVER


def test_embedder_ids_are_created_once_and_reused(context: Context) -> None:
    store = context.store

    unknown = store.read(lambda tx: embedder_id(tx, "a/1", make=False))
    ids = [
        store.write(lambda tx, name=name: embedder_id(tx, name, make=True))  # type: ignore[misc]
        for name in ("a/1", "b/1", "a/1")
    ]

    assert unknown == NEVER
    assert ids[0] == ids[2] != ids[1]
    assert store.read(lambda tx: embedder_id(tx, "b/1", make=False)) == ids[1]
