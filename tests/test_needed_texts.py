"""Patterns of screening are searched for only in texts that have a text that they need."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from remembrancer.screening import _techniques

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
