"""The parts that hold still, which we give to users for their tests too."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from engines import only_sqlite
from hypothesis import given
from hypothesis import strategies as st

from remembrancer import testing
from remembrancer.accounts import keys
from remembrancer.context import new_id
from remembrancer.testing import CountingIds, FrozenClock, HashEmbedder


def test_the_clock_moves_only_when_told_to() -> None:
    clock = FrozenClock()
    before = [clock(), clock()]
    clock.advance(250)

    assert before == [testing.START_MS, testing.START_MS]
    assert clock() == testing.START_MS + 250


def test_ids_count_in_the_shape_of_real_ones() -> None:
    ids = CountingIds()

    assert [ids("evt_"), ids("evt_"), ids("req_")] == [
        "evt_0000000000001",
        "evt_0000000000002",
        "req_0000000000003",
    ]
    assert len(ids("evt_")) == len(new_id("evt_"))


@given(st.lists(st.text(), max_size=5))
def test_every_vector_has_unit_length_unless_there_is_no_word(texts: list[str]) -> None:
    vectors = HashEmbedder().encode(texts)

    assert vectors.shape == (len(texts), HashEmbedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.all(
        np.isclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5) | (vectors == 0).all(axis=1)
    )


def test_the_same_words_have_the_same_vector_and_shared_words_a_nearer_one() -> None:
    tea, again, some, other = HashEmbedder().encode(
        ["green tea, please", "Please: GREEN tea", "green tea", "snow tyres"]
    )

    assert np.array_equal(tea, again)
    assert tea @ some > 0.7 > tea @ other
    assert not HashEmbedder().encode(["...", ""]).any()


def test_a_context_is_real_and_keeps_what_is_written(tmp_path: Path) -> None:
    only_sqlite()
    with closing(testing.context(tmp_path)) as context:
        key = keys.create(context, account="ada").key.reveal()
    with closing(testing.context(tmp_path)) as context:
        assert keys.authenticate(context, key).account_name == "ada"

    assert [file.name for file in tmp_path.iterdir()] == ["remembrancer.sqlite3"]


def test_a_context_takes_the_parts_it_is_given(tmp_path: Path) -> None:
    clock, ids, embedder = FrozenClock(7), CountingIds(), HashEmbedder()
    with closing(testing.context(tmp_path, clock=clock, ids=ids, embedder=embedder)) as context:
        assert (context.clock, context.ids, context.embedder) == (clock, ids, embedder)
        with pytest.raises(TypeError):
            testing.context(tmp_path, clok=clock)  # type: ignore[call-arg]


def test_two_contexts_on_one_folder_never_give_the_same_id(tmp_path: Path) -> None:
    with closing(testing.context(tmp_path)) as one, closing(testing.context(tmp_path)) as two:
        assert one.ids("evt_") != two.ids("evt_")
