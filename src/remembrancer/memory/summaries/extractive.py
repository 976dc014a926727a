"""Headlines of texts without a model: sentences taken out word for word, never written anew, so
that nothing is invented.

Chosen one after another, each the one that adds most of what is not said yet for its length; rare
words say more than frequent ones, names and numbers more than other words. Source of the method
(greedy choice under a budget): Lin, Bilmes, "A Class of Submodular Functions for Document
Summarization", ACL 2011. Nearness to the middle of all vectors keeps less than chance does (`python
-m bench.headlines`), so that no embedder is asked.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...search.text.analysis import words
from ...search.text.languages import detect

# shorter ones ("Thanks!") are no headlines, unless there is nothing else
SENTENCE_CHARACTERS_MIN = 25
# a longer one is taken clause by clause, or word by word where it has none
SENTENCE_CHARACTERS_MAX = 300
SAID_AGAIN = 0.5  # what a word is worth each further time
SPECIFIC = 0.3  # what each name or number adds to a sentence's worth, up to SPECIFIC_MAX of them
SPECIFIC_MAX = 3
ASKING = 0.5  # what a question is worth beside a statement
_SENTENCE = re.compile(
    r"""[^.!?。！？؟।\n]+(?:[.!?](?=\w)[^.!?。！？؟।\n]+)*[.!?。！？؟।]*["”’»)\]]*"""
)
# where a long sentence is cut, best first
_CLAUSES = (
    re.compile(r"(?<=[,;:，；：、،])\s*|\s+(?=[(–—])"),
    re.compile(r"\s+"),
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_SPECIFIC = re.compile(r"\d+|(?<=\s)[^\W\d_a-z]\w+")
_ASKS = re.compile(r"[?？؟]\W*$")


class Headline(NamedTuple):
    """A sentence of a text: `text` is its place among the texts."""

    text: int
    place: int
    sentence: str


def sentences(text: str) -> list[str]:
    """The sentences of a text, as they stand there; the marks of list items left out, and the very
    long ones in pieces.
    """
    found = (
        _BULLET.sub("", match[0]).strip()
        for line in text.splitlines()
        for match in _SENTENCE.finditer(line)
    )
    return [
        piece
        for sentence in found
        for piece in _pieces(sentence)
        if any(character.isalnum() for character in piece)
    ]


def _pieces(sentence: str) -> Iterator[str]:
    """A sentence in pieces of at most SENTENCE_CHARACTERS_MAX, cut behind the last clause that
    fits, else the last word.
    """
    start = 0
    while len(sentence) - start > SENTENCE_CHARACTERS_MAX:
        end = start + SENTENCE_CHARACTERS_MAX
        for cut in _CLAUSES:
            places = [
                match.start()
                for match in cut.finditer(sentence, start + SENTENCE_CHARACTERS_MIN, end)
            ]
            if places:
                end = places[-1]
                break
        yield sentence[start:end].strip()
        start = end
    yield sentence[start:].strip()


def headlines(
    texts: Sequence[str], characters: int, each: int = 0, told: Sequence[str] = ()
) -> list[Headline]:
    """The sentences that say most of these texts in so many characters, in the order they stand
    there; at least one.

    `each` is what each text that has any takes besides; `told` are sentences that stand there
    already, so that what they say adds little. A sentence longer than all the room is passed over,
    unless there would be none.
    """
    all_of_them = [
        Headline(number, place, s)
        for number, text in enumerate(texts)
        for place, s in enumerate(sentences(text))
    ]
    candidates = [
        one for one in all_of_them if len(one.sentence) >= SENTENCE_CHARACTERS_MIN
    ] or all_of_them
    if not candidates:
        return []
    chosen = _chosen(candidates, characters, each, told)
    return sorted(chosen) or [min(candidates, key=lambda one: len(one.sentence))]


def _chosen(
    candidates: Sequence[Headline], characters: int, each: int, told: Sequence[str]
) -> list[Headline]:
    said = [_content(one.sentence) for one in candidates]
    held_by = Counter(word for spoken in said for word in spoken)
    worth = {word: math.log((1 + len(candidates)) / count) for word, count in held_by.items()}
    covered = Counter(word for sentence in told for word in _content(sentence))
    heard: set[int] = set()  # texts that have one
    left = characters
    chosen: list[Headline] = []

    def gain(at: int) -> float:
        """What a sentence adds for each of its characters."""
        sentence = candidates[at].sentence
        adds = sum(worth[word] * SAID_AGAIN ** covered[word] for word in said[at])
        adds *= 1 + SPECIFIC * min(len(_SPECIFIC.findall(sentence)), SPECIFIC_MAX)
        return adds * (ASKING if _ASKS.search(sentence) else 1) / len(sentence)

    waiting = [(-gain(at), at) for at in range(len(candidates))]
    heapq.heapify(waiting)
    while waiting:
        _, at = heapq.heappop(waiting)
        takes = len(candidates[at].sentence) + each * (candidates[at].text not in heard)
        if takes > left:
            continue
        now = -gain(at)  # what was chosen meanwhile may have said it: it only ever adds less
        if waiting and now > waiting[0][0]:
            heapq.heappush(waiting, (now, at))
            continue
        chosen.append(candidates[at])
        left -= takes
        heard.add(candidates[at].text)
        covered.update(said[at])
    return chosen


def _content(sentence: str) -> tuple[str, ...]:
    """The words that carry meaning, each once; in order, so that their worth adds up to the same to
    the last bit each time.
    """
    spoken = words(sentence)
    stop = detect(spoken, sentence).stop
    return tuple(dict.fromkeys(word for word in spoken if word not in stop))
