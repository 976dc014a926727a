"""Turn matches into hits: their rows, their order by changes and use, and their snippets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from ...protocol.limits import SNIPPET_CHARACTERS_MAX
from ...search import RankedEvent, Ranking, disclaims, normalize, side_passages
from ...store import Row, Transaction
from ..changes import content_words
from ..links import SQL as LINK_SQL
from ..links import EventLinks, event_links
from ..spaces import SQL, number_of, row_id

# --- The rows of the events that a search may show, read as they are needed ------------------


class HitRows(Mapping[int, Row]):
    """The rows by event number. Events that were erased a moment ago have none.

    The first events nearly always suffice; the others replace repetitions, and are read together
    when one of them is needed.
    """

    def __init__(
        self, tx: Transaction, space_id: int, events: Sequence[int], *, at_once: int
    ) -> None:
        """Read the rows of the first `at_once` of these events of a space."""
        self._tx, self._space_id = tx, space_id
        self._rows: dict[int, Row] = {}
        self._waiting: Sequence[int] = events[at_once:]
        self._read(events[:at_once])

    def __getitem__(self, event: int) -> Row:
        if event not in self._rows and self._waiting:
            self._read_waiting()
        return self._rows[event]

    def __iter__(self) -> Iterator[int]:
        self._read_waiting()
        return iter(self._rows)

    def __len__(self) -> int:
        self._read_waiting()
        return len(self._rows)

    def _read_waiting(self) -> None:
        waiting, self._waiting = self._waiting, ()
        self._read(waiting)

    def _read(self, events: Sequence[int]) -> None:
        if events:
            ids = json.dumps([row_id(self._space_id, event) for event in events])
            rows = self._tx.all(SQL.hits, ids=ids)
            self._rows.update((number_of(row.id), row) for row in rows)


# --- Order hits by the changes between turns: newer values before those they replace ---------

CHANGES_MAX = 500  # newest changes of a space that a question about an earlier time considers
TIE = 3.25  # changes whose scores differ by less fit a question equally well: oldest first
HISTORY_LIFT = 7.5  # added to the newer turn of a change for a question about an earlier time


@dataclass(slots=True)
class TurnChanges:
    """The changes between some turns: by number of an event, the rows of the changes."""

    newer: dict[int, list[Row]] = field(default_factory=dict)  # that replace it
    older: dict[int, list[Row]] = field(default_factory=dict)  # that it replaces

    def successor(self, event: int) -> Row | None:
        """Return the newest certain change that replaced a turn."""
        return next((row for row in reversed(self.newer.get(event, [])) if row.certain), None)


def changes_of(
    tx: Transaction, space_id: int, events: Sequence[int], as_of_ms: int | None
) -> TurnChanges:
    """Return the changes between these turns and others, as of a time (ms since 1970)."""
    changes = TurnChanges()
    if not events:
        return changes
    ids = json.dumps([row_id(space_id, event) for event in events])
    for row in tx.all(LINK_SQL.changes_of, ids=ids):
        if as_of_ms is None or row.occurred_ms <= as_of_ms:
            changes.newer.setdefault(number_of(row.older), []).append(row)
            changes.older.setdefault(number_of(row.newer), []).append(row)
    return changes


def history_lifts(tx: Transaction, space_id: int) -> dict[int, float]:
    """Return the lifts of turns that a question about an earlier state of things is about."""
    rows = tx.all(LINK_SQL.newest_changes, space_id=space_id, most=CHANGES_MAX)
    return {number_of(row.newer): HISTORY_LIFT for row in rows}


def oldest_first(
    ranked: Sequence[RankedEvent], lifts: Mapping[int, float], ranking: Ranking
) -> list[RankedEvent]:
    """Return the events with changes that fit a question about equally well in order of time.

    "What was it before, and what is it now?" may mean several things. Scores stay in descending
    order.
    """
    best = next((one.raw for one in ranked if one.event in lifts), 0.0)
    places = [
        place for place, one in enumerate(ranked) if one.event in lifts and one.raw >= best - TIE
    ]
    occurred = ranking.view["occurred_ms"]
    in_time = sorted((ranked[place] for place in places), key=lambda one: int(occurred[one.part]))
    result = list(ranked)
    for place, one in zip(places, in_time, strict=True):
        result[place] = one._replace(score=ranked[place].score)
    return result


def newer_first(
    ranked: Sequence[RankedEvent], changes: TurnChanges, ranking: Ranking, *, with_older: bool
) -> list[RankedEvent]:
    """Return the events with the successor of each replaced one before it.

    A successor that is not among them is added, and `with_older` what each one replaced, after it.
    Scores stay in descending order: a turn that moves up takes the score of the one that it joins.
    """
    if not changes.newer:
        return list(ranked)
    result: list[RankedEvent] = []
    waiting = {one.event: one for one in ranked}
    placed: set[int] = set()

    def place(event: int, score: float) -> None:
        if event in placed:
            return
        one = waiting.get(event)
        part = ranking.first_part(event) if one is None else one.part
        if part is not None:
            placed.add(event)
            result.append(RankedEvent(event, score, part))

    for one in ranked:
        if one.event in placed:
            continue
        for successor in _successors(one.event, changes):
            place(successor, one.score)
        place(one.event, one.score)
        for row in changes.older.get(one.event, []) if with_older else []:
            if row.certain:
                place(number_of(row.older), one.score)
    return result


def _successors(event: int, changes: TurnChanges) -> list[int]:
    """Return the turns that replaced a turn, the newest first; of a chain, those that are read."""
    chain: list[int] = []
    row = changes.successor(event)
    while row is not None and number_of(row.newer) not in (event, *chain):
        chain.insert(0, number_of(row.newer))
        row = changes.successor(chain[0])
    return chain


def links_of(space_id: int, event: int, changes: TurnChanges) -> EventLinks:
    """Return the links of a hit."""
    rows = [*changes.newer.get(event, []), *changes.older.get(event, [])]
    return event_links(row_id(space_id, event), rows)


# --- Order hits by use: repetitions, disclaimed and replaced statements after the others -----

REPEATED_SHARE_MIN = 0.8  # of the words of each of two messages that the other contains
RESPONSE_WORDS_MAX = 8  # of a repetition, that its original does not have: an answer is news
REPEATED_WORDS = range(6, 41)  # of a message; shorter ones repeat nothing, longer ones say more
ORIGINALS_BEYOND = 8  # events read beyond those returned: one may be the original of a hit
CHARACTERS_MAX = 1_000  # of a text that are compared
AFFIRMED_SHARE_MIN = 0.7  # of the words of a message that a later affirmation of it contains
_AFFIRMS = re.compile(  # of text in lower case
    r"\b(?:confirm(?:s|ed|ing|ation)?|reaffirm\w*|remind(?:er|ing)?|as (?:i |we )?(?:already )?"
    r"(?:said|mentioned|noted)|bestätig\w*|erinnerung|wie (?:schon )?(?:gesagt|erwähnt)"
    r"|confirm(?:e|é|ée|ons|ation)|rappel\w*|comme (?:déjà )?dit|confirm(?:o|a|ado|ada|amos)"
    r"|recordatorio|como (?:ya )?dije|conferm\w+|promemoria|come (?:già )?detto"
    r"|подтвержд\w+|напоминани\w+|как (?:уже )?говорил\w*)\b|确认|確認|再次提醒|如前所述"
)


def useful_first(
    ranked: Sequence[RankedEvent],
    rows: Mapping[int, Row],
    changes: TurnChanges,
    *,
    question: str,
    asks_history: bool,
    most: int,
) -> list[RankedEvent]:
    """Return the `most` best events, those of less use after the others.

    Of less use are: a message whose words another hit has, one that says that it is unverified or
    from elsewhere, unless the question asks for such, and one whose value was replaced. A question
    about an earlier time takes replaced values and repetitions as they come. `rows` are the texts
    by event. Scores stay in descending order.
    """
    takes_any = disclaims(question)
    first: list[RankedEvent] = []
    later: list[RankedEvent] = []
    words: dict[int, _TurnWords] = {}
    repeated: list[RankedEvent] = []
    for one in ranked:
        if len(first) == most + ORIGINALS_BEYOND:
            break
        row = rows.get(one.event)
        if row is None:  # erased a moment ago
            continue
        is_replaced = not asks_history and changes.successor(one.event) is not None
        if is_replaced or (not takes_any and message_of(row.query).disclaims):
            later.append(one)
            continue
        words[one.event] = _TurnWords(row)
        if asks_history or not _joins(one, first, repeated, words):
            first.append(one)
    if not repeated and not later:
        return first[:most]
    order = (first + repeated + later)[:most]
    scores = sorted((one.score for one in order), reverse=True)
    return [one._replace(score=score) for one, score in zip(order, scores, strict=True)]


def _joins(
    one: RankedEvent,
    originals: list[RankedEvent],
    repeated: list[RankedEvent],
    words: Mapping[int, _TurnWords],
) -> bool:
    """Return True if an event and one of the originals say the same, and put it in its place.

    Of these the one that was stored first is the original, and takes the better place.
    """
    own = words[one.event]
    for place, other in enumerate(originals):
        theirs = words[other.event]
        # Most pairs differ in length too much; the messages need not be read.
        if not (
            theirs.shortest <= own.length <= theirs.longest
            or own.traits.affirms
            or theirs.traits.affirms
        ):
            continue
        earlier, later = (other, one) if other.event < one.event else (one, other)
        if words[later.event].repeats(words[earlier.event]):
            originals[place] = earlier
            repeated.append(later)
            return True
    return False


class MessageTraits(NamedTuple):
    """The words of a message, and whether it says that it is not to be relied on."""

    words: frozenset[str]
    disclaims: bool
    affirms: bool  # it says that something holds that was said before


def message_of(text: str) -> MessageTraits:
    """Return what the beginning of a message says about it: CHARACTERS_MAX are read."""
    return _traits_of(text[:CHARACTERS_MAX])


@lru_cache(maxsize=1_024)  # searches meet the same turns; an entry has a few kilobytes
def _traits_of(start: str) -> MessageTraits:
    return MessageTraits(
        content_words(start), disclaims(start), _AFFIRMS.search(start.lower()) is not None
    )


class _TurnWords:
    """The words of both sides of a turn."""

    def __init__(self, row: Row) -> None:
        self.traits = message_of(row.query)
        self.length = len(self.traits.words)
        self.shortest = REPEATED_SHARE_MIN * self.length  # of a message with nearly the same words
        self.longest = self.length / REPEATED_SHARE_MIN
        self._row = row

    @cached_property
    def response(self) -> frozenset[str]:
        """The words of the response, read only if the messages are alike."""
        return content_words(self._row.response[:CHARACTERS_MAX])

    def repeats(self, earlier: _TurnWords) -> bool:
        """Return True if a turn says only what an earlier one says, or affirms it."""
        own, other = self.traits.words, earlier.traits.words
        if len(other) not in REPEATED_WORDS:
            return False
        longest = max(len(own), len(other))
        is_as_long = min(len(own), len(other)) >= REPEATED_SHARE_MIN * longest
        if not is_as_long and not self.traits.affirms:  # most pairs
            return False
        shared = len(own & other)
        least = AFFIRMED_SHARE_MIN * len(other) if self.traits.affirms else longest
        if shared < min(least, REPEATED_SHARE_MIN * longest):
            return False
        if any(word[0].isdigit() for word in own - other):  # another value is news
            return False
        return len(self.response - earlier.response - other) <= RESPONSE_WORDS_MAX


# --- The texts of hits: both sides of a turn, or the parts of them where the query's words are

EDGE_CHARACTERS = 30  # a cut moves at most this far to avoid splitting a word
SPOTS_MAX = 200  # occurrences of query words examined in a passage


@dataclass(frozen=True, slots=True)
class HitText:
    """The texts of a hit: both sides of the turn, or snippets of them."""

    query: str
    response: str


def hit_text(query: str, response: str, ranking: Ranking, part: int) -> HitText:
    """Return both sides of a turn, cut to snippets around its best `part` if they are long."""
    if len(query) <= SNIPPET_CHARACTERS_MAX and len(response) <= SNIPPET_CHARACTERS_MAX:
        return HitText(query, response)
    side, place = ranking.place_of(part)
    words, texts = _query_words(ranking), [query, response]
    return HitText(
        *(snippet(text, place if side == number else 0, words) for number, text in enumerate(texts))
    )


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
    start = min(
        start + max(_densest(cuts[place], words, size * 3 // 4) - size // 4, 0), len(text) - size
    )
    end = start + size
    if start and not text[start - 1].isspace():
        start = text.find(" ", start, start + EDGE_CHARACTERS) + 1 or start
    if end < len(text) and not text[end].isspace():
        end = (
            text.rfind(" ", end - EDGE_CHARACTERS, end)
            if " " in text[end - EDGE_CHARACTERS : end]
            else end
        )
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
        for at in _occurrences(piece, plain)
    )
    best, most = 0, 0
    for first, (at, _) in enumerate(spots[:SPOTS_MAX]):
        count = len(
            {
                number
                for position, number in spots[first : first + SPOTS_MAX]
                if position <= at + size
            }
        )
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
    return (
        []
        if word.isascii()
        else [word[at : at + 2] for at in range(len(word) - 1) if word[at : at + 2] in plain]
    )


def _occurrences(piece: str, plain: str) -> Iterator[int]:
    at = plain.find(piece)
    while at >= 0:
        yield at
        at = plain.find(piece, at + len(piece))
