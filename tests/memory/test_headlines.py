"""Headlines: the most informative verbatim sentences of texts, within a length."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.memory.summaries.maps import headlines, sentences

TEXTS = st.lists(st.text("ab C1.!?,;\n-。字", max_size=120), max_size=5)


@given(texts=TEXTS, characters=st.integers(0, 200), each=st.integers(0, 40))
def test_headlines_are_verbatim_and_within_the_length(
    texts: list[str], characters: int, each: int
) -> None:
    """Headlines never invent (specification.md#map-headlines)."""
    chosen = headlines(texts, characters, each)

    assert [one for one in chosen if one.sentence not in texts[one.text]] == []
    assert len(chosen) == len(set(chosen))
    takes = sum(len(one.sentence) for one in chosen) + each * len({one.text for one in chosen})
    assert takes <= characters or len(chosen) == 1
    assert bool(chosen) == any(character.isalnum() for text in texts for character in text)


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
