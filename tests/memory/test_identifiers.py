"""Identifiers, paths, versions and error codes are found exactly and by their words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from memory.asking import Memory, opened

from remembrancer.memory.maintenance import Maintenance
from remembrancer.search import analyze, pack
from remembrancer.search.embedders.port import NoEmbedder
from remembrancer.search.text.analysis import term
from remembrancer.store import Transaction

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


def test_entries_of_an_older_version_are_searched_and_renewed(tmp_path: Path) -> None:
    """Words of version 2 have no whole identifiers; the background adds them."""
    with opened(tmp_path, embedder=NoEmbedder()) as memory:
        for text in ("Count the retry slips, max retry count 6.", TURNS["retries"]):
            memory.tell(text)
        _make_older(memory)

    with opened(tmp_path, embedder=NoEmbedder()) as memory:
        assert {hit.query for hit in memory.ask("retry").hits} >= {TURNS["retries"]}
        assert memory.best("max_retry_count").query != TURNS["retries"]
        while Maintenance(memory.context).step():
            pass

        assert memory.best("max_retry_count").query == TURNS["retries"]
        versions = memory.context.store.read(
            lambda tx: tx.all(
                "select distinct hex(substr(words, 1, 1)) as version from event_index"
            )
        )
        assert [row.version for row in versions] == ["04"]


def _make_older(memory: Memory) -> None:
    """Rewrite the index as version 2 wrote it: no term for the whole identifier."""

    def rewrite(tx: Transaction) -> None:
        for row in tx.all("select id, query, response, occurred_ms from events order by id"):
            parts = analyze(
                query=row.query, response=row.response, topic=None, occurred_ms=row.occurred_ms
            )
            for part in parts:
                part.terms.pop(term("`max_retry_count"), None)
            older = b"\x02" + pack(parts)[1:]
            tx.run("update event_index set words = :words where id = :id", words=older, id=row.id)
        tx.run("update embedders set name = replace(name, 'words/4', 'words/2')")

    memory.context.store.write(rewrite)
