"""Patterns of screening are searched for only in texts that have one of their first words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remembrancer.search.text.screening import _techniques, first_words

PATTERNS = [
    (firsts, pattern) for one in _techniques() for firsts, pattern in one.patterns if firsts
]


def test_most_patterns_have_first_words() -> None:
    assert len(PATTERNS) >= 25


@given(st.data())
@settings(max_examples=300)
def test_every_match_begins_with_one_of_the_first_words(data: st.DataObject) -> None:
    firsts, pattern = data.draw(st.sampled_from(PATTERNS))
    text = data.draw(st.from_regex(pattern))
    match = pattern.search(text)

    assert match is not None
    assert match[0].startswith(firsts)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"\b(?:ignore|forget)\b x", ("ignore", "forget")),
        (r"(?:위의?|모든) x", ("위", "모든")),
        (r"\bfrom now on\b", ("from now on",)),
        (r"\bignor(?:e|iere)\b", ("ignor",)),
        (r"colou?r", ("colo",)),
        (r"(?:very )?important", ()),
        (r"(?:a?|b) x", ()),
        (r"^[ \t]*system:", ()),
        (r"\b(?:do not|don.?t)\b", ()),
        (r"[ab]c", ()),
    ],
)
def test_unclear_begins_have_no_first_words(pattern: str, expected: tuple[str, ...]) -> None:
    assert first_words(pattern) == expected
