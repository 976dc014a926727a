"""Deterministic test doubles of `remembrancer.testing`, for our tests and for users' tests."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from engines import only_sqlite

from remembrancer import testing
from remembrancer.accounts import keys
from remembrancer.context import new_id
from remembrancer.testing import CountingIds


def test_counting_ids_have_the_format_of_real_ids() -> None:
    ids = CountingIds()

    assert [ids("evt_"), ids("evt_"), ids("req_")] == [
        "evt_0000000000001",
        "evt_0000000000002",
        "req_0000000000003",
    ]
    assert len(ids("evt_")) == len(new_id("evt_"))


def test_context_stores_rows_on_disk(tmp_path: Path) -> None:
    only_sqlite()
    with closing(testing.context(tmp_path)) as context:
        key = keys.create(context, account="ada").key.reveal()
    with closing(testing.context(tmp_path)) as context:
        assert keys.authenticate(context, key).account_name == "ada"

    assert [file.name for file in tmp_path.iterdir()] == ["remembrancer.sqlite3"]


def test_two_contexts_on_one_folder_never_create_the_same_id(tmp_path: Path) -> None:
    with closing(testing.context(tmp_path)) as one, closing(testing.context(tmp_path)) as two:
        assert one.ids("evt_") != two.ids("evt_")
