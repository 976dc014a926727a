"""Turns too long to embed while their writer waits."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory.asking import Concepts, Memory, opened

from remembrancer import status
from remembrancer.memory import maintenance
from remembrancer.memory.maintenance import Maintenance
from remembrancer.memory.write.turns import EMBEDDED_CHARACTERS_MAX

LONG = "The hound is called Argos. " + "word " * (EMBEDDED_CHARACTERS_MAX // 5)


def pending(memory: Memory) -> int:
    """Return how many turns wait for vectors."""
    embedding = status.readiness(memory.context).embedding
    assert embedding is not None
    return embedding.pending


def hits(memory: Memory, words: str) -> list[str]:
    """Return the beginnings of the responses that a search finds."""
    return [hit.response[:9] for hit in memory.ask(words).hits]


def test_long_turn_is_found_by_words_at_once_and_by_meaning_later(folder: Path) -> None:
    """See specification.md#remember-long-turn."""
    with opened(folder, embedder=Concepts("concepts/1")) as memory:
        memory.tell("What is he called?", LONG)
        before = pending(memory), hits(memory, "Argos"), hits(memory, "puppy")
        renewal = Maintenance(memory.context)
        while renewal.step():
            pass
        after = pending(memory), hits(memory, "puppy")

    assert before == (1, ["The hound"], [])
    assert after == (0, ["The hound"])


def test_long_turns_are_embedded_one_at_a_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other work is done between them (specification.md#remember-long-turn)."""
    monkeypatch.setattr(maintenance, "BATCH_CHARACTERS", 100_000)
    with opened(folder, embedder=Concepts("concepts/1")) as memory:
        for n in range(3):
            memory.tell(f"What is hound {n} called?", f"{n}. {LONG}")
        renewal, waiting = Maintenance(memory.context), [pending(memory)]
        while pending(memory):
            renewal.step()
            waiting.append(pending(memory))

    assert waiting == [3, 2, 1, 0]
