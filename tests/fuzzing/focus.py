"""Fuzz target: an event that contains a focus word is a candidate for it, in any script.

A case is a focus phrase, a line feed, and the text of an event.
"""

from __future__ import annotations

from collections.abc import Iterator

from spaces import ranking, space

from remembrancer.search import contains, parse_query
from remembrancer.search.text.analysis import highlight, side_passages, words

_CHARACTERS_MAX = 1_000
_SEEDS = (
    ("ferry", "The ferry to Elba leaves at 9:40 from pier 3."),
    ("co-op", "They met at the Co-op shop, in March 2024."),
    ("2.1", "Version 2.10 is out; version 2.1 is not."),
    ("straße", "Die STRASSE nach Köln ist gesperrt. Donaudampfschifffahrt!"),
    ("タワー", "東京タワーに行きました"),
    ("서울역", "어제 서울역에서 만났어요"),
    ("ｆｕｌｌ width", "It has full   width letters"),
    ('"near(a', 'He said "NEAR(a b)" OR nothing*'),
    ("हिन्दी", "मैं हिन्दी सीख रहा हूँ"),
    ("parse_reply", "call `parse_reply(text)` in HttpServer2Handler.py"),
    ("встреча", "Встреча перенесена на пятницу, 5 мая."),
    ("北京", "我昨天去了北京, 2024年5月3日"),
    ("ไทย", "ผมเรียนภาษาไทยทุกวัน"),
    ("İstanbul", "I flew to İstanbul in ﬁrst class"),
)


def seeds() -> Iterator[bytes]:
    """Yield phrases and texts that contain them, in several scripts."""
    for phrase, text in _SEEDS:
        yield f"{phrase}\n{text}".encode()


def check(data: bytes) -> None:
    """Search a text for a phrase, in the index and in the text. Raises AssertionError."""
    phrase, _, text = (
        data.decode("utf-8", "ignore").replace("\0", "")[:_CHARACTERS_MAX].partition("\n")
    )
    view = space(text)
    question = parse_query(phrase, view.languages, is_phrase=True)
    assert question.text == phrase
    end = 0
    for start, stop in highlight(text, question.words, range(3)):
        assert end <= start < stop <= len(text)
        end = stop
    for word in text.split():
        assert contains(text, word)
    if contains(text, phrase) and words(phrase) and len(side_passages(text)) == 1:
        candidates = ranking(view, phrase).focus_candidates(question)
        assert candidates.tolist() == [0], "the text contains the phrase; the index misses it"
