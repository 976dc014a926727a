"""A client of the memory actions for tests, and a small embedder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from remembrancer import testing
from remembrancer.accounts import caller_for, keys
from remembrancer.context import Caller, Context
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.remember import remember
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import Hit, MemoryAnswer, MemoryQuery
from remembrancer.search import SymmetricEmbedder


class Memory:
    """One user's memory; `ask` does not interact by default."""

    def __init__(self, context: Context, caller: Caller, user_id: str = "ada") -> None:
        self.context, self.caller, self.user_id = context, caller, user_id

    def tell(self, query: str, response: str = "", **more: Any) -> str:
        """Remember a turn; return its event_id."""
        body = {"query": query, "response": response, "user_id": self.user_id, **more}
        return remember(self.context, self.caller, Turn.model_validate(body)).event_id or ""

    def add(self, **parts: Any) -> None:
        """Remember parts without a turn."""
        remember(self.context, self.caller, Turn.model_validate({"user_id": self.user_id, **parts}))

    def ask(self, text: str, **more: Any) -> MemoryAnswer:
        """Search the memory; return the response."""
        body = {"query_text": text, "user_id": self.user_id, "interact": False, **more}
        return recall(self.context, self.caller, MemoryQuery.model_validate(body))

    def hit_ids(self, text: str, **more: Any) -> list[str]:
        """Return the event_ids of the hits, best first."""
        return [hit.event_id for hit in self.ask(text, **more).hits]

    def best(self, text: str, **more: Any) -> Hit:
        """Return the best hit."""
        return self.ask(text, **more).hits[0]

    def of(self, user_id: str) -> Memory:
        """Return the memory of another user of the account."""
        return Memory(self.context, self.caller, user_id)


def memory_in(context: Context, account: str = "owner", user_id: str = "ada") -> Memory:
    """Return a memory of an account; create the account if needed."""
    keys.create(context, account=account)
    return Memory(context, caller_for(context, account), user_id)


@contextmanager
def opened(folder: Path, **parts: Any) -> Iterator[Memory]:
    """Yield Ada's memory in the owner's account, with its own Context on the folder."""
    context = testing.context(folder, **parts)
    try:
        yield memory_in(context)
    finally:
        context.close()


CONCEPTS = (("ferry", "ship", "boat"), ("dog", "hound", "puppy"), ("violin", "fiddle", "cello"))


class Concepts(SymmetricEmbedder):
    """An embedder with one vector per concept, and one vector for all other text."""

    dimensions = 8

    def __init__(self, name: str = "concepts/1") -> None:
        self.name = name

    def encode(self, texts: Sequence[str]) -> Any:
        """See Embedder."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            for place, words in enumerate(CONCEPTS):
                vectors[row, place] = any(word in text.casefold() for word in words)
            vectors[row, -1] = not vectors[row].any()
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
