"""Snippets of turns, and sentences of many scripts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory.asking import Memory

from remembrancer.memory.recall.hits import snippet
from remembrancer.memory.summaries.maps import sentences
from remembrancer.protocol.limits import SNIPPET_CHARACTERS_MAX
from remembrancer.search import normalize

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


def test_query_in_an_unspaced_script_is_found_by_its_characters() -> None:
    text = (
        "今日はとても良い天気でした。" * 50
        + "母はそばアレルギーがある。"
        + "明日も晴れるでしょう。" * 40
    )

    assert "そばアレルギー" in snippet(text, 0, [normalize("そばアレルギーの人")])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "It leaves at 9.40 from pier 3. Be there!",
            ["It leaves at 9.40 from pier 3.", "Be there!"],
        ),
        ("- one thing\n* another\n2) a third", ["one thing", "another", "a third"]),
        ("船は九時に出る。岸壁は三番。", ["船は九時に出る。", "岸壁は三番。"]),
        ("जहाज़ नौ बजे निकलता है। घाट तीन।", ["जहाज़ नौ बजे निकलता है।", "घाट तीन।"]),
        ("متى؟ غدا.", ["متى؟", "غدا."]),
        ("…\n---\n", []),
        ("", []),
    ],
)
def test_sentences_of_many_scripts_are_split(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected
