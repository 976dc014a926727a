"""Snippets: the part of a long turn that a hit shows."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory.asking import Memory

from remembrancer.memory.recall.hits import snippet
from remembrancer.protocol.limits import SNIPPET_CHARACTERS_MAX
from remembrancer.protocol.text import tokens
from remembrancer.search import normalize, passages

FILLER = "The meadow lay quiet under a pale sky while the mill turned slowly beside the old road. "
LONG = st.builds(
    lambda unit, times: unit * times, st.text(min_size=1, max_size=60), st.integers(1, 120)
) | st.text(min_size=500, max_size=1500)


@given(
    LONG, st.integers(0, 70), st.lists(st.text(min_size=1, max_size=12).map(normalize), max_size=4)
)
def test_snippet_is_bounded_and_adds_only_ellipses(text: str, place: int, words: list[str]) -> None:
    """A snippet has at most 600 characters (specification.md#search-snippets)."""
    excerpt = snippet(text, place, words)

    assert len(excerpt) <= SNIPPET_CHARACTERS_MAX
    assert excerpt == text or excerpt.removeprefix("…").removesuffix("…") in text


@given(st.text(max_size=SNIPPET_CHARACTERS_MAX), st.integers(0, 3))
def test_short_text_is_shown_unchanged(text: str, place: int) -> None:
    assert snippet(text, place, ["a"]) == text


@pytest.mark.parametrize(("place", "left_out_before"), [(0, False), (1, True), (2, True)])
def test_ellipses_mark_omitted_text(place: int, left_out_before: bool) -> None:
    excerpt = snippet(FILLER * 60, place, [])

    assert (excerpt.startswith("…"), excerpt.endswith("…")) == (left_out_before, True)
    assert not snippet(FILLER * 60, 10_000, ["road"]).endswith(" …")


@pytest.mark.parametrize("before", [0, 1, 3, 8, 13, 25, 60])
def test_matching_passage_is_shown_at_any_position(memory: Memory, before: int) -> None:
    text = (
        FILLER * before + "The password of the greenhouse is xylograph. " + FILLER * (60 - before)
    )
    memory.tell("Tell me everything.", text)

    hit = memory.best("password of the greenhouse")

    assert "xylograph" in hit.response
    assert hit.response.startswith("…") == (before > 2)
    assert hit.query == "Tell me everything."


@pytest.mark.parametrize("word", ["ferries", "FERRY", "ferry"])
def test_inflected_word_is_shown(word: str) -> None:
    text = FILLER * 6 + "A ferry leaves at 9:40. " + FILLER * 6

    assert "ferry" in snippet(text, 0, [normalize(word)])


def test_part_with_most_query_words_is_shown() -> None:
    text = "A key. " + FILLER * 8 + "The key of the red boat hangs in the shed. " + FILLER * 4

    excerpt = snippet(text, 0, ["key", "boat", "shed"])

    assert "The key of the red boat hangs in the shed" in excerpt


def test_first_word_of_a_passage_is_kept() -> None:
    text = FILLER * 13 + "\n\nXylograph is the word. " + FILLER * 13
    place = next(at for at, passage in enumerate(passages(text)) if "Xylograph" in passage)

    assert "Xylograph" in snippet(text, place, ["xylograph"])


def test_position_is_correct_when_normalization_shortens_the_text() -> None:
    """Decomposed Hangul is three characters where normalised Hangul is one."""
    text = unicodedata.normalize("NFD", "산 " * 190 + "비밀번호 " + "강 " * 300)

    assert unicodedata.normalize("NFD", "비밀번호") in snippet(text, 0, [normalize("비밀번호")])


def test_query_in_an_unspaced_script_is_found_by_its_characters() -> None:
    text = (
        "今日はとても良い天気でした。" * 50
        + "母はそばアレルギーがある。"
        + "明日も晴れるでしょう。" * 40
    )

    assert "そばアレルギー" in snippet(text, 0, [normalize("そばアレルギーの人")])


@given(st.text())
def test_token_estimate_is_between_a_quarter_and_all_characters(text: str) -> None:
    assert len(text) / 4 <= tokens(text) <= len(text)
