"""Words and patterns of standing instructions and preferences, a TOML table per language.

In a table, `[words]` are lists in which `_` stands for a space. `{name}` in a pattern stands for
the words or the part of that name. A pattern over several lines is one, without the indentation.

Every pattern is matched against lower-case text of one sentence (at most a few hundred characters),
repeats are bounded, and none nests one unbounded repeat in another: cost is linear in the text.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

CODES = ("en", "de", "fr", "es", "it", "ru", "zh")


class LatePattern:
    """A regular expression that is compiled by its first use.

    To compile all of them takes 0.1 s, which a start of the service need not wait for.
    """

    __slots__ = ("_compiled", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self._compiled: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        """The compiled expression."""
        if self._compiled is None:
            self._compiled = re.compile(self.source)
        return self._compiled

    def match(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """Return the match at `start`, or None."""
        return self.compiled.match(text, start, end)

    def search(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """Return the first match from `start`, or None."""
        return self.compiled.search(text, start, end)


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """Patterns of one language. All but `late_future`, `late_when` and `domain_end` match at the
    start of a clause, after its fillers.
    """

    code: str
    triggers: tuple[str, ...]  # whole words; a sentence without any of these is not examined
    future: LatePattern  # "from now on": makes an order lasting
    standing: LatePattern  # an order that lasts by its own words: "never push ..."
    order: LatePattern  # an order that lasts only with a condition or a word for the future
    when: LatePattern  # opens a condition that may occur again: "whenever I ..."
    domain: LatePattern  # a clause that names a subject: "for Python code"
    address: LatePattern  # how to address the user
    preference: LatePattern
    one_choice: LatePattern  # a preference among things at hand: "I prefer the second one"
    late_future: LatePattern  # "... from now on"
    late_when: LatePattern  # "... when I ask about X"
    domain_end: LatePattern  # "... in Python code"
    domain_open: LatePattern | None = None  # `domain` before an order without a comma
    late_order: LatePattern | None = None  # all that is an order after a statement and a comma
    is_spaced: bool = True  # words have spaces between them


def _any_of(words: str) -> str:
    return f"(?:{'|'.join(re.escape(word).replace('_', ' +') for word in words.split())})"


class _Table:
    """The words and patterns of one language."""

    def __init__(self, code: str) -> None:
        text = resources.files(__package__).joinpath(f"{code}.toml").read_text("utf-8")
        self._code, self._table = code, tomllib.loads(text)
        self._parts = {name: _any_of(words) for name, words in self._table.get("words", {}).items()}
        for name, pattern in self._table.get("parts", {}).items():
            self._parts[name] = self._filled(pattern)

    def grammar(self) -> Grammar:
        """Return the patterns for clauses of this language."""
        patterns: dict[str, Any] = {
            name: LatePattern("|".join(f"(?:{self._filled(one)})" for one in some))
            for name, some in self._table["patterns"].items()
        }
        return Grammar(
            code=self._code,
            triggers=tuple(self._table["triggers"]),
            is_spaced=self._table.get("is_spaced", True),
            **patterns,
        )

    def pattern(self, table: str, name: str) -> str | None:
        """Return a pattern of another table, None if the language has none."""
        pattern = self._table[table].get(name)
        return None if pattern is None else self._filled(pattern)

    def words(self, table: str, name: str) -> list[str]:
        """Return the words of a list, none if the language has no such list."""
        return str(self._table[table].get(name, "")).split()

    def tags(self) -> list[str]:
        """Return what may follow an order, such as "ok?"."""
        return list(self._table["messages"]["tags"])

    def _filled(self, pattern: str) -> str:
        if "\n" in pattern:
            pattern = "".join(line.lstrip() for line in pattern.split("\n"))
        return re.sub(r"\{([a-z_]+)\}", lambda match: self._parts[match[1]], pattern)


_TABLES = [_Table(code) for code in CODES]
GRAMMARS = tuple(table.grammar() for table in _TABLES)
ENGLISH = GRAMMARS[0]
TAGS = tuple(tag for table in _TABLES for tag in table.tags())


def across(table: str, name: str) -> str:
    """Return the alternatives of a pattern in all languages: messages mix them."""
    return "|".join(filter(None, (one.pattern(table, name) for one in _TABLES)))


def words_across(table: str, name: str) -> frozenset[str]:
    """Return the words of this name in all languages."""
    return frozenset(word for one in _TABLES for word in one.words(table, name))


def in_messages(name: str) -> LatePattern:
    """Return the pattern of this name in `[messages]` of all languages."""
    return LatePattern(across("messages", name))


# Words before an order that do not change it.
FILLER = LatePattern(
    rf"(?:{across('messages', 'filler')}|[\s\-*•·>\"'(\[,:]{{1,8}}|\d{{1,2}}[.)]\s)"
)
# A clause may open after these.
CLAUSE = re.compile(
    rf"[,，;；:：–—()]\s*|\s-\s|\.\.+\s*|\s(?=(?:{across('messages', 'conjunction')})\s)"
)
REPORT = in_messages("report")  # somebody else's words or orders to somebody else
# Opens a question or a task about text: what follows a colon is that text.
TASK = in_messages("task")
