"""Text analysis: words, dates, speakers, exact phrases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.search.index.entries import EntryDamaged, pack, unpack
from remembrancer.search.text.analysis import (
    analyze,
    contains,
    parse_query,
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
