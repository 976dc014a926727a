"""A large import makes its index entries in several processes, and stores the same."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import pytest

from remembrancer import testing
from remembrancer.accounts import caller_for, keys
from remembrancer.memory.exchange import importer
from remembrancer.memory.exchange.importer import BATCH
from remembrancer.search import EventText, entry_maker, index_entries, open_embedder
from remembrancer.search.index import entries
from remembrancer.search.index.entries import (
    PROCESS_BYTES,
    PROCESSES_MAX,
    TEXTS_MIN,
    EntryMaker,
)

TURN = EventText(query="When?", response="At nine.", topic=None, occurred_ms=0)
_INDEX = "select words, vectors from event_index order by id"
_FACTS = "select text from facts order by id"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a file of turns in several batches, some of them the same text."""
    lines = [
        {
            "id": f"t{number}",
            "query": f"Which ferry leaves on day {number % 200}?"
            + f" Never use emoji in letter {number}." * (number % 50 == 0),
            "response": f"The one to Elba at {number % 24}:40 from pier {number % 7}.",
            "source": {"query": "user", "response": "model"},
            "user_id": "ada",
            "session_id": f"day-{number // 50}",
            "occurred_at": f"2026-05-01T10:{number % 60:02}:00Z",
        }
        for number in range(5 * BATCH)
    ]
    path = tmp_path / "turns.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let enough memory be available, whatever the machine has."""
    monkeypatch.setattr(entries, "available_bytes", lambda: 5 * PROCESSES_MAX * PROCESS_BYTES)


@pytest.fixture
def maker() -> Iterator[EntryMaker]:
    """Yield what makes the entries of a large import on two processors."""
    with entry_maker(open_embedder("multilingual"), TEXTS_MIN, 2) as maker:
        yield maker


def stored(folder: Path, source: Path, maker: EntryMaker | None) -> list[tuple[object, ...]]:
    """Import a file into a new memory; return its index."""
    folder.mkdir(mode=0o700)
    with closing(testing.context(folder, embedder=open_embedder("multilingual"))) as context:
        keys.create(context, account="owner")
        caller = caller_for(context)
        result = importer.store(context, caller, importer.read(caller, source), maker=maker)
        assert (result.stored, result.duplicates) == (5 * BATCH, 0)
        return context.store.read(
            lambda tx: [tuple(row) for statement in (_INDEX, _FACTS) for row in tx.all(statement)]
        )


def test_the_index_is_that_of_an_import_in_one_process(
    tmp_path: Path, source: Path, maker: EntryMaker
) -> None:
    here = stored(tmp_path / "one", source, None)
    assert maker.ahead

    assert ("Never use emoji in letter 50.",) in here
    assert stored(tmp_path / "several", source, maker) == here
    assert len(active_children()) == 2


def test_an_import_goes_on_when_its_processes_are_killed(
    tmp_path: Path, source: Path, maker: EntryMaker
) -> None:
    [entry] = maker.begin([TURN])()
    for process in active_children():
        assert process.pid
        os.kill(process.pid, signal.SIGKILL)

    assert entry.vectors
    assert stored(tmp_path / "killed", source, maker) == stored(tmp_path / "one", source, None)


def test_begun_entries_of_a_killed_process_are_made_here(maker: EntryMaker) -> None:
    turns = [replace(TURN, query=f"When does ferry {number} leave?") for number in range(9)]
    maker.begin(turns)()
    for process in active_children():
        assert process.pid
        os.kill(process.pid, signal.SIGSTOP)
    take = maker.begin(turns)
    for process in active_children():
        assert process.pid
        os.kill(process.pid, signal.SIGKILL)

    assert take() == index_entries(open_embedder("multilingual"), turns)
    assert maker.ahead == 0


@pytest.mark.parametrize(
    ("name", "texts", "processors"),
    [("multilingual", TEXTS_MIN - 1, 8), ("multilingual", TEXTS_MIN, 1), ("none", TEXTS_MIN, 8)],
)
def test_small_imports_start_no_process(name: str, texts: int, processors: int) -> None:
    with entry_maker(open_embedder(name), texts, processors) as maker:
        maker.begin([TURN])()

        assert active_children() == []
