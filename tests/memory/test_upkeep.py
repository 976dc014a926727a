"""Data derived from events is derived again after a change of the embedder, during searches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from engines import only_sqlite
from memory.asking import Concepts, Memory, opened

from remembrancer import status, testing
from remembrancer.context import Context
from remembrancer.memory.maintenance import BATCH, Maintenance
from remembrancer.memory.spaces import SQL
from remembrancer.search.embedder import NoEmbedder
from remembrancer.store import Transaction

NEW = Concepts("concepts/2")


def pending(context: Context) -> int:
    """As the status record says, which readiness must agree with."""
    record, ready = (
        status.record(context, connections=0, sandbox="ns").embedding,
        status.readiness(context).embedding,
    )
    assert record is not None
    assert record == ready
    return record.pending


def waiting(context: Context) -> bool:
    """Return True if anything is pending at this moment."""
    embedding = status.readiness(context).embedding
    return embedding is None or embedding.pending > 0


def fill(folder: Path, *, events: int, users: tuple[str, ...] = ("ada",)) -> None:
    """Turns about ferries, and one about a hound for each user, derived by another embedder."""
    with opened(folder, embedder=Concepts("concepts/1")) as memory:
        for n in range(events - 1):
            for user in users:
                memory.of(user).tell(
                    f"When does the ferry leave on day {n}?",
                    f"The ferry of day {n} leaves at noon.",
                )
        for user in users:
            memory.of(user).tell("What is he called?", "The hound is called Argos.")


def finds_by_meaning(memory: Memory) -> bool:
    """No turn has the word puppy."""
    return [hit.response for hit in memory.ask("puppy").hits][:1] == ["The hound is called Argos."]


def test_after_the_embedder_changed_search_goes_on_by_words_until_all_is_derived_anew(
    folder: Path,
) -> None:
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


def test_work_of_another_server_is_left_to_it(folder: Path) -> None:
    fill(folder, events=BATCH + 1)

    with opened(folder, embedder=NEW) as memory:
        upkeep = Maintenance(memory.context)
        with memory.context.store.lock("upkeep"):
            assert not upkeep.step()
            assert pending(memory.context) == BATCH + 1

        assert upkeep.step()
        assert pending(memory.context) == 1


def test_the_answers_are_those_of_a_memory_that_never_knew_another_embedder(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("changed", "same")]
    for folder in folders:
        folder.mkdir()
    fill(folders[0], events=5)
    text_value = []
    for folder, was_changed in zip(folders, (True, False), strict=True):
        with opened(folder, embedder=NEW if was_changed else Concepts("concepts/1")) as memory:
            if not was_changed:
                for n in range(4):
                    memory.tell(
                        f"When does the ferry leave on day {n}?",
                        f"The ferry of day {n} leaves at noon.",
                    )
                memory.tell("What is he called?", "The hound is called Argos.")
            while Maintenance(memory.context).step():
                pass
            text_value.append(
                [
                    memory.ask(text).model_dump(exclude={"hits": {"__all__": {"event_id"}}})
                    for text in ("puppy", "ship", "day 2")
                ]
            )

    assert text_value[0] == text_value[1]


def test_stopped_halfway_it_goes_on_where_it_was_and_others_on_the_file_learn_of_it(
    folder: Path,
) -> None:
    fill(folder, events=BATCH, users=("ada", "bob", "cleo"))

    with opened(folder, embedder=NEW) as watching:
        users = [watching.of(user) for user in ("ada", "bob", "cleo")]
        assert [finds_by_meaning(user) for user in users] == [False] * 3
        with opened(folder, embedder=NEW) as first:
            Maintenance(first.context).step()
        # One space is whole: whoever reads it knows, though what renewed it is no more.
        assert [finds_by_meaning(user) for user in users] == [True, False, False]
        with opened(folder, embedder=NEW) as second:
            upkeep = Maintenance(second.context)
            while upkeep.step():
                pass

        assert pending(watching.context) == 0
        assert [finds_by_meaning(user) for user in users] == [True] * 3


def test_a_large_space_is_found_by_meaning_before_all_of_it_is_done(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remembrancer.memory.maintenance.FIRST_RELOAD_EVENTS", BATCH)
    fill(folder, events=4 * BATCH)

    with opened(folder, embedder=NEW) as memory:
        upkeep = Maintenance(memory.context)
        before = [hit.event_id for hit in memory.ask("boat", top_k=100).hits]
        upkeep.step()

        assert before == []
        assert memory.ask("boat", top_k=100).total_hits == BATCH
        assert pending(memory.context) == 3 * BATCH


def test_words_wait_to_be_derived_anew_without_an_embedder_too(folder: Path) -> None:
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
        assert (
            context.store.read(
                lambda tx: tx.one("select count(*) as n from event_index where length(words) = 0")
            ).n
            == 0
        )
        assert memory.best("hound").response == "The hound is called Argos."


def test_new_events_are_not_pending(folder: Path) -> None:
    with opened(folder, embedder=NEW) as memory:
        memory.tell("When does the ferry leave?", "At noon.")

        assert pending(memory.context) == 0
        assert not Maintenance(memory.context).step()


def test_an_event_erased_meanwhile_is_left_alone(folder: Path) -> None:
    fill(folder, events=2)

    class Erasing(Concepts):
        def encode(self, texts: Sequence[str]) -> Any:
            context.store.write(
                lambda tx: [
                    tx.run(f"delete from {table} where id & 1 = 0")
                    for table in ("event_index", "events")
                ]
            )
            return super().encode(texts)

    context = testing.context(folder, embedder=Erasing("erasing/1"))
    while Maintenance(context).step():
        pass

    assert context.store.read(lambda tx: tx.one("select count(*) as n from event_index")).n == 1
    assert pending(context) == 0
    context.close()


def test_in_the_background_it_warms_up_and_renews_and_stops_when_told(folder: Path) -> None:
    fill(folder, events=3, users=("ada", "bob"))

    with opened(folder, embedder=NEW) as memory:
        upkeep = Maintenance(memory.context)
        upkeep.warm()
        warmed = {space: memory.context.index_cache.take(space).next_event for space in (1, 2)}
        upkeep.start()
        while waiting(memory.context):  # pytest's own time limit ends it if it never comes to that
            pass
        upkeep.stop()
        upkeep.stop()

        assert warmed == {1: 3, 2: 3}
        assert finds_by_meaning(memory)


def test_the_search_for_stale_data_never_reads_a_whole_space_or_store(memory: Memory) -> None:
    """Both are asked again and again while a large memory is derived anew."""
    only_sqlite()
    query = (
        (SQL.stale, {"embedder": 1, "most": 5}),
        (SQL.is_stale, {"account_id": 1, "embedder": 1, "low": 0, "high": 1}),
    )
    plans = [memory.context.store.read(partial(_plan, sql, values)) for sql, values in query]

    for plan in plans:
        steps = [step for step in plan if "event_index" in step]
        assert steps
        assert all("event_index_embedder (embedder" in step for step in steps)


def _plan(sql: str, values: dict[str, int], tx: Transaction) -> list[str]:
    return [row.detail for row in tx.all(f"explain query plan {sql}", **values)]
