"""What an action needs to work: the parts, wired once, and who is asking."""

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
    """The parts for work on rows alone, such as accounts and keys:

    they open at once, where a search needs its model.
    """

    settings: Settings
    store: Store
    clock: Callable[[], int]  # milliseconds since 1970, UTC
    ids: Callable[[str], str]  # a new unguessable id that starts with the given prefix

    def close(self) -> None:
        """Let go of everything. Idempotent."""
        self.store.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Records):
    """All the parts, passed first and explicitly. Nothing in the program keeps them in a global."""

    embedder: Embedder
    query_vectors: QueryVectors
    index_cache: IndexCache
    models: Models

    def close(self) -> None:
        """Let go of everything. Idempotent."""
        self.models.close()
        self.index_cache.close()
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


def open_records(settings: Settings) -> Records:
    """Open the store that `settings` name, in a data folder made if need be.

    Raises what `open_store` raises, and CopyUnfinished.
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
    """Open and wire all the parts that `settings` name.

    Raises SettingInvalid, and what opening the store or the embedder raises.
    """
    from .models.calls import ConfiguredModels
    from .search import (
        IndexCache,
        QueryVectors,
        open_embedder,
    )  # here: half a second that the command line need not wait for keys

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
    """A text with each secret replaced by its kind."""
    from .search.text.screening import find_secrets, mask_secrets

    return mask_secrets(text, find_secrets(text))


def now_ms() -> int:
    """The time by this machine's clock: milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u to misread


def new_id(prefix: str) -> str:
    """`prefix` and 13 characters of base 32 (65 random bits):

    short enough for an agent to cite exactly.
    """
    return prefix + "".join(secrets.choice(_ALPHABET) for _ in range(13))
