"""Evidence recall: the share of the turns that answer a question among the best events.

A system returns, for each question of a conversation, the numbers of events, best first. Only the
events that a question may search are indexed when it is asked (`sets.searchable`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import apsw
import numpy as np
import numpy.typing as npt

from bench.locomo import Conversation, Question
from bench.sets import searchable
from bench.spaces import ranking, views_of
from remembrancer.search import Embedder, Known

Array: TypeAlias = npt.NDArray[Any]
System: TypeAlias = Callable[[Conversation], list[list[int]]]  # a ranking for each question

DEPTHS = (5, 10, 50)  # numbers of events
RESAMPLES = 2_000


def systems(embedder: Embedder) -> dict[str, System]:
    """Return the systems that are compared, by name."""
    return {
        "SQLite FTS5": fts,
        "plain fusion": lambda conversation: plain(conversation, embedder),
        "Remembrancer": lambda conversation: present(conversation, embedder),
        "oracle": oracle,
    }


def fts(conversation: Conversation) -> list[list[int]]:
    """Rank whole events by FTS5: Porter stems, any word of the question, BM25."""
    db = apsw.Connection(":memory:")
    db.execute("create virtual table texts using fts5(text, tokenize = 'porter unicode61')")
    result: list[list[int]] = [[] for _ in conversation.questions]
    added = 0
    for place, question, limit in _in_time(conversation):
        db.executemany(
            "insert into texts (rowid, text) values (?, ?)",
            [
                (number, f"{event.query}\n{event.response}")
                for number, event in enumerate(conversation.events[added:limit], added)
            ],
        )
        added = limit
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question.text))
        result[place] = [
            row[0]
            for row in db.execute(
                "select rowid from texts where texts match ? order by bm25(texts) limit ?",
                (words, DEPTHS[-1]),
            )
        ]
    return result


def plain(conversation: Conversation, embedder: Embedder) -> list[list[int]]:
    """Rank events by their best part: half BM25, half cosine, each scaled to 0..1."""
    views = views_of(conversation, embedder, limits(conversation))
    result: list[list[int]] = []
    for question in conversation.questions:
        view = views[searchable(conversation, question)]
        scores = ranking(view, question.text, embedder)
        score = 0.5 * scaled(scores.lexical.score) + 0.5 * scaled(scores.cosine)
        best = view["event"][np.argsort(-score, kind="stable")]
        _, firsts = np.unique(best, return_index=True)
        result.append(best[np.sort(firsts)[: DEPTHS[-1]]].tolist())
    return result


def present(conversation: Conversation, embedder: Embedder) -> list[list[int]]:
    """Rank events as the service does."""
    views = views_of(conversation, embedder, limits(conversation))
    result = []
    for question in conversation.questions:
        view = views[searchable(conversation, question)]
        best = ranking(view, question.text, embedder).ranked(Known(), DEPTHS[-1])
        result.append([one.event for one in best])
    return result


def oracle(conversation: Conversation) -> list[list[int]]:
    """Rank the events with the most evidence first: no ranking can reach a higher recall."""
    result = []
    for question in conversation.questions:
        events = conversation.events[: searchable(conversation, question)]
        counts = [len(question.evidence.intersection(event.turns)) for event in events]
        result.append(sorted(range(len(events)), key=lambda number: -counts[number])[: DEPTHS[-1]])
    return result


def recalls(conversation: Conversation, best: Sequence[Sequence[int]]) -> Array:
    """Return the evidence recall of a ranking for each question: (questions, len(DEPTHS))."""
    result = np.zeros((len(conversation.questions), len(DEPTHS)))
    for row, question, events in zip(result, conversation.questions, best, strict=True):
        turns = [set(conversation.events[event].turns) for event in events]
        for column, depth in enumerate(DEPTHS):
            matches = question.evidence & set().union(*turns[:depth])
            row[column] = len(matches) / len(question.evidence)
    return result


def evaluate(conversations: Sequence[Conversation], system: System) -> Array:
    """Return the evidence recall of a system for all questions: (questions, len(DEPTHS))."""
    return np.concatenate([recalls(one, system(one)) for one in conversations])


def interval(groups: Sequence[Array]) -> tuple[float, float]:
    """Return a bootstrap 95 % interval of the mean over groups of the means of their values.

    Questions are resampled within their group. Source: Efron, Tibshirani, "An Introduction to the
    Bootstrap", 1993, percentile interval.
    """
    rng = np.random.default_rng(0)
    means = np.mean(
        [
            values[rng.integers(0, len(values), (RESAMPLES, len(values)))].mean(1)
            for values in groups
        ],
        axis=0,
    )
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)


def formatted(groups: Sequence[Array], sign: str = "") -> str:
    """Format the mean over groups of recall at each depth, with the interval at each.

    `sign` is `+` for differences.
    """
    cells = []
    for column in range(len(DEPTHS)):
        values = [group[:, column] for group in groups]
        low, high = interval(values)
        mean = np.mean([one.mean() for one in values])
        cells.append(f"{mean:{sign}.3f} [{low:{sign}.2f}, {high:{sign}.2f}]")
    return " / ".join(cells)


def _in_time(conversation: Conversation) -> Iterator[tuple[int, Question, int]]:
    """Yield questions by the number of events they may search: place, question, number."""
    rows = [
        (place, question, searchable(conversation, question))
        for place, question in enumerate(conversation.questions)
    ]
    yield from sorted(rows, key=lambda row: row[2])


def limits(conversation: Conversation) -> set[int]:
    """Return the numbers of events that the questions of a conversation may search."""
    return {searchable(conversation, question) for question in conversation.questions}


def scaled(score: Array) -> Array:
    """Scale scores to 0..1."""
    if not len(score):
        return score
    low, high = float(score.min()), float(score.max())
    result: Array = (score - low) / (high - low + 1e-9)
    return result
