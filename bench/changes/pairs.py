"""Labelled pairs of an older and a newer statement.

In labelled.toml a pair is one line, `label | older | newer`. `change` means that the newer
statement replaces the older one, `none` that they must not be linked. A third of the pairs, chosen
by a hash of their text, is held out: the rules were never tuned on it.
"""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import NamedTuple

LABELLED = Path(__file__).with_name("labelled.toml")


class Pair(NamedTuple):
    """An older and a newer statement, and whether the newer one replaces the older one."""

    source: str
    older: str
    newer: str
    is_change: bool

    @property
    def is_held_out(self) -> bool:
        """True for a third of the pairs, fixed by their text."""
        digest = hashlib.sha256(f"{self.older}\n{self.newer}".encode()).digest()
        return digest[0] % 3 == 0


def labelled_pairs() -> list[Pair]:
    """Return the hand-written pairs; `source` is the code of the language."""
    result = []
    for language in tomllib.loads(LABELLED.read_text("utf-8"))["language"]:
        for line in language["pairs"].strip().splitlines():
            label, older, newer = line.split(" | ")
            result.append(
                Pair(language["code"], older, newer, {"change": True, "none": False}[label])
            )
    return result
