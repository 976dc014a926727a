"""Text analysis: words, dates, speakers, exact phrases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.search.index.entries import EntryDamaged, pack, unpack
from remembrancer.search.text.analysis import (
    PIECE_CHARACTERS,
    QUESTION,
    DateHint,
    analyze,
    contains,
    parse_query,
    term,
    words,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=400)
NOON_MS = 1_683_547_200_000  # 2023-05-08 12:00 UTC


@given(TEXT, TEXT)
def test_analyzed_turns_survive_packing_and_unpacking(query, response):
    parts = analyze(query=query, response=response, topic=None, occurred_ms=NOON_MS)

    batch = unpack([(7, 1, NOON_MS, pack(parts), None)], 4)
    assert len(batch) == len(parts) >= 1
    assert batch.head["length"].tolist() == [part.length for part in parts]
    assert batch.term.tolist() == [one for part in parts for one in part.terms]
    assert set(batch.event.tolist()) == {7}


@given(st.binary(max_size=60))
def test_damaged_index_entries_raise_an_error_with_a_message(data):
    try:
        unpack([(0, 0, 0, data, None)], 0)
    except EntryDamaged as error:
        assert str(error)


@given(TEXT)
def test_text_contains_each_of_its_own_words(text):
    for word in text.split():
        assert contains(text, word)


@given(TEXT)
def test_any_query_can_be_parsed(text):
    assert parse_query(text, (0, 1, 2)).text == text


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        ("They met at the Co-op shop", "co-op", True),
        ("I was running late", "run", False),
        ("Version 2.10 is out", "2.1", False),
        ("Version 2.1 is out", "2.1", True),
        ("the blue   whale café", "Blue Whale", True),
        ("東京タワーに行きました", "タワー", True),
        ("어제 서울역에서 만났어요", "서울역", True),
        ("STRASSE", "straße", True),
        ("ｆｕｌｌ width", "full", True),
        ("anything", "   ", False),
        ("किताब की कीमत", "की", True),
        ("इसकी कीमत", "की", False),  # marks are parts of a word
        ('He said "NEAR(a b)" OR nothing*', '"near(a', True),
    ],
)
def test_phrases_match_whole_words_in_any_case_and_width(text, phrase, expected):
    assert contains(text, phrase) is expected


@pytest.mark.parametrize(
    ("question", "moment"),
    [
        ("What happened on 5 May 2023?", DateHint(2023, 5, 5)),
        ("what did we do in July", DateHint(None, 7, None)),
        ("am 3. März", DateHint(None, 3, 3)),
        ("le 14 juillet 1789", DateHint(None, 7, 14)),
        ("2023-05-08 meeting", DateHint(2023, 5, 8)),
        ("2023年5月8日の会議", DateHint(2023, 5, 8)),
        ("who may come?", None),
        ("13 of 2023-99-01", None),
    ],
)
def test_dates_are_recognized_in_queries(question, moment):
    assert parse_query(question).moment == moment


def test_parts_have_date_speaker_and_question_flag():
    answer, query = analyze(
        query="Ada: I moved here last week.",
        response="Bob: Really? Where from?",
        topic=None,
        occurred_ms=NOON_MS,
    )

    assert answer.speaker == term("ada")
    assert query.speaker == term("bob")
    assert (answer.flags, query.flags) == (0, QUESTION)
    assert {term("8"), term("2023"), term("month 5")} <= answer.terms.keys()
    assert answer.text == "Ada: I moved here last week."  # the date is not embedded


def test_topic_belongs_to_the_first_part():
    first, second = analyze(
        query="shall we?", response="yes", topic="Budget review", occurred_ms=NOON_MS
    )

    assert term("budget") in first.terms
    assert term("budget") not in second.terms


def test_long_response_has_several_parts():
    parts = analyze(
        query="q", response="One sentence here. " * 200, topic=None, occurred_ms=NOON_MS
    )

    assert len(parts) > 3
    assert [part.side for part in parts] == [0] + [1] * (len(parts) - 1)


def test_repeated_identifier_counts_once_besides_its_words():
    (part,) = analyze(
        query="fetchInvoice() fetchInvoice() user_id user_id",
        response="",
        topic=None,
        occurred_ms=NOON_MS,
    )

    assert part.terms[term("`user_id")] == 1
    assert part.terms[term("invoic")] == 1
    assert part.terms[term("user")] == 2


def test_words_of_a_long_text_are_those_of_its_pieces():
    """A long text is read piece by piece; no word is cut."""
    text = " ".join(f"wörd{n}\u0301 ǅ{n}" for n in range(3 * PIECE_CHARACTERS // 12))

    assert len(text) > 2 * PIECE_CHARACTERS
    assert words(text) == [word for part in text.split(" ") for word in words(part)]
    assert words("a" * (3 * PIECE_CHARACTERS)) == ["a" * (3 * PIECE_CHARACTERS)]
