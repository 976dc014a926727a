"""Extractive summaries: sentences copied verbatim, so that nothing is invented and no model is
needed.

Sentences are chosen greedily, each the one that adds most new content for its length. Rare words
count more than frequent ones, names and numbers more than other words. Source of the method: Lin,
Bilmes, "A Class of Submodular Functions for Document Summarization", ACL 2011. Nearness to the mean
of all vectors preserved less than chance did, so no embedder is used.
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

# Shorter sentences ("Thanks!") are used only if there are no others.
SENTENCE_CHARACTERS_MIN = 25
# Longer sentences are split at clauses, or at words if they have no clauses.
SENTENCE_CHARACTERS_MAX = 300
REPEATED_WORD_FACTOR = 0.5  # of a word's worth, for each earlier occurrence
SPECIFIC = 0.3  # share that each name or number adds to a sentence's worth
SPECIFIC_MAX = 3
QUESTION_FACTOR = 0.5  # worth of a question relative to a statement
_SENTENCE = re.compile(
    r"""[^.!?。！？؟।\n]+(?:[.!?](?=\w)[^.!?。！？؟।\n]+)*[.!?。！？؟।]*["”’»)\]]*"""
)
# Where to cut a long sentence, best first.
_CLAUSES = (
    re.compile(r"(?<=[,;:，；：、،])\s*|\s+(?=[(–—])"),
    re.compile(r"\s+"),
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_SPECIFIC = re.compile(r"\d+|(?<=\s)[^\W\d_a-z]\w+")
_QUESTION = re.compile(r"[?？؟]\W*$")


class Headline(NamedTuple):
    """A sentence and its place. `text` is the index of its text."""

    text: int
    place: int
    sentence: str


def sentences(text: str) -> list[str]:
    """Split a text into sentences, without list markers; very long sentences in pieces."""
    candidates = (
        _BULLET.sub("", match[0]).strip()
        for line in text.splitlines()
        for match in _SENTENCE.finditer(line)
    )
    return [
        piece
        for sentence in candidates
        for piece in _pieces(sentence)
        if any(character.isalnum() for character in piece)
    ]


def _pieces(sentence: str) -> Iterator[str]:
    """Split a sentence into pieces of at most SENTENCE_CHARACTERS_MAX characters.

    Cuts at the last clause that fits, else at the last word.
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
    texts: Sequence[str], characters: int, each: int = 0, known_sentences: Sequence[str] = ()
) -> list[Headline]:
    """Return the most informative sentences within a number of characters, in text order.

    Returns at least one sentence if there is any. `each` is an extra cost in characters for each
    text that gets a sentence. Sentences of `known_sentences` were chosen before; their content adds
    little. A sentence longer than the budget is skipped unless it is the only choice.
    """
    all_sentences = [
        Headline(number, place, sentence)
        for number, text in enumerate(texts)
        for place, sentence in enumerate(sentences(text))
    ]
    candidates = [
        headline for headline in all_sentences if len(headline.sentence) >= SENTENCE_CHARACTERS_MIN
    ] or all_sentences
    if not candidates:
        return []
    chosen = _select(candidates, characters, each, known_sentences)
    return sorted(chosen) or [min(candidates, key=lambda headline: len(headline.sentence))]


def _select(
    candidates: Sequence[Headline], characters: int, each: int, known_sentences: Sequence[str]
) -> list[Headline]:
    content = [_content(one.sentence) for one in candidates]
    sentence_counts = Counter(word for sentence_words in content for word in sentence_words)
    worth = {
        word: math.log((1 + len(candidates)) / count) for word, count in sentence_counts.items()
    }
    covered = Counter(word for sentence in known_sentences for word in _content(sentence))
    used_texts: set[int] = set()  # with a selected sentence
    characters_left = characters
    selection: list[Headline] = []

    def gain(number: int) -> float:
        """Return the worth that a sentence adds for each of its characters."""
        sentence = candidates[number].sentence
        adds = sum(worth[word] * REPEATED_WORD_FACTOR ** covered[word] for word in content[number])
        adds *= 1 + SPECIFIC * min(len(_SPECIFIC.findall(sentence)), SPECIFIC_MAX)
        return adds * (QUESTION_FACTOR if _QUESTION.search(sentence) else 1) / len(sentence)

    waiting = [(-gain(number), number) for number in range(len(candidates))]
    heapq.heapify(waiting)
    while waiting:
        _, number = heapq.heappop(waiting)
        cost = len(candidates[number].sentence) + each * (candidates[number].text not in used_texts)
        if cost > characters_left:
            continue
        current = -gain(number)  # selected sentences can only reduce the gain of others
        if waiting and current > waiting[0][0]:
            heapq.heappush(waiting, (current, number))
            continue
        selection.append(candidates[number])
        characters_left -= cost
        used_texts.add(candidates[number].text)
        covered.update(content[number])
    return selection


def _content(sentence: str) -> tuple[str, ...]:
    """Return the distinct content words of a sentence, in order.

    A fixed order makes sums of their worth reproducible to the last bit.
    """
    sentence_words = words(sentence)
    stop = detect(sentence_words, sentence).stop
    return tuple(dict.fromkeys(word for word in sentence_words if word not in stop))
