"""Words and patterns in words.toml, joined across the languages: messages mix them."""

from __future__ import annotations

from functools import cache

from ...protocol.tables import read_table

TABLES = read_table(__package__, "words.toml")
CODES = tuple(TABLES)


@cache
def across(name: str, part: str | None = None) -> str:
    """Return the alternatives of a pattern, of a part such as `facts`, in all languages."""
    tables = [table if part is None else table[part] for table in TABLES.values()]
    return "|".join(table[name] for table in tables if name in table)


def words_across(name: str) -> frozenset[str]:
    """Return the words of a list of `topics` in all languages."""
    return frozenset(
        word for table in TABLES.values() for word in table["topics"].get(name, "").split()
    )
