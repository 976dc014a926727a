"""Identifiers are recognised in one pass over a text, whatever its words are like."""

from __future__ import annotations

import pytest

from remembrancer.search.text.analysis import identifiers


@pytest.mark.parametrize("text", ["a" * 900_000, "ab_" * 300_000, "a-" * 450_000, "A" * 900_000])
def test_a_word_of_a_whole_body_is_read_once(text: str) -> None:
    """One that was read again from each letter would take hours."""
    assert list(identifiers(text)) == []


def test_identifier_beside_a_long_word_is_recognised() -> None:
    [identifier] = identifiers(f"{'a' * 100_000} max_retry_count")

    assert identifier.names == ("max_retry_count",)
