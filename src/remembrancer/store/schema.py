"""The schema as numbered migrations: forward only, one file each, equal for new and old stores."""

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

    A number means the same on every engine. The first is 1, or a `baseline` with everything up to
    its number on an engine that was added later. Raises ValueError if the files break these rules.
    """
    folder = resources.files(__package__).joinpath("migrations", engine)
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")),
        key=lambda file: file.name,
    )
    first = re.match(r"([0-9]{4})_baseline\.sql", files[0].name) if files else None
    steps = []
    for number, file in enumerate(files, start=int(first[1]) if first else 1):
        match = _FILE.fullmatch(file.name)
        if match is None or int(match["number"]) != number:
            raise ValueError(
                f"migrations/{engine}/{file.name}: step {number} must be named"
                f" {number:04}_<what_changes>.sql"
            )
        steps.append(Migration(number, match["name"], file.read_text("utf-8")))
    return steps
