"""docs/guides/deploy.md: dump and restore a PostgreSQL store as the ordinary role that owns it."""

from __future__ import annotations

import os
import subprocess
from contextlib import closing, nullcontext
from pathlib import Path

from engines import server
from filled import fill

from remembrancer import testing
from remembrancer.store import open_store
from remembrancer.store.transfer.copy import copy
from remembrancer.store.transfer.digest import store_digest
from remembrancer.testing.postgres import programs

SEES_ALL_ROWS = {
    "PGOPTIONS": "-c remembrancer.account_id=0"
}  # row-level security: a transaction of the whole store


def run(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [programs() / program, *words],
        env={**os.environ, **SEES_ALL_ROWS},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_restored_dump_has_the_same_content(tmp_path: Path) -> None:
    used, restored = server().database(), server().database()
    with closing(testing.context(tmp_path, store=open_store(used, durability="normal"))) as context:
        fill(context)
        before = store_digest(context.store)
        dumped = run(
            "pg_dump",
            "--enable-row-security",
            "--format=custom",
            f"--file={tmp_path / 'dump'}",
            used,
        )
    back = run(
        "pg_restore",
        "--exit-on-error",
        "--no-owner",
        "--no-comments",
        f"--dbname={restored}",
        str(tmp_path / "dump"),
    )

    assert (dumped.returncode, back.returncode) == (0, 0), dumped.stderr + back.stderr
    with closing(open_store(restored)) as store:
        assert store_digest(store) == before


def test_pg_dump_refuses_an_incomplete_dump(tmp_path: Path) -> None:
    """Without --enable-row-security, pg_dump itself refuses: policies would hide rows."""
    url = server().database()
    open_store(url).close()

    assert "row-level security" in run("pg_dump", url).stderr


def test_copy_by_an_ordinary_role_contains_every_row(tmp_path: Path) -> None:
    """Row-level security applies to an ordinary role; a copy still contains every account."""
    url = server().database()
    with closing(
        testing.context(
            tmp_path, store=open_store(f"sqlite:{tmp_path / 'used'}", durability="normal")
        )
    ) as context:
        fill(context)
        with closing(open_store(url)) as target:
            copied = copy(
                context.store,
                target,
                place="here",
                progress=lambda _what, _rows: nullcontext(lambda _: None),
            )

    assert copied.is_same
    assert sum(one.target.rows for one in copied.compared) > 2_000
