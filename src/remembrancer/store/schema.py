"""The schema as numbered migrations: forward only, one file each, equal for new and old stores.

The first is the baseline: the schema of release 1.0.0.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import NamedTuple

_FILE = re.compile(r"(?P<number>[0-9]{4})_(?P<name>[a-z0-9_]+)\.sql")


class Migration(NamedTuple):
    """One migration: brings a store from schema `number - 1` to schema `number`."""

    number: int
    name: str
    sql: str


def migrations(engine: str) -> list[Migration]:
    """Return the migrations of an engine, in order and without gaps.

    A number means the same on every engine. Raises ValueError if the files break these rules.
    """
    folder = resources.files(__package__).joinpath("migrations", engine)
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    steps = []
    for number, name in enumerate(names, start=1):
        match = _FILE.fullmatch(name)
        if match is None or int(match["number"]) != number:
            raise ValueError(
                f"migrations/{engine}/{name}: step {number} must be named"
                f" {number:04}_<what_changes>.sql"
            )
        sql = folder.joinpath(name).read_text("utf-8")
        steps.append(Migration(number, match["name"], sql))
    return steps
