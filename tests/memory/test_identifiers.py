"""Identifiers, paths, versions and error codes are found exactly and by their words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from memory.asking import Memory, opened

from remembrancer.search.embedders.port import NoEmbedder
from remembrancer.search.text.analysis import identifiers

TURNS = {
    "retries": "I set max_retry_count to six in the mailer.",
    "words": "Count the retry slips, the max is on the label.",
    "lookup": "fetchInvoiceByNumber returns None for a deleted account.",
    "path": "The crash comes from src/app/main.py:42 after the login.",
    "other path": "We moved main to another app and left py files in src.",
    "error": "rustc says E0308 in the parser.",
    "socket": "The upload ended with ECONNREFUSED.",
    "version": "Tagged v2.3.1 this morning.",
    "numbers": "Rooms 1, 2 and 3 are free.",
    "option": "Build it again with --no-cache please.",
    "cache": "There is no cash, only a cache.",
    "pair": "The log line has user_id=7 in it.",
}


@pytest.fixture
def coder(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path, embedder=NoEmbedder()) as memory:
        for name, text in TURNS.items():
            memory.tell(text, session_id=name)
        yield memory


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("max_retry_count", "retries"),
        ("what is max_retry_count?", "retries"),
        ("src/app/main.py:42", "path"),
        ("src/app/main.py", "path"),
        ("main.py", "path"),
        ("E0308", "error"),
        ("ECONNREFUSED", "socket"),
        ("v2.3.1", "version"),
        ("2.3.1", "version"),
        ("--no-cache", "option"),
        ("user_id=7", "pair"),
        ("user_id", "pair"),
        ("fetchInvoiceByNumber", "lookup"),
        ("how do I fetch an invoice", "lookup"),
        ("which count of retries is set in the mailer", "retries"),
        ("invoices", "lookup"),
    ],
)
def test_identifier_and_its_words_find_the_turn(coder: Memory, query: str, answer: str) -> None:
    assert coder.best(query).query == TURNS[answer]


@pytest.mark.parametrize("text", ["a" * 900_000, "ab_" * 300_000, "a-" * 450_000, "A" * 900_000])
def test_a_word_of_a_whole_body_is_read_once(text: str) -> None:
    """One that was read again from each letter would take hours."""
    assert list(identifiers(text)) == []


def test_identifier_beside_a_long_word_is_recognised() -> None:
    [identifier] = identifiers(f"{'a' * 100_000} max_retry_count")

    assert identifier.names == ("max_retry_count",)
