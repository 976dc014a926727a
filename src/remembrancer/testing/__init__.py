"""Deterministic parts for tests, ours and yours: a clock, ids, an embedder, and a real Context over
a real store.

    context = testing.context(tmp_path)
    key = keys.create(context, account="ada").key.reveal()
"""

from __future__ import annotations

import atexit
import hashlib
import itertools
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from ..context import Context, embedding_parts, open_segments, without_secrets
from ..models import (
    Budget,
    ChoiceDelta,
    ModelAttempt,
    ModelChoice,
    ModelFailed,
    ModelRequest,
    ModelResponse,
    Models,
    Slot,
    tokens_of,
)
from ..models.calls import ConfiguredModels
from ..models.port import OnPiece
from ..search import Embedder, Reranker, SymmetricEmbedder
from ..search.embedders.port import Vectors
from ..settings import Settings
from ..store import Pool, Store, open_store

START_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z


class FrozenClock:
    """A clock that moves only by `advance`."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        """Return the time, in milliseconds."""
        return self.now_ms

    def advance(self, by_ms: int) -> None:
        """Move the clock forward."""
        self.now_ms += by_ms


class CountingIds:
    """Ids that look like real ones and count up:

    evt_0000000000001, evt_0000000000002. Thread-safe.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def __call__(self, prefix: str) -> str:
        """Return the next id."""
        return f"{prefix}{next(self._numbers):013}"


class HashEmbedder(SymmetricEmbedder):
    """Vectors without a model:

    each word, ignoring case, adds to one of 64 dimensions. Equal words give equal vectors.
    """

    name = "hash/1"
    dimensions = 64

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, see Embedder."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.casefold()):
                raw = word.encode("utf-8", "replace")
                place = hashlib.blake2b(raw, digest_size=1).digest()[0] % self.dimensions
                vectors[row, place] += 1
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.maximum(lengths, 1e-9)  # the vector of a text without words is 0
        return vectors


class ScriptedModels:
    """Models that give prepared answers in order and record the prompts; an exception in the script
    is raised.
    """

    def __init__(self, **scripts: Sequence[str | ModelFailed]) -> None:
        """Take the answers by slot, such as chat=["At 9:40."].

        A slot without answers left fails as `empty`.
        """
        self._scripts = {slot: list(script) for slot, script in scripts.items()}
        self.asked: list[ModelRequest] = []
        self._watchers: list[Callable[[ModelAttempt], None]] = []

    def has(self, slot: Slot, *, outside: bool = True) -> bool:
        """Return True if the slot has a script; a scripted model counts as remote."""
        return slot in self._scripts and outside

    def watch(self, watcher: Callable[[ModelAttempt], None]) -> None:
        """See Models."""
        self._watchers.append(watcher)

    def names(self, slot: Slot, *, outside: bool = True) -> tuple[str, ...]:
        """Return the name of the only model. See Models."""
        return ("scripted@models.example",) if self.has(slot, outside=outside) else ()

    def ask(
        self, request: ModelRequest, budget: Budget, on_piece: OnPiece | None = None
    ) -> ModelResponse:
        """See Models."""
        if not self.has(request.slot, outside=request.outside):
            raise ModelFailed("none")
        if not budget.calls_left:
            raise ModelFailed("budget")
        budget.calls_left -= 1
        self.asked.append(request)
        script = self._scripts[request.slot]
        answer = script.pop(0) if script else ModelFailed("empty")
        outcome, text = ("ok", answer) if isinstance(answer, str) else (answer.reason, "")
        read = sum(tokens_of(message.content) for message in request.messages)
        tried = ModelAttempt(
            slot=request.slot,
            model="scripted",
            outcome=outcome,
            ms=0.0,
            prompt_tokens=read,
            completion_tokens=tokens_of(text),
        )
        for watcher in self._watchers:
            watcher(tried)
        if isinstance(answer, ModelFailed):
            raise ModelFailed(answer.reason, (tried,))
        if on_piece is not None:
            for word in re.findall(r"\s*\S+\s*", answer):
                on_piece(ChoiceDelta(text=word))
        choice = ModelChoice(text=answer, finish_reason="stop", fields={})
        return ModelResponse(text=answer, model="scripted", tries=(tried,), choices=(choice,))

    def close(self) -> None:
        """Do nothing."""


_stores: list[Callable[[Path], str]] = []  # store URL by data folder; empty = as in the settings


def keep_stores_at(url_of: Callable[[Path], str] | None) -> None:
    """Make every new Context whose settings name no store open the one at `url_of(data folder)`;
    None = as in the settings.
    """
    _stores[:] = [url_of] if url_of else []


_ids = CountingIds()  # one counter per process: two contexts on one folder never give the same id


def context(
    folder: Path,
    *,
    settings: Settings | None = None,
    store: Store | None = None,
    embedder: Embedder | None = None,
    clock: Callable[[], int] | None = None,
    ids: Callable[[str], str] | None = None,
    models: Models | None = None,
    reranker: Reranker | None = None,
) -> Context:
    """Return a real Context over a SQLite file in `folder`, which must exist, or at the URL of
    `keep_stores_at`; close it at the end.

    Defaults: a frozen clock, counting ids, the hash embedder, commits that do not wait for the
    disk, no models and no reranker.
    """
    settings = settings or Settings(
        data=folder, embedder="none", durability="normal", refusal_seconds=0
    )
    store = store or _open_store(settings)
    return Context(
        settings=settings,
        store=store,
        segments=open_segments(store),
        **embedding_parts(settings, embedder or HashEmbedder()),
        clock=clock or FrozenClock(),
        ids=ids or _ids,
        models=models or ConfiguredModels(settings, without_secrets),
        reranker=reranker,
    )


def _open_store(settings: Settings) -> Store:
    """Open the store of `settings`; a new SQLite file begins as a copy of an empty one.

    To create a schema takes longer than most tests.
    """
    url = store_url(settings)
    path = Path(url.partition(":")[2])
    if url.startswith("sqlite:") and not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copy(_empty_store(), path)
    return open_store(url, durability=settings.durability, pool=Pool.of(settings))


@cache
def _empty_store() -> Path:
    """Return an empty SQLite file of today's schema, made once per process."""
    folder = tempfile.mkdtemp(prefix="empty-store-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "empty.db"
    open_store(f"sqlite:{path}", durability="normal").close()
    return path


def store_url(settings: Settings) -> str:
    """Return the store URL of a Context with these settings, for another process that uses the
    same store.
    """
    return (
        _stores[0](settings.data_folder) if _stores and not settings.store else settings.store_url
    )
