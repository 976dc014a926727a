"""Patterns of screening are searched for only in texts that have a text that they need."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remembrancer.search.text.screening import _techniques, needed_texts

PATTERNS = [(text, pattern) for text, some in _techniques().patterns.items() for _, pattern in some]


def test_all_patterns_but_one_need_a_text() -> None:
    assert len({pattern for text, pattern in PATTERNS if not text}) <= 1


@given(st.data())
@settings(max_examples=300)
def test_every_match_has_one_of_the_texts_it_needs(data: st.DataObject) -> None:
    _, pattern = data.draw(st.sampled_from(PATTERNS))
    match = pattern.search(data.draw(st.from_regex(pattern)))

    assert match is not None
    assert any(text in match[0] for text, one in PATTERNS if one == pattern)


@pytest.mark.parametrize(
    ("pattern", "needed"),
    [
        (r"\b(?:ignore|forget)\b x", ("forget", "ignore")),
        (r"\bfrom now on\b", ("from now on",)),
        (r"\b(?:do|never)\b.{0,9}\b(?:tell|inform)", ("inform", "tell")),
        (r"^[ \t]*(?:system|agent):", ("agent", "system")),
        (r"(?:very )?important", ("important",)),
        (r"(?:very )+much", ("very ",)),
        (r"colou?r", ("colo",)),
        (r"(?:a?|bc) ?", ()),
        (r"[ab]", ()),
        (r"a{0,3}", ()),
    ],
)
def test_the_longest_texts_that_are_needed_are_chosen(
    pattern: str, needed: tuple[str, ...]
) -> None:
    assert needed_texts(pattern) == needed
