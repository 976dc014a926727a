"""Deep search: a reranker orders the hits again, and the fast order stays if it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memory.asking import Memory, opened
from service import Http

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


def test_hit_beyond_the_cut_is_raised_into_the_answer(folder: Path) -> None:
    with opened(folder, reranker=Prefers("Saturday")) as memory:
        tell_days(memory)
        second = memory.ask("when does the ferry leave", top_k=2).hits[1]
        memory.context.reranker.word = second.query  # type: ignore[union-attr]

        [hit] = memory.ask("when does the ferry leave", top_k=1, depth="deep").hits

        assert hit.event_id == second.event_id


def test_budget_holds_for_a_deep_search(folder: Path) -> None:
    with opened(folder, reranker=Prefers("Thursday")) as memory:
        tell_days(memory)

        deep = memory.ask("when does the ferry leave", top_k=6, depth="deep", max_tokens=40)

        assert 1 <= len(deep.hits) <= 3
        assert "Thursday" in deep.hits[0].query


def test_replaced_value_stays_below_its_successor(folder: Path) -> None:
    with opened(folder, reranker=Prefers("Rome")) as memory:
        memory.tell("I live in Rome.", "Noted.", occurred_at="2024-01-10T09:00:00Z")
        memory.tell("I moved to Berlin.", "Noted.", occurred_at="2024-06-10T09:00:00Z")

        hits = memory.ask("Do I live in Rome?", depth="deep").hits

        assert [hit.query for hit in hits] == ["I moved to Berlin.", "I live in Rome."]
        history = memory.ask("Did I live in Rome before?", depth="deep").hits
        assert history[0].query == "I live in Rome."


@pytest.mark.parametrize("error", [RerankerUnavailable("down"), ModelFailed("garbled")])
def test_fast_order_stays_when_the_reranker_fails(folder: Path, error: Exception) -> None:
    """`depth` says so (specification.md#search-depth)."""
    with opened(folder, reranker=Fails(error)) as memory:
        tell_days(memory)
        deep = memory.ask("when does the ferry leave", depth="deep")
        fast = memory.ask("when does the ferry leave")

        assert deep.depth == "fast"
        assert deep.hits == fast.hits


def test_reranker_runs_outside_of_any_transaction(folder: Path) -> None:
    """The store refuses a write inside a read of the same thread."""
    reranker = Prefers("Friday")
    with opened(folder, reranker=reranker) as memory:
        tell_days(memory)
        reranker.during = lambda: memory.tell("Another turn.", "Stored.")  # type: ignore[assignment]

        assert memory.ask("when does the ferry leave", depth="deep").depth == "deep"
        reranker.during = lambda: None
        assert memory.best("another turn").response == "Stored."


def test_deep_without_a_reranker_is_refused(folder: Path) -> None:
    with opened(folder) as memory, pytest.raises(RerankerNotConfigured):
        memory.ask("ferry", depth="deep")


def test_refusal_names_the_setting_over_http(http: Http) -> None:
    body = {"query_text": "x", "user_id": "ada", "depth": "deep"}
    answer = http.ask("POST", "/api/v7/memory", json=body)

    assert answer.status_code == 422
    assert "REMEMBRANCER_RERANKER" in answer.json()["detail"]
    assert answer.json()["errors"][0]["pointer"] == "/depth"


def test_deep_search_of_an_empty_memory_is_empty(folder: Path) -> None:
    with opened(folder, reranker=Prefers("x")) as memory:
        answer = memory.ask("ferry", depth="deep")

        assert answer.hits == []
        assert answer.depth == "deep"
