"""Finished writes survive a killed process; an unfinished one is whole or absent."""

from __future__ import annotations

import random
import sys
from contextlib import closing
from pathlib import Path

from command import killed_after

from remembrancer.store.sqlite.store import SqliteStore

WRITER = Path(__file__).with_name("crash_writer.py")


def test_killed_process_loses_no_finished_write_and_leaves_no_partial_one(tmp_path: Path) -> None:
    moments, path, answered = random.Random(8460), tmp_path / "store.sqlite3", set[str]()
    for run in range(6):
        writer = [sys.executable, str(WRITER), str(path), str(run)]
        answered.update(killed_after(writer, moments.randrange(1, 300)))

        with closing(SqliteStore(path)) as store:
            stored = {
                row.name for row in store.read(lambda tx: tx.all("select name from accounts"))
            }
            incomplete = store.read(
                lambda tx: tx.all(
                    "select account_id from spaces group by account_id having count(*) <> 3"
                )
            )
            orphans = store.read(
                lambda tx: tx.all(
                    "select id from accounts where id not in (select account_id from spaces)"
                )
            )
            assert answered - stored == set()
            assert (incomplete, orphans) == ([], [])
            assert store.read(lambda tx: tx.all("pragma integrity_check"))[0][0] == "ok"

    assert len(answered) > 100
