"""Order hits by use: repetitions, disclaimed and replaced statements after the others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from ...search import RankedEvent, disclaims
from ...store import Row
from ..changes import content_words
from .changed import TurnChanges

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
