"""The parsed words of a search query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...protocol.memory import MemoryQuery
from ...search import ParsedQuery, QueryWord, parse_query


@dataclass(frozen=True, slots=True)
class SearchTerms:
    """A query and its focus phrases, parsed for the languages of a space."""

    question: ParsedQuery
    phrases: Sequence[ParsedQuery]  # of the focus words, in the order of the query

    @property
    def words(self) -> tuple[QueryWord, ...]:
        """The words of the query, then those of the focus phrases; both are searched for alike."""
        return tuple(word for text in (self.question, *self.phrases) for word in text.words)


def parse_terms(query: MemoryQuery, languages: Sequence[int]) -> SearchTerms:
    """Parse a query and its focus words. `languages` are the numbers of the space's languages."""
    return SearchTerms(
        parse_query(query.query_text, languages),
        tuple(parse_query(phrase, languages) for phrase in query.focus_words),
    )
