"""Deep search: a reranker orders the hits again, and the fast order stays if it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memory.asking import Memory, opened

from remembrancer.memory.recall.recall import RerankerNotConfigured
from remembrancer.models import ModelFailed
from remembrancer.search import RerankerUnavailable

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


class Prefers:
    """A reranker that prefers texts with a word, and runs `during` before it answers."""

    name = "prefers/1"

    def __init__(self, word: str) -> None:
        self.word, self.during, self.texts = word, lambda: None, []  # type: ignore[var-annotated]

    def scores(self, query: str, texts: Sequence[str], *, outside: bool = True) -> Any:
        """Return 9 for a text with the word, else 0."""
        self.during()
        self.texts = list(texts)
        return np.array([9.0 if self.word in text else 0.0 for text in texts], np.float32)


class Fails:
    """A reranker that does not answer."""

    name = "fails/1"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def scores(self, query: str, texts: Sequence[str], *, outside: bool = True) -> Any:
        """Raise the error."""
        raise self.error


def tell_days(memory: Memory) -> None:
    """Store a turn about a ferry for each day."""
    for day in DAYS:
        memory.tell(f"When does the ferry leave on {day}?", f"On {day} the ferry leaves at noon.")


def test_reranker_decides_between_equal_hits(folder: Path) -> None:
    with opened(folder, reranker=Prefers("Thursday")) as memory:
        tell_days(memory)
        fast = memory.ask("when does the ferry leave", top_k=6)
        deep = memory.ask("when does the ferry leave", top_k=6, depth="deep")

        assert "Thursday" in deep.hits[0].query
        assert "Thursday" not in fast.hits[0].query
        assert deep.depth == "deep"
        assert fast.depth is None
        assert {hit.event_id for hit in deep.hits} == {hit.event_id for hit in fast.hits}
        scores = [hit.score for hit in deep.hits]
        assert scores == sorted(scores, reverse=True)
        [signal] = [one for one in deep.hits[0].why if one.signal == "reranked"]
        assert (signal.rank, signal.value) == (1, 1.0)


@pytest.mark.parametrize("error", [RerankerUnavailable("down"), ModelFailed("garbled")])
def test_fast_order_stays_when_the_reranker_fails(folder: Path, error: Exception) -> None:
    """`depth` says so (specification.md#search-depth)."""
    with opened(folder, reranker=Fails(error)) as memory:
        tell_days(memory)
        deep = memory.ask("when does the ferry leave", depth="deep")
        fast = memory.ask("when does the ferry leave")

        assert deep.depth == "fast"
        assert deep.hits == fast.hits


def test_deep_without_a_reranker_is_refused(folder: Path) -> None:
    with opened(folder) as memory, pytest.raises(RerankerNotConfigured):
        memory.ask("ferry", depth="deep")
