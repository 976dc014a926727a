"""Finished turns survive a killed process, and a killed import resumes."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest
from command import killed_after
from memory.asking import Memory, opened
from rounds import rounds
from service import rows

import remembrancer
from remembrancer import testing
from remembrancer.memory.exchange.importer import BATCH, read, store
from remembrancer.memory.write.turns import event_detail
from remembrancer.search.embedders.port import NoEmbedder
from remembrancer.settings import Settings

TELLER = Path(__file__).with_name("crash_teller.py")
HALVES = (
    "select id from events where id not in (select id from event_index)",
    "select id from event_index where id not in (select id from events)",
    "select id from events where session not in (select id from sessions)",
    (
        "select id from spaces where events_made <> (select count(*) from events "
        "where events.id >> 32 = spaces.id)"
    ),
    "select event from origins where event not in (select id from events)",
)


@pytest.fixture(autouse=True)
def _processes_find_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(remembrancer.__file__).parents[1]))


def teller(folder: Path, what: str) -> list[str | Path]:
    return [sys.executable, TELLER, folder, testing.store_url(Settings(data=folder)), what]


def incomplete_rows(memory: Memory) -> list[object]:
    """Return the rows without their counterpart in the other table."""
    return memory.context.store.read(lambda tx: [row for sql in HALVES for row in tx.all(sql)])


@pytest.mark.long
def test_finished_turns_are_found_whole_after_random_kills(folder: Path) -> None:
    """A write is durable before its response (specification.md#api-durable-answer)."""
    rng, acknowledged = random.Random(8460), dict[str, str]()
    for run in range(rounds(2, 8)):
        for line in killed_after(teller(folder, str(run)), rng.randrange(1, 80)):
            word, event_id = line.split()
            acknowledged[word] = event_id

        with opened(folder, embedder=NoEmbedder()) as memory:
            assert incomplete_rows(memory) == []
            for word, event_id in acknowledged.items():
                assert memory.hit_ids(word, top_k=1) == [event_id]
                detail = event_detail(memory.context, memory.caller, event_id)
                assert detail.response == f"The word {word}."

    assert len(acknowledged) > rounds(15, 100)


def test_killed_import_resumes_without_loss_or_duplicates(folder: Path, tmp_path: Path) -> None:
    total, file = 8 * BATCH, tmp_path / "turns.jsonl"
    turns = (
        {"query": f"Locker {n}?", "response": f"zx{n}qv", "user_id": "ada"} for n in range(total)
    )
    file.write_text("\n".join(map(json.dumps, turns)))
    for run in range(2):
        processed = int(killed_after(teller(folder, str(file)), 2 + run)[-1])
        with opened(folder, embedder=NoEmbedder()) as memory:
            stored = rows(memory.context)["events"]
            assert incomplete_rows(memory) == []
            assert processed <= stored <= total

    with opened(folder, embedder=NoEmbedder()) as memory:
        result = store(memory.context, memory.caller, read(memory.caller, file))

        assert (result.stored, result.duplicates) == (total - stored, stored)
        assert incomplete_rows(memory) == []
        assert all(len(memory.hit_ids(f"zx{n}qv", top_k=1)) == 1 for n in range(0, total, 37))
        assert rows(memory.context)["events"] == total
