"""The schema as numbered steps:

forward only, one file a step, the same for a new store and an old one.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import NamedTuple

_FILE = re.compile(r"(?P<number>[0-9]{4})_(?P<name>[a-z0-9_]+)\.sql")


class Migration(NamedTuple):
    """One step: brings a store from schema `number - 1` to schema `number`."""

    number: int
    name: str
    sql: str


def migrations(engine: str) -> list[Migration]:
    """The steps of an engine, in order, without a gap. Raises ValueError where files break that
    rule.

    A number means the same on every engine. The first step is 1, or on an engine that came later a
    `baseline`: all up to its number.
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
                f"migrations/{engine}/{file.name}: step {number} must be named {number:04}_<what_changes>.sql"
            )
        steps.append(Migration(number, match["name"], file.read_text("utf-8")))
    return steps
