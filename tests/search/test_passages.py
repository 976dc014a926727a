"""Long texts are cut into passages; joined, they equal the text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remembrancer.search.text.passages import (
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
