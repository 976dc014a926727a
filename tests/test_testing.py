"""Deterministic test doubles of `remembrancer.testing`, for our tests and for users' tests."""

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


def test_frozen_clock_moves_only_on_advance() -> None:
    clock = FrozenClock()
    before = [clock(), clock()]
    clock.advance(250)

    assert before == [testing.START_MS, testing.START_MS]
    assert clock() == testing.START_MS + 250


def test_counting_ids_have_the_format_of_real_ids() -> None:
    ids = CountingIds()

    assert [ids("evt_"), ids("evt_"), ids("req_")] == [
        "evt_0000000000001",
        "evt_0000000000002",
        "req_0000000000003",
    ]
    assert len(ids("evt_")) == len(new_id("evt_"))


@given(st.lists(st.text(), max_size=5))
def test_hash_embedder_vectors_have_unit_length_or_are_zero(texts: list[str]) -> None:
    vectors = HashEmbedder().encode(texts)

    assert vectors.shape == (len(texts), HashEmbedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.all(
        np.isclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5) | (vectors == 0).all(axis=1)
    )


def test_equal_words_have_equal_vectors_and_shared_words_similar_ones() -> None:
    tea, again, some, other = HashEmbedder().encode(
        ["green tea, please", "Please: GREEN tea", "green tea", "snow tyres"]
    )

    assert np.array_equal(tea, again)
    assert tea @ some > 0.7 > tea @ other
    assert not HashEmbedder().encode(["...", ""]).any()


def test_context_stores_rows_on_disk(tmp_path: Path) -> None:
    only_sqlite()
    with closing(testing.context(tmp_path)) as context:
        key = keys.create(context, account="ada").key.reveal()
    with closing(testing.context(tmp_path)) as context:
        assert keys.authenticate(context, key).account_name == "ada"

    assert [file.name for file in tmp_path.iterdir()] == ["remembrancer.sqlite3"]


def test_context_uses_the_given_parts(tmp_path: Path) -> None:
    clock, ids, embedder = FrozenClock(7), CountingIds(), HashEmbedder()
    with closing(testing.context(tmp_path, clock=clock, ids=ids, embedder=embedder)) as context:
        assert (context.clock, context.ids, context.embedder) == (clock, ids, embedder)
        with pytest.raises(TypeError):
            testing.context(tmp_path, clok=clock)  # type: ignore[call-arg]


def test_two_contexts_on_one_folder_never_create_the_same_id(tmp_path: Path) -> None:
    with closing(testing.context(tmp_path)) as one, closing(testing.context(tmp_path)) as two:
        assert one.ids("evt_") != two.ids("evt_")
