"""Turns that were stored before turns were linked are linked in the background."""

from __future__ import annotations

from pathlib import Path

from memory.asking import opened

from remembrancer.memory.maintenance import Maintenance
from remembrancer.memory.write.links import OLDER_BATCH
from remembrancer.store import Transaction

FORGOTTEN = (  # as migration 0020 leaves a store of an earlier version
    "delete from event_keys where account_id = :account_id",
    "delete from event_changes where account_id = :account_id",
    "update spaces set linked_to = 0 where account_id = :account_id",
)


def _without_links(tx: Transaction) -> None:
    for statement in FORGOTTEN:
        tx.run(statement)


def test_older_turns_are_linked_in_the_background(tmp_path: Path) -> None:
    """The links are those that storing makes, over several batches, and none is left."""
    with opened(tmp_path) as memory:
        older = memory.tell("I live in Rome.", occurred_at="2024-01-01T00:00:00Z")
        for number in range(OLDER_BATCH):
            memory.tell(f"Lamp {number} is new.")
        newer = memory.tell("I moved to Berlin.", occurred_at="2024-06-01T00:00:00Z")
        memory.context.store.write(_without_links, account_id=memory.caller.account_id)
        assert memory.best("Where do I live? Rome?").superseded_by is None

        maintenance = Maintenance(memory.context)
        while maintenance.step():
            pass

        hits = {hit.event_id: hit for hit in memory.ask("Where do I live? Rome?", top_k=100).hits}
        assert hits[older].superseded_by == newer
        left = "select count(*) as number from spaces where linked_to is not null"
        assert memory.context.store.read(lambda tx: tx.one(left)).number == 0
