"""Trust in a text by its source: the words, their order, and what may replace what."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

TextSource: TypeAlias = Literal["user", "model", "tool", "file", "import", "other"]
SOURCES: tuple[TextSource, ...] = get_args(TextSource)  # in falling trust; stored by their places
RANKS: dict[TextSource, int] = {source: place for place, source in enumerate(SOURCES)}


def least(*sources: TextSource) -> TextSource:
    """Return the least trusted of some sources."""
    return max(sources, key=RANKS.__getitem__)


def may_replace(newer: int, older: int) -> bool:
    """Return True if a text may replace an earlier one, by their ranks: what neither the user nor a
    model said replaces nothing that they said.
    """
    return newer <= RANKS["model"] or older > RANKS["model"]
