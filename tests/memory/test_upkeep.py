"""Data derived from events is derived again after a change of the embedder, during searches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memory.asking import Concepts, Memory, opened
from service import rows
from waiting import wait_until

from remembrancer import status, testing
from remembrancer.context import Context
from remembrancer.memory.maintenance import BATCH, Maintenance

NEW = Concepts("concepts/2")


def pending(context: Context) -> int:
    """Return `events_pending` of the status record; check that readiness agrees."""
    record = status.record(context, connections=0, sandbox="ns").embedding
    ready = status.readiness(context).embedding
    assert record is not None
    assert record == ready
    return record.pending


def waiting(context: Context) -> bool:
    """Return True if anything is pending at this moment."""
    embedding = status.readiness(context).embedding
    return embedding is None or embedding.pending > 0


def fill(folder: Path, *, events: int, users: tuple[str, ...] = ("ada",)) -> None:
    """Store turns about ferries and one about a hound per user, with another embedder."""
    with opened(folder, embedder=Concepts("concepts/1")) as memory:
        for user in users:
            for n in range(events - 1):
                memory.of(user).tell(f"When does the ferry leave on day {n}?", f"Day {n}: at noon.")
            memory.of(user).tell("What is he called?", "The hound is called Argos.")


def finds_by_meaning(memory: Memory) -> bool:
    """Return True if "puppy", a word in no turn, finds the turn about the hound."""
    return [hit.response for hit in memory.ask("puppy").hits][:1] == ["The hound is called Argos."]


def test_upkeep_waits_while_another_server_holds_the_lock(folder: Path) -> None:
    fill(folder, events=BATCH + 1)

    with opened(folder, embedder=NEW) as memory:
        upkeep = Maintenance(memory.context)
        with memory.context.store.lock("upkeep"):
            assert not upkeep.step()
            assert pending(memory.context) == BATCH + 1

        assert upkeep.step()
        assert pending(memory.context) == 1


def test_interrupted_renewal_resumes_and_other_contexts_notice(folder: Path) -> None:
    fill(folder, events=BATCH, users=("ada", "bob", "cleo"))

    with opened(folder, embedder=NEW) as watching:
        users = [watching.of(user) for user in ("ada", "bob", "cleo")]
        assert [finds_by_meaning(user) for user in users] == [False] * 3
        with opened(folder, embedder=NEW) as first:
            Maintenance(first.context).step()
        # One space is renewed: other contexts notice, although the first one is closed.
        assert [finds_by_meaning(user) for user in users] == [True, False, False]
        with opened(folder, embedder=NEW) as second:
            upkeep = Maintenance(second.context)
            while upkeep.step():
                pass

        assert pending(watching.context) == 0
        assert [finds_by_meaning(user) for user in users] == [True] * 3


def test_event_erased_during_renewal_is_skipped(folder: Path) -> None:
    fill(folder, events=2)

    class Erasing(Concepts):
        def encode(self, texts: Sequence[str]) -> Any:
            for table in ("event_index", "events"):
                sql = f"delete from {table} where id & 1 = 0"
                context.store.write(lambda tx, sql=sql: tx.run(sql))  # type: ignore[misc]
            return super().encode(texts)

    context = testing.context(folder, embedder=Erasing("erasing/1"))
    while Maintenance(context).step():
        pass

    assert rows(context)["event_index"] == 1
    assert pending(context) == 0
    context.close()


def test_background_upkeep_warms_up_renews_and_stops(folder: Path) -> None:
    fill(folder, events=3, users=("ada", "bob"))

    with opened(folder, embedder=NEW) as memory:
        upkeep = Maintenance(memory.context)
        upkeep.warm()
        warmed = {space: memory.context.index_cache.take(space).next_event for space in (1, 2)}
        upkeep.start()
        wait_until(lambda: not waiting(memory.context))
        upkeep.stop()
        upkeep.stop()

        assert warmed == {1: 3, 2: 3}
        assert finds_by_meaning(memory)
