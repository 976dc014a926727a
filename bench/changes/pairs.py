"""Labelled pairs of an older and a newer statement.

In the files a pair is one line, `label | older | newer`. `change` means that the newer statement
replaces the older one, `none` that they must not be linked. labelled.toml was written before the
rules; a third of its pairs, chosen by a hash of their text, is held out: no rule was chosen on it.
development.toml was written while the rules were made.
"""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import NamedTuple

FILES = ("labelled.toml", "development.toml")
DEVELOPMENT = "mixed"  # the source of the pairs of development.toml


class Pair(NamedTuple):
    """An older and a newer statement, and whether the newer one replaces the older one."""

    source: str
    older: str
    newer: str
    is_change: bool

    @property
    def is_held_out(self) -> bool:
        """True for a third of the pairs of labelled.toml, fixed by their text."""
        digest = hashlib.sha256(f"{self.older}\n{self.newer}".encode()).digest()
        return self.source != DEVELOPMENT and digest[0] % 3 == 0


def labelled_pairs() -> list[Pair]:
    """Return the hand-written pairs; `source` is the code of the language."""
    result = []
    for file in FILES:
        table = tomllib.loads(Path(__file__).with_name(file).read_text("utf-8"))
        for language in table["language"]:
            for line in language["pairs"].strip().splitlines():
                label, older, newer = line.split(" | ")
                is_change = {"change": True, "none": False}[label]
                result.append(Pair(language["code"], older, newer, is_change))
    return result
