"""Statements that say about themselves that they are not to be relied on, in seven languages.

"An unverified note says ...", "similar feedback from another workspace", "just a rumour".
"""

from __future__ import annotations

import re
import tomllib
from importlib import resources

LENGTH_MAX = 600  # characters of a message that are read: longer ones say much else


def _disclaimer() -> re.Pattern[str]:
    text = resources.files(__package__).joinpath("disclaimers.toml").read_text("utf-8")
    table = tomllib.loads(text)
    words, unspaced = "|".join(table["words"]), "|".join(table["unspaced"])
    # Of text in lower case: ignoring case here takes twice as long, for each hit of a search.
    return re.compile(rf"\b(?:{words})\b|{unspaced}")


_DISCLAIMER = _disclaimer()


def disclaims(message: str) -> bool:
    """Return True if a message says that what it tells is unverified or belongs elsewhere."""
    return _DISCLAIMER.search(message[:LENGTH_MAX].lower()) is not None
