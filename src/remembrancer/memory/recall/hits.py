"""Turn ranked events into hits: their rows, the changes between them, and their snippets."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from ...protocol.limits import SNIPPET_CHARACTERS_MAX
from ...search import Ranking, Successor, normalize, side_passages
from ...store import Row, Transaction
from ..links import SQL as LINK_SQL
from ..links import EventLinks, event_links
from ..spaces import SQL, number_of, row_id

# --- The rows of hits, and the changes between turns -----------------------------------------


def rows_of(tx: Transaction, space_id: int, events: Sequence[int]) -> dict[int, Row]:
    """Return the rows of some events by number. Events that were erased a moment ago have none."""
    if not events:
        return {}
    first = row_id(space_id, 0)
    ids = json.dumps([first | event for event in events])
    return {number_of(row.id): row for row in tx.all(SQL.hits, ids=ids)}


class TurnChanges:
    """The changes between the best events of a search and others, as of a time."""

    def __init__(self, tx: Transaction, space_id: int, as_of_ms: int | None) -> None:
        self._tx, self._space_id, self._as_of_ms = tx, space_id, as_of_ms
        self._rows: list[Row] = []

    def of(self, events: Sequence[int]) -> dict[int, Successor]:
        """Read the changes of these events; return the newest one that replaced each older one.

        By the number of the older one. A certain one goes before a hint.
        """
        first = row_id(self._space_id, 0)
        ids = json.dumps([first | event for event in events])
        self._rows = [
            row
            for row in self._tx.all(LINK_SQL.changes_of, ids=ids)
            if self._as_of_ms is None or row.occurred_ms <= self._as_of_ms
        ]
        rows = sorted(self._rows, key=lambda row: bool(row.certain))  # stable: by the newer one
        return {
            number_of(row.older): Successor(number_of(row.newer), bool(row.certain)) for row in rows
        }

    def links_of(self, event: int) -> EventLinks:
        """Return the links of a hit."""
        row = row_id(self._space_id, event)
        return event_links(row, [one for one in self._rows if row in (one.older, one.newer)])


# --- The texts of hits: both sides of a turn, or the parts of them where the query's words are

EDGE_CHARACTERS = 30  # a cut moves at most this far to avoid splitting a word
SPOTS_MAX = 200  # occurrences of query words examined in a passage


def hit_text(query: str, response: str, ranking: Ranking, part: int) -> tuple[str, str]:
    """Return both sides of a turn, cut to snippets around its best `part` if they are long."""
    if len(query) <= SNIPPET_CHARACTERS_MAX and len(response) <= SNIPPET_CHARACTERS_MAX:
        return query, response
    side, place = ranking.place_of(part)
    words, places = _query_words(ranking), (0, place) if side else (place, 0)
    return snippet(query, places[0], words), snippet(response, places[1], words)


def best_passage(text: str, ranking: Ranking, part: int) -> tuple[int, int]:
    """Return where the best `part` of a turn stands in its side of `hit_text`: start and end.

    `text` is that whole side of the turn.
    """
    _, place = ranking.place_of(part)
    cuts = [len(passage.text) for passage in side_passages(text)]
    place = min(place, len(cuts) - 1)
    first, last = sum(cuts[:place]), sum(cuts[: place + 1])
    start, end = _window(text, place, _query_words(ranking))
    shift = (1 if text[:start].strip() else 0) - start  # the ellipsis before a snippet
    return max(first, start) + shift, min(last, end) + shift


def _query_words(ranking: Ranking) -> list[str]:
    return [normalize(word.text) for word in ranking.question.words if not word.is_stop]


def snippet(text: str, place: int, words: list[str]) -> str:
    """Return at most SNIPPET_CHARACTERS_MAX characters of a text.

    They are taken from passage number `place`, where most of `words` (normalised) occur.
    """
    start, end = _window(text, place, words)
    before, after = text[:start].strip(), text[end:].strip()
    return ("…" if before else "") + text[start:end] + ("…" if after else "")


def _window(text: str, place: int, words: list[str]) -> tuple[int, int]:
    """Return start and end of a snippet, without white space at its edges if it is cut."""
    if len(text) <= SNIPPET_CHARACTERS_MAX:
        return 0, len(text)
    cuts = [passage.text for passage in side_passages(text)]
    place = min(place, len(cuts) - 1)
    start = sum(len(passage) for passage in cuts[:place])
    size = SNIPPET_CHARACTERS_MAX - 2  # without the two ellipses
    densest = max(_densest(cuts[place], words, size * 3 // 4) - size // 4, 0)
    start = min(start + densest, len(text) - size)
    end = start + size
    if start and not text[start - 1].isspace():
        start = text.find(" ", start, start + EDGE_CHARACTERS) + 1 or start
    if end < len(text) and not text[end].isspace():
        space = text.rfind(" ", end - EDGE_CHARACTERS, end)
        end = end if space < 0 else space
    excerpt = text[start:end]
    start += len(excerpt) - len(excerpt.lstrip())
    return start, max(start, end - len(excerpt) + len(excerpt.rstrip()))


def _densest(passage: str, words: list[str], size: int) -> int:
    """Return the start of the stretch of `size` characters with most of the words, or 0."""
    plain = normalize(passage)
    spots = sorted(
        (at, number)
        for number, word in enumerate(words)
        for piece in _word_pieces(word, plain)
        for at in (match.start() for match in re.finditer(re.escape(piece), plain))
    )
    best, most = 0, 0
    for first, (at, _) in enumerate(spots[:SPOTS_MAX]):
        near = spots[first : first + SPOTS_MAX]
        count = len({number for position, number in near if position <= at + size})
        if count > most:
            best, most = at, count
    return best * len(passage) // max(len(plain), 1)  # normalising may shorten or lengthen a text


def _word_pieces(word: str, plain: str) -> list[str]:
    """Return the parts of a word that occur in a text.

    The whole word, else its longest prefix (another ending), else its pairs of characters.
    """
    for end in range(len(word), max(2 * len(word) // 3, 2), -1):
        if word[:end] in plain:
            return [word[:end]]
    pairs = [] if word.isascii() else [word[at : at + 2] for at in range(len(word) - 1)]
    return [pair for pair in pairs if pair in plain]
