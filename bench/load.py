"""Fill large stores with turns recombined from real ones, written by the service."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.locomo import conversations
from remembrancer.context import Context
from remembrancer.memory.write.turns import IncomingTurn, read_turn, store_turn
from remembrancer.search import EventText, IndexEntry, analysis_id, analyze, pack, quantize
from remembrancer.store import Transaction

SEED = 7
DAY_MS = 86_400_000
START_MS = 1_735_689_600_000  # 2025-01-01
TURNS_A_SESSION = 20
BATCH = 500


class Turns:
    """An unlimited source of synthetic turns.

    Texts combine sentences of real turns; vectors are those of real turns with noise.
    """

    def __init__(self, data: Path, context: Context) -> None:
        self._random, self._noise = random.Random(SEED), np.random.default_rng(SEED)
        texts = [
            event.query for conversation in conversations(data) for event in conversation.events
        ]
        self.questions = [
            question.text
            for conversation in conversations(data)
            for question in conversation.questions
        ]
        self._sentences = [
            sentence
            for text in texts
            for sentence in text.partition(": ")[2].split(". ")
            if sentence
        ]
        self._vectors = (
            context.embedder.encode(texts[:1500])
            if context.embedder.dimensions
            else np.zeros((1, 0), np.float32)
        )
        self._by = analysis_id(context.embedder)

    def text(self) -> str:
        """Return two or three sentences and a few rare words."""
        words = " ".join(f"w{int(self._random.paretovariate(0.7)) % 200_000}" for _ in range(3))
        return (
            ". ".join(self._random.sample(self._sentences, self._random.choice((2, 3))))
            + f". {words}"
        )

    def make(self, number: int) -> tuple[str, EventText, IndexEntry]:
        """Return the turn of that number: session, text and index entry."""
        text = EventText(
            query=self.text(),
            response=self.text(),
            topic=None,
            occurred_ms=START_MS + number * DAY_MS // 50,
        )
        parts = analyze(
            query=text.query, response=text.response, topic=None, occurred_ms=text.occurred_ms
        )
        vectors = None
        if self._vectors.shape[1]:
            chosen = self._vectors[self._noise.integers(0, len(self._vectors), len(parts))]
            moved = chosen + self._noise.normal(0, 0.03, chosen.shape).astype("f4")
            vectors = quantize(moved / np.linalg.norm(moved, axis=1, keepdims=True)).tobytes()
        return (
            f"session-{number // TURNS_A_SESSION}",
            text,
            IndexEntry(words=pack(parts), vectors=vectors, by=self._by),
        )


def fill(context: Context, account_id: int, user_id: str, turns: Turns, events: int) -> None:
    """Write that many events of one user."""
    for some in _batches(events):
        batch = [turns.make(number) for number in some]

        def write(tx: Transaction, batch: list[tuple[str, EventText, IndexEntry]] = batch) -> None:
            for session_id, text, derived in batch:
                turn = IncomingTurn(user_id=user_id, session_id=session_id, text=text)
                store_turn(context, tx, turn, read_turn(context, turn, derived))

        context.store.write(write, account_id=account_id)


def _batches(events: int) -> Iterator[range]:
    for low in range(0, events, BATCH):
        yield range(low, min(low + BATCH, events))
