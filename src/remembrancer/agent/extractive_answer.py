"""Answer without a model: quote the best matching turns verbatim, with their refs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ..claims.tags import keep_refs
from ..memory.summaries.extractive import sentences
from ..protocol import limits
from ..protocol.fence import defused
from ..protocol.search import Hit, MemoryAnswer
from ..search.text.analysis import terms
from ..search.text.screening import find_secrets, mask_secrets

# Topic of turns answered by quotes: their responses are not evidence.
QUOTED_TOPIC = "chat, quoted from memory"
NO_MODEL = "No language model is configured, so I can only quote what I remember."
OUTSIDE_NOT_ALLOWED = (
    "This account does not allow language models on other machines to read its memory, "
    "so I can only quote what I remember."
)
BEST_MATCHES = "These stored turns match best:"
BEST_MEMORY = "This is what memory has on it:"
NO_MATCHES = "No stored turn, fact or summary matches."
_QUESTION = re.compile(r"[?？؟]\W*$")


@dataclass(frozen=True, slots=True)
class Quote:
    """The quoted parts of one event; a side that is not quoted is empty."""

    event_id: str
    date: str
    query: str
    response: str

    def __str__(self) -> str:
        sides = [
            f"{speaker}: “{text}”"
            for speaker, text in (("user", self.query), ("assistant", self.response))
            if text
        ]
        return f"- {self.date}, {'; '.join(sides)} (ref: {self.event_id})"


def quotes(hits: Sequence[Hit], question: str) -> list[Quote]:
    """Return quotes of the hits that have evidence, best first."""
    result: list[Quote] = []
    question_terms = terms(question)
    for hit in hits:
        query, response = _quotable(hit, question)
        sides = (_excerpt(query, question_terms), _excerpt(response, question_terms))
        if any(sides):
            result.append(Quote(hit.event_id, hit.occurred_at[:10], *sides))
        if len(result) == limits.CHAT_QUOTES_MAX:
            break
    return result


@dataclass(frozen=True, slots=True)
class QuotedAnswer:
    """An answer of quotes, and what to store as the response of its turn.

    Only its refs are stored: the quoted text is in memory already, and the other sentences are no
    memory.
    """

    text: str
    stored_text: str


def quoted_answer(
    search_result: MemoryAnswer, background: Sequence[str], message: str, reason: str
) -> QuotedAnswer:
    """Return the quotes that answer a message, after those of facts and summaries.

    `reason` says why no model answers.
    """
    quote_list = quotes(search_result.hits, message)
    quoted = [*background, *map(str, quote_list)]
    heading = BEST_MEMORY if background else BEST_MATCHES
    lines = [f"{reason} {heading}", "", *quoted] if quoted else [f"{reason} {NO_MATCHES}"]
    if search_result.help_hits:
        lines += [
            "",
            *(f"The help says: {passage.text}" for passage in search_result.help_hits[:1]),
        ]
    sources = [quote.event_id for quote in quote_list]
    sources += [fact.event_id for fact in search_result.facts if fact.event_id]
    stored_text = f"(ref: {', '.join(dict.fromkeys(sources))})" if sources else ""
    return QuotedAnswer("\n".join(lines), stored_text)


def has_evidence(hit: Hit, question: str) -> bool:
    """Return True if an event contains more than the question itself."""
    return any(_quotable(hit, question))


def _quotable(hit: Hit, question: str) -> tuple[str, str]:
    """Return both sides of a turn.

    Of a turn that was itself answered by quotes, return only the query, unless it is a question.
    """
    if hit.topic != QUOTED_TOPIC:
        return hit.query, hit.response
    query = (
        hit.query
        if not _QUESTION.search(hit.query) and hit.query.strip() != question.strip()
        else ""
    )
    return query, ""


def _excerpt(text: str, question_terms: set[int]) -> str:
    """Return the adjacent sentences with most terms of the question, on one line."""
    # Without refs: those of an earlier answer are not those of this one.
    clean = " ".join(keep_refs(sanitize(text), ()).split())
    characters_max = limits.CHAT_QUOTE_CHARACTERS_MAX
    if len(clean) <= characters_max:
        return clean
    parts = sentences(clean) or [clean]
    matches = [terms(part) & question_terms for part in parts]
    best: tuple[int, int, int] = (-1, 0, 0)
    for start in range(len(parts)):
        lengths = list(accumulate(len(part) + 1 for part in parts[start:]))
        end = start + max(sum(length <= characters_max + 1 for length in lengths), 1)
        best = max(best, (len(set().union(*matches[start:end])), -start, -end))
    start, end = -best[1], -best[2]
    quote = " ".join(parts[start:end])[:characters_max]
    return ("… " if start else "") + quote + (" …" if end < len(parts) else "")


def sanitize(text: str) -> str:
    """Remove fences and hidden characters, disable images, and mask secrets."""
    plain = defused(text).replace("![", "[")
    return mask_secrets(plain, find_secrets(plain))
