"""Long texts are cut into passages; joined, they equal the text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.search import EventText, SymmetricEmbedder, index_entries
from remembrancer.search.embedders.port import Vectors
from remembrancer.search.index.entries import LONG_PASSAGE_CHARACTERS
from remembrancer.search.text.analysis import (
    PASSAGE_CHARACTERS,
    PASSAGES_MAX,
    passages,
    side_passages,
)

PROSE = "Some words about the plan. " * 25 + "\n"  # 676 characters
CODE = "```python\n" + "value = compute(value)\n\n" * 25 + "```\n"  # 614 characters


@given(st.text(min_size=0, max_size=8000))
def test_joined_passages_equal_the_text(text: str) -> None:
    cut = passages(text)

    assert "".join(cut) == text
    assert all(cut) or text == ""
    assert max(map(len, cut)) <= PASSAGE_CHARACTERS


@given(
    st.lists(
        st.sampled_from(["```\n", "~~~\n", "## A\n", "- b\n", "x = 1\n\n", PROSE, CODE]),
        max_size=30,
    )
)
def test_joined_passages_of_answers_with_code_equal_the_text(pieces: list[str]) -> None:
    text = "".join(pieces)

    assert "".join(passages(text)) == text
    assert "".join(passage.text for passage in side_passages(text)) == text


def test_number_of_passages_is_bounded() -> None:
    assert len(passages("word " * 200_000)) <= PASSAGES_MAX * 2
    assert len(passages(CODE * 2_000)) <= PASSAGES_MAX * 2


class Lengths(SymmetricEmbedder):
    """An embedder whose vectors are equal; it records the characters of each text."""

    name, dimensions = "lengths/1", 1

    def __init__(self) -> None:
        self.lengths: list[int] = []

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text."""
        self.lengths += map(len, texts)
        return np.ones((len(texts), 1), np.float32)


def embedded_lengths(size: int) -> list[int]:
    """Return the characters that are embedded of each passage of a response of this size."""
    embedder = Lengths()
    text = (PROSE * (size // len(PROSE) + 1))[:size]
    index_entries(embedder, [EventText(query="", response=text, topic=None, occurred_ms=0)])
    return embedder.lengths


def test_passages_of_usual_length_are_embedded_whole() -> None:
    assert set(embedded_lengths(60_000)[:-1]) == {len(PROSE) - 1 - 1}


def test_long_passages_of_a_huge_text_are_embedded_by_their_beginning() -> None:
    lengths = embedded_lengths(900_000)

    assert len(lengths) >= PASSAGES_MAX
    assert set(lengths[:-1]) == {LONG_PASSAGE_CHARACTERS}
