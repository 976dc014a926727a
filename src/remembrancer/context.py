"""The parts an action needs, assembled once, and the caller."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .settings import Settings
from .store import Pool, Store, open_store
from .store.transfer.copy import refuse_unfinished

if TYPE_CHECKING:
    from .models import Models
    from .search import Embedder, IndexCache, QueryVectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The parts for work on rows alone, such as accounts and keys.

    They open at once, while search has to load its model.
    """

    settings: Settings
    store: Store
    clock: Callable[[], int]  # milliseconds since 1970, UTC
    ids: Callable[[str], str]  # returns a new unguessable id with the given prefix

    def close(self) -> None:
        """Release all resources. Idempotent."""
        self.store.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Records):
    """All parts, passed explicitly as first argument. The program has no global state."""

    embedder: Embedder
    query_vectors: QueryVectors
    index_cache: IndexCache
    models: Models

    def close(self) -> None:
        """Release all resources. Idempotent."""
        self.models.close()
        self.index_cache.close()
        self.store.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The account and the rights of the key that made a request."""

    account_id: int
    account_name: str
    is_owner: bool
    key_id: int
    pinned_user_id: str | None = None
    read_only: bool = False


def open_records(settings: Settings) -> Records:
    """Open the store of `settings`, creating the data folder if needed.

    Raises everything that `open_store` raises, and CopyUnfinished.
    """
    settings.data_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    store = open_store(settings.store_url, durability=settings.durability, pool=Pool.of(settings))
    try:
        refuse_unfinished(store)
    except BaseException:
        store.close()
        raise
    return Records(settings=settings, store=store, clock=now_ms, ids=new_id)


def assemble(settings: Settings) -> Context:
    """Open and connect all parts of `settings`.

    Raises SettingInvalid and the errors of opening the store or the embedder.
    """
    from .models.calls import ConfiguredModels
    from .search import (
        IndexCache,
        QueryVectors,
        open_embedder,
    )  # imported here: saves half a second for commands about keys

    models = ConfiguredModels(settings, without_secrets)
    records = open_records(settings)
    try:
        embedder = open_embedder(settings.embedder)
    except BaseException:
        records.close()
        raise
    return Context(
        settings=settings,
        store=records.store,
        clock=records.clock,
        ids=records.ids,
        embedder=embedder,
        query_vectors=QueryVectors(embedder),
        index_cache=IndexCache(
            memory_bytes=settings.index_memory_bytes, dimensions=embedder.dimensions
        ),
        models=models,
    )


def without_secrets(text: str) -> str:
    """Return the text with each secret replaced by its kind."""
    from .search.text.screening import find_secrets, mask_secrets

    return mask_secrets(text, find_secrets(text))


def now_ms() -> int:
    """Return the time of this machine's clock: milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: without i, l, o, u


def new_id(prefix: str) -> str:
    """Return `prefix` and 13 characters of base 32 (65 random bits),

    short enough for an agent to copy exactly.
    """
    return prefix + "".join(secrets.choice(_ALPHABET) for _ in range(13))
