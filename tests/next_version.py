"""A later version of the program, with one more migration than this one."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import remembrancer
from remembrancer.store.schema import migrations

NEXT_NUMBER = len(migrations("sqlite")) + 1
NEXT = {
    "sqlite": "alter table accounts add column colour text not null default 'blue';",
    "postgresql": "alter table accounts add column colour text not null default 'blue';",
}


def next_version(folder: Path, sql: dict[str, str] | None = None) -> Path:
    """Write the later version to `folder`; return the path to it for PYTHONPATH."""
    package = Path(remembrancer.__file__).parent
    shutil.copytree(
        package,
        folder / "next/remembrancer",
        copy_function=os.symlink,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for engine, text in (sql or NEXT).items():
        place = folder / "next/remembrancer/store/migrations" / engine
        (place / f"{NEXT_NUMBER:04}_next.sql").write_text(text, "utf-8")
    return folder / "next"


def schema_in(file: Path) -> int:
    """Return the schema number in a SQLite file."""
    with closing(sqlite3.connect(file)) as connection:
        [number] = connection.execute("pragma user_version").fetchone()
    return int(number)
