"""docs/guides/deploy.md: dump and restore a PostgreSQL store as the ordinary role that owns it."""

from __future__ import annotations

import os
import subprocess
from contextlib import closing
from pathlib import Path

from command import captured
from engines import server
from filled import fill

from remembrancer import testing
from remembrancer.store import open_store
from remembrancer.store.transfer.copy import store_digest
from remembrancer.testing.postgres import programs

# Row-level security: a transaction of the whole store.
SEES_ALL_ROWS = {"PGOPTIONS": "-c remembrancer.account_id=0"}


def run(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    return captured([programs() / program, *words], env={**os.environ, **SEES_ALL_ROWS}, timeout=60)


def test_restored_dump_has_the_same_content(tmp_path: Path) -> None:
    used, restored, file = server().database(), server().database(), str(tmp_path / "dump")
    with closing(testing.context(tmp_path, store=open_store(used, durability="normal"))) as context:
        fill(context)
        before = store_digest(context.store)
        dumped = run("pg_dump", "--enable-row-security", "--format=custom", f"--file={file}", used)
    words = ("--exit-on-error", "--no-owner", "--no-comments", f"--dbname={restored}")
    back = run("pg_restore", *words, file)

    assert (dumped.returncode, back.returncode) == (0, 0), dumped.stderr + back.stderr
    with closing(open_store(restored)) as store:
        assert store_digest(store) == before


def test_pg_dump_refuses_an_incomplete_dump(tmp_path: Path) -> None:
    """Without --enable-row-security, pg_dump itself refuses: policies would hide rows."""
    url = server().database()
    open_store(url).close()

    assert "row-level security" in run("pg_dump", url).stderr
