"""The parts an action needs, assembled once, and the caller."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .settings import SettingInvalid, Settings
from .store import Pool, Store, StoreUnavailable, Transaction, embedder_id, open_store
from .store.embedders import NEVER
from .store.transfer.copy import refuse_unfinished

if TYPE_CHECKING:
    from .models import Models
    from .protocol.teams import TeamRole
    from .search import (
        Embedder,
        IndexCache,
        QueryVectors,
        Reranker,
        SegmentFolder,
        VectorLayout,
    )

    Embedders: TypeAlias = tuple[Embedder, Embedder | None]

_log = logging.getLogger(__name__)


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

    embedder: Embedder  # makes the vectors of stored texts, at the latest in the background
    older: Embedder | None  # its vectors are served too, while those of `embedder` are missing
    writer: Embedder  # makes the vectors of new texts at once
    layout: VectorLayout  # of the indexes in `index_cache`
    query_vectors: QueryVectors
    index_cache: IndexCache
    models: Models
    reranker: Reranker | None  # of deep searches
    segments: SegmentFolder | None = None  # files of the indexes; None without a folder for them
    # True while another process of this server still has to change its embedder
    others_change: Callable[[], bool] = lambda: False

    def with_embedder(
        self, embedder: Embedder, older: Embedder | None, settings: Settings | None = None
    ) -> Context:
        """Return a context with another embedder and empty indexes over the same store.

        Requests that began with this context end with it. Default: the same settings.
        """
        settings = settings or self.settings
        return replace(self, settings=settings, **embedding_parts(settings, embedder, older))

    @property
    def is_changing_embedder(self) -> bool:
        """Return True while another embedder's vectors are served until they are renewed."""
        return self.older is not None and self.writer is self.embedder

    def embedder_numbers(self, tx: Transaction) -> dict[str, int]:
        """Return the ids in this store of the embedder and the older one, as query parameters."""
        from .search import analysis_id  # imported here: see open_embedders

        return {
            "embedder": embedder_id(tx, analysis_id(self.embedder), make=False),
            "older": embedder_id(tx, analysis_id(self.older), make=False) if self.older else NEVER,
        }

    def close(self) -> None:
        """Release all resources. Idempotent."""
        self.models.close()
        self.index_cache.close()
        self.store.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamMember:
    """The account and the user that act in a team, and what they may do there."""

    team_id: str
    team_name: str
    role: TeamRole
    account_id: int
    account_name: str
    user_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The account and the rights of the key that made a request."""

    account_id: int
    account_name: str
    is_owner: bool
    key_id: int
    pinned_user_id: str | None = None
    read_only: bool = False
    has_protocol: bool = True  # False: searches count no step, and nothing is due
    key_expires_ms: int | None = None
    member: TeamMember | None = None  # of the team in whose space the request works


class RestoreUnfinished(StoreUnavailable):
    """The data folder holds a restore that was interrupted. Run the same restore again."""


def restore_mark(data_folder: Path) -> Path:
    """Return the file that marks a data folder while a backup is restored into it."""
    return data_folder / "restore.unfinished"


def open_records(settings: Settings, *, is_shared: bool = False) -> Records:
    """Open the store of `settings`, creating the data folder if needed.

    `is_shared`: other processes serve it too. Raises everything that `open_store` raises,
    CopyUnfinished and RestoreUnfinished.
    """
    if restore_mark(settings.data_folder).exists():
        raise RestoreUnfinished(
            f"{settings.data_folder} holds a restore that was interrupted: run the same"
            " `remembrancer restore` again"
        )
    settings.data_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    store = open_store(
        settings.store_url,
        durability=settings.durability,
        pool=Pool.of(settings),
        is_shared=is_shared,
    )
    try:
        refuse_unfinished(store)
    except BaseException:
        store.close()
        raise
    return Records(settings=settings, store=store, clock=now_ms, ids=new_id)


def assemble(
    settings: Settings, *, embedders: Embedders | None = None, is_shared: bool = False
) -> Context:
    """Open and connect all parts of `settings`.

    `embedders` are those of the settings, if they are open already; `is_shared`: other processes
    serve the same store. Raises SettingInvalid and the errors of opening the store or the embedder.
    """
    from .models.calls import ConfiguredModels

    models = ConfiguredModels(settings, without_secrets)
    records = open_records(settings, is_shared=is_shared)
    try:
        reranker = open_configured_reranker(settings, models)
        parts = embedding_parts(settings, *(embedders or open_embedders(settings)))
    except BaseException:
        records.close()
        raise
    return Context(
        settings=settings,
        store=records.store,
        clock=records.clock,
        ids=records.ids,
        models=models,
        reranker=reranker,
        segments=open_segments(records.store),
        **parts,
    )


def open_segments(store: Store) -> SegmentFolder | None:
    """Return the folder of the index segments of a store; None if it has none."""
    from .search import SegmentFolder  # imported here: see open_embedders

    folder = store.index_folder
    return None if folder is None else SegmentFolder(folder)


def open_configured_reranker(settings: Settings, models: Models) -> Reranker | None:
    """Return the reranker of the settings, for half of the searches at a time; None for `none`.

    Raises SettingInvalid, RerankerUnavailable.
    """
    from .models.reranking import ModelReranker  # imported here: see open_embedders
    from .search import BoundedReranker, open_reranker

    reranker: Reranker | None
    if settings.reranker == "llm":
        if not models.has("judge") and not models.has("chat"):
            raise SettingInvalid(
                "`reranker` is `llm`, but `model_judge` and `model_chat` are empty."
            )
        reranker = ModelReranker(models, settings)
    else:
        reranker = open_reranker(
            settings.reranker, key=settings.reranker_key, seconds=settings.reranker_seconds
        )
    if reranker is None:
        return None
    return BoundedReranker(reranker, most=max(settings.search_threads // 2, 1))


def open_embedders(settings: Settings) -> Embedders:
    """Open the embedder of `settings` and the one of `embedder_at_once`.

    Raises EmbedderUnavailable.
    """
    # imported here: saves half a second for commands about keys
    from .search import EmbedderUnavailable, open_embedder

    options: dict[str, Any] = {"key": settings.embedder_key, "seconds": settings.embedder_seconds}
    embedder = open_embedder(settings.embedder, **options)
    first = settings.embedder_at_once
    older = open_embedder(first, **options) if first and first != settings.embedder else None
    for one in (embedder, older):
        if one is not None and one.is_remote:
            try:
                one.encode(["ready"])  # its first vector tells the dimensions
            except EmbedderUnavailable as error:  # words alone are searched
                _log.warning("no vectors until the embedder answers: %s", error)
    return embedder, older


def embedding_parts(
    settings: Settings, embedder: Embedder, older: Embedder | None = None
) -> dict[str, Any]:
    """Return the fields of Context that depend on the embedder, with empty indexes.

    `older` is the embedder that the last one replaces or, with the setting `embedder_at_once`, the
    one that makes the first vectors of new texts.
    """
    from .search import IndexCache, QueryVectors, VectorLayout  # imported here: see above

    layout = VectorLayout(embedder.dimensions, older.dimensions if older else 0)
    return {
        "embedder": embedder,
        "older": older,
        "writer": older if older and settings.embedder_at_once else embedder,
        "layout": layout,
        "query_vectors": QueryVectors(embedder, *([older] if older else [])),
        "index_cache": IndexCache(
            memory_bytes=settings.index_memory_bytes, dimensions=layout.dimensions
        ),
    }


def without_secrets(text: str) -> str:
    """Return the text with each secret replaced by its kind."""
    from .screening import find_secrets, mask_secrets

    return mask_secrets(text, find_secrets(text))


def now_ms() -> int:
    """Return the time of this machine's clock: milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: without i, l, o, u


def new_id(prefix: str) -> str:
    """Return `prefix` and 13 characters of base 32 (65 random bits),

    short enough for an agent to copy exactly.
    """
    # 32 divides 256, so each character is as likely as the others
    return prefix + "".join(_ALPHABET[byte % 32] for byte in secrets.token_bytes(13))
