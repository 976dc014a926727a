"""What an action needs to work: the parts, wired once, and who is asking."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from .search import Embedder, QueryVectors, Shelf, open_embedder
from .settings import Settings
from .store import Store, open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The parts, passed first and explicitly. Nothing in the program keeps them in a global."""

    settings: Settings
    store: Store
    embedder: Embedder
    query_vectors: QueryVectors
    shelf: Shelf
    clock: Callable[[], int]  # milliseconds since 1970, UTC
    ids: Callable[[str], str]  # a new unguessable id that starts with the given prefix

    def close(self) -> None:
        """Let go of everything. Idempotent."""
        self.shelf.close()
        self.store.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whose key this is and what it may do."""

    account_id: int
    account_name: str
    is_owner: bool
    key_id: int
    pinned_user_id: str | None = None
    read_only: bool = False


def assemble(settings: Settings) -> Context:
    """Open and wire the parts that `settings` names. Raises what opening the store or the embedder raises."""
    settings.data_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    store = open_store(settings.store_url, durability=settings.durability)
    embedder = open_embedder(settings.embedder)
    return Context(
        settings=settings,
        store=store,
        embedder=embedder,
        query_vectors=QueryVectors(embedder),
        shelf=Shelf(memory_bytes=settings.index_memory_bytes, dimensions=embedder.dimensions),
        clock=lambda: time.time_ns() // 1_000_000,
        ids=new_id,
    )


_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u to misread


def new_id(prefix: str) -> str:
    """`prefix` and 13 characters of base 32 (65 random bits): short enough for an agent to cite exactly."""
    return prefix + "".join(secrets.choice(_ALPHABET) for _ in range(13))
