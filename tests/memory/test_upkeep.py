"""Data derived from events is derived again after a change of the embedder, during searches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from memory.asking import Concepts, Memory, opened
from service import rows
from waiting import wait_until

from remembrancer import status, testing
from remembrancer.context import Context
from remembrancer.memory.maintenance import BATCH, Maintenance
from remembrancer.search.embedders.port import NoEmbedder

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


def dense_hits(memory: Memory) -> int:
    """Return how many hits of "boat", a word in no turn, have a vector like it."""
    hits = memory.ask("boat", top_k=100).hits
    return sum(any(one.signal == "dense" for one in hit.why) for hit in hits)


def finds_by_meaning(memory: Memory) -> bool:
    """Return True if "puppy", a word in no turn, finds the turn about the hound."""
    return [hit.response for hit in memory.ask("puppy").hits][:1] == ["The hound is called Argos."]


def test_search_after_an_embedder_change_uses_words_until_renewal_ends(folder: Path) -> None:
    fill(folder, events=2 * BATCH + 3)

    with opened(folder, embedder=NEW) as memory:
        upkeep = Maintenance(memory.context)
        assert pending(memory.context) == 2 * BATCH + 3
        assert not finds_by_meaning(memory)
        assert memory.best("hound").response == "The hound is called Argos."

        left = []
        while upkeep.step():
            left.append(pending(memory.context))
            assert memory.best("hound").response == "The hound is called Argos."

        assert left == [BATCH + 3, 3, 0]
        assert finds_by_meaning(memory)
        assert not upkeep.step()


def test_upkeep_waits_while_another_server_holds_the_lock(folder: Path) -> None:
    fill(folder, events=BATCH + 1)

    with opened(folder, embedder=NEW) as memory:
        upkeep = Maintenance(memory.context)
        with memory.context.store.lock("upkeep"):
            assert not upkeep.step()
            assert pending(memory.context) == BATCH + 1

        assert upkeep.step()
        assert pending(memory.context) == 1


def test_answers_after_renewal_equal_those_without_an_embedder_change(tmp_path: Path) -> None:
    results = []
    for name, embedder in (("changed", NEW), ("same", Concepts("concepts/1"))):
        (tmp_path / name).mkdir()
        fill(tmp_path / name, events=5)
        with opened(tmp_path / name, embedder=embedder) as memory:
            while Maintenance(memory.context).step():
                pass
            answers = [memory.ask(text) for text in ("puppy", "ship", "day 2")]
            ids = {"hits": {"__all__": {"event_id"}}}
            results.append([answer.model_dump(exclude=ids) for answer in answers])

    assert results[0] == results[1]


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


def test_renewed_part_of_a_large_space_is_found_by_meaning(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remembrancer.memory.maintenance.FIRST_RELOAD_EVENTS", BATCH)
    fill(folder, events=4 * BATCH)

    with opened(folder, embedder=NEW) as memory:
        upkeep = Maintenance(memory.context)
        before = dense_hits(memory)
        upkeep.step()

        assert before == 0
        assert dense_hits(memory) == BATCH
        assert pending(memory.context) == 3 * BATCH


def test_outdated_words_are_renewed_without_an_embedder(folder: Path) -> None:
    fill(folder, events=3)

    with opened(folder, embedder=NoEmbedder()) as memory:
        context = memory.context
        context.store.write(
            lambda tx: tx.run("update event_index set words = :nothing", nothing=b"")
        )
        assert pending(context) == 3
        while Maintenance(context).step():
            pass

        assert pending(context) == 0
        empty = "select id from event_index where length(words) = 0"
        assert context.store.read(lambda tx: tx.all(empty)) == []
        assert memory.best("hound").response == "The hound is called Argos."


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
