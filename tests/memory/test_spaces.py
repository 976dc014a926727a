"""The index of a space depends only on the rows of that space."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory.asking import Concepts, Memory, memory_in, opened
from together import together

from remembrancer.context import Context
from remembrancer.memory.history.forget import forget
from remembrancer.memory.spaces import SQL, layers_key, row_id
from remembrancer.protocol.forget import Forget

MINE = [
    ("When does the ferry to Elba leave?", "At 9:40 from Piombino, pier 3."),
    ("Which paint is on the fence?", "Linseed oil with green umber."),
    ("How do I prune the quince?", "In February, before the buds swell."),
    ("Who repairs the cello?", "Marta in the old mill, she knows the ferry captain."),
]
WORDS = st.sampled_from(
    [
        *("ferry", "Elba", "paint", "fence", "green", "quince", "cello", "Marta"),
        *("mill", "pier", "leave", "when", "the", "February", "buds", "zxqv"),
    ]
)
FOREIGN = st.lists(
    st.tuples(
        st.lists(WORDS, min_size=1, max_size=12).map(" ".join),
        st.sampled_from(["bob", "zoe", "ada"]),
    ),
    max_size=12,
)


def answers(memory: Memory, event_ids: Sequence[str] = ()) -> list[str]:
    """Return the exact answers to some queries, with event_ids replaced by their positions."""
    requests: list[dict[str, Any]] = [
        {},
        {"focus_words": ["Marta", "zxqv"]},
        {"top_k": 2, "max_tokens": 30},
    ]
    texts = ("when does the ferry leave", "green paint", "Marta February", "zxqv")
    dump = "\n".join(
        memory.ask(text, **more).model_dump_json() for text in texts for more in requests
    )
    for place, event_id in enumerate(event_ids):
        dump = dump.replace(event_id, f"event {place}")
    return dump.splitlines()


def space_of(memory: Memory) -> Any:
    """Return the row of Ada's space."""
    values = {"account_id": memory.caller.account_id, "user_id": "ada"}
    return memory.context.store.read(lambda tx: tx.one(SQL.space_of, **values))


@settings(max_examples=25)
@given(foreign=FOREIGN, first=st.booleans())
def test_writes_to_other_spaces_do_not_change_an_answer(
    tmp_path_factory: pytest.TempPathFactory, foreign: list[tuple[str, str]], first: bool
) -> None:
    """Ranks, scores and reasons stay the same, whether the others write before or after."""
    with opened(tmp_path_factory.mktemp("alone")) as memory:
        alone = answers(memory, [memory.tell(*turn) for turn in MINE])
    with opened(tmp_path_factory.mktemp("together")) as memory:
        other = memory_in(memory.context, "another account")

        def others_write() -> None:
            for text, user_id in foreign:
                (other if user_id == "ada" else memory).of(user_id).tell(text, text)

        if first:
            others_write()
        event_ids = [memory.tell(*turn) for turn in MINE]
        before = answers(memory, event_ids)
        others_write()

        assert answers(memory, event_ids) == before == alone


@pytest.mark.parametrize(
    "words", [b"", b"\x00", b"\x63\x00\x01\x00", b"\x01\x00\xff\xff" + bytes(40), bytes(500)]
)
def test_damaged_or_outdated_index_words_are_rebuilt_from_the_text(
    context: Context, memory: Memory, folder: Path, words: bytes
) -> None:
    event_ids = [memory.tell(*turn) for turn in MINE]
    whole = answers(memory)
    context.store.write(
        lambda tx: tx.run("update event_index set words = :words where id & 1 = 0", words=words)
    )

    with opened(folder) as again:
        assert again.hit_ids("when does the ferry to Elba leave")[0] == event_ids[0]
        assert answers(again) == whole


def test_index_is_reloaded_when_the_revision_increases(context: Context, memory: Memory) -> None:
    event_ids = [memory.tell(*turn) for turn in MINE]
    before = memory.hit_ids("ferry")
    space = space_of(memory)
    erased = row_id(space.id, 0)

    for table in ("event_index", "events"):
        sql = f"delete from {table} where id = :gone"
        context.store.write(lambda tx, sql=sql: tx.run(sql, gone=erased))  # type: ignore[misc]
    behind = memory.ask("ferry")
    context.store.write(
        lambda tx: tx.run(SQL.revise_space, space_id=space.id), account_id=memory.caller.account_id
    )
    memory.ask("ferry")

    assert event_ids[0] in before
    # its row is deleted: even an outdated index does not return it
    assert event_ids[0] not in [hit.event_id for hit in behind.hits]
    assert context.index_cache.take(space.id).revision == 1
    assert set(memory.hit_ids("ferry")) == set(before) - {event_ids[0]}
    whole = answers(memory)
    context.index_cache.drop(space.id)
    assert answers(memory) == whole


@pytest.mark.parametrize("request_of", [{"user_id": "ada", "confirm": "ada"}, {"account": True}])
def test_indexes_of_a_forgotten_user_leave_the_memory(
    context: Context, memory: Memory, request_of: dict[str, Any]
) -> None:
    """Each would stay until the budget is used up, with the words of the user."""
    memory.tell(*MINE[0])
    answers(memory)
    space = space_of(memory)
    keys = (space.id, layers_key(space.id))
    holds = partial(context.index_cache.holds, revision=0, end=0, within=0)
    before = [holds(key) for key in keys]

    confirm = {"confirm": memory.caller.account_name} | request_of
    forget(context, memory.caller, Forget.model_validate(confirm))

    assert before[0]
    assert not any(holds(key) for key in keys)


def test_concurrent_searches_find_every_finished_write(folder: Path) -> None:
    missed: list[str] = []
    acknowledged: list[tuple[str, str]] = []
    writers_left = [4]
    gate = threading.Barrier(8)

    def write(memory: Memory, name: str) -> None:
        gate.wait()
        for n in range(25):
            word = f"zx{name}q{n}v"
            event_id = memory.tell(f"What opens locker {n}?", f"The word {word}.")
            acknowledged.append((word, event_id))
            if event_id not in memory.hit_ids(word, top_k=3):
                missed.append(word)
        writers_left[0] -= 1

    def search(memory: Memory) -> None:
        gate.wait()
        while writers_left[0]:
            for word, event_id in acknowledged[-3:]:
                if event_id not in memory.hit_ids(word, top_k=3):
                    missed.append(word)

    with opened(folder, embedder=Concepts()) as one, opened(folder, embedder=Concepts()) as two:
        sides = (("ak", one), ("aj", two), ("bk", one), ("bj", two))
        writers = [partial(write, memory, name) for name, memory in sides]
        together(*writers, *(partial(search, memory) for _, memory in sides))

        assert (missed, len(acknowledged), writers_left) == ([], 100, [0])
        assert all(
            event_id in memory.hit_ids(word, top_k=3)
            for memory in (one, two)
            for word, event_id in acknowledged
        )
