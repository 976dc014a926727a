"""The port of peers: what a store of memory can do for a comparison.

This module imports the standard library alone: it also runs in the environments of the peers.
"""

from __future__ import annotations

import base64
import re
from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

CANDIDATES = 50  # of each ranking, before stores by hand fuse them


class Item(NamedTuple):
    """One event to store. Each peer takes what its interface has a place for."""

    item_id: str
    user: str
    text: str  # both sides of the event, after its date if it has one
    vector: bytes  # of the text: float32, unit length; empty without an embedder
    query: str
    response: str
    session: str
    occurred_ms: int

    def packed(self) -> list[Any]:
        """Return the item as JSON values."""
        return [*self[:3], base64.b64encode(self.vector).decode(), *self[4:]]


class Question(NamedTuple):
    """One search in the memory of a user."""

    user: str
    text: str
    vector: bytes
    most: int

    def packed(self) -> list[Any]:
        """Return the question as JSON values."""
        return [self.user, self.text, base64.b64encode(self.vector).decode(), self.most]


class Peer(ABC):
    """A store of memory on a folder, opened in this process."""

    @abstractmethod
    def add(self, items: Sequence[Item]) -> list[str]:
        """Store items as durably as this peer does by default.

        Returns the ids that its searches will return for them.
        """

    @abstractmethod
    def search(self, question: Question) -> list[str]:
        """Return the ids of the best items of the user, best first."""

    def settle(self) -> None:  # noqa: B027 - most peers have nothing to do
        """Do what the peer's documentation advises after many items were added."""

    def processes(self) -> list[int]:
        """Return the process ids of the store, if it runs outside this process."""
        return []

    def close(self) -> None:  # noqa: B027 - the same
        """Close the store."""


def unpacked_item(values: Sequence[Any]) -> Item:
    """Return an item that was packed."""
    item = Item(*values)
    return item._replace(vector=base64.b64decode(item.vector))


def unpacked_question(values: Sequence[Any]) -> Question:
    """Return a question that was packed."""
    question = Question(*values)
    return question._replace(vector=base64.b64decode(question.vector))


def floats(vector: bytes) -> list[float]:
    """Return a vector as numbers."""
    return array("f", vector).tolist()


def fused(*rankings: Sequence[str], most: int) -> list[str]:
    """Merge rankings (each best first) into one, best first.

    Source: reciprocal rank fusion, k = 60; Cormack, Clarke, Buettcher, SIGIR 2009.
    """
    score: dict[str, float] = {}
    for ranking in rankings:
        for rank, one in enumerate(ranking, 1):
            score[one] = score.get(one, 0.0) + 1 / (60 + rank)
    return sorted(score, key=lambda one: (-score[one], one))[:most]


def any_word(text: str) -> str:
    """Return the expression of FTS5 that any word of a text matches; empty without words."""
    return " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
