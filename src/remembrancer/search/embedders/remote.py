"""The embedders `openai:URL#MODEL` and `ollama:NAME`: another program embeds, over HTTP."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..endpoint import EndpointFailed, JsonEndpoint, RequestRefused
from .centring import SAMPLES, centred, means_of
from .port import EmbedderUnavailable, Vectors, clean, unit

BATCH = 32  # texts per request
SHORT_CHARACTERS = 500  # of a text that the endpoint refuses at its whole length
_log = logging.getLogger(__name__)


class RemoteEmbedder:
    """An endpoint that answers `{"model", "input"}` with one vector per text.

    The first answer tells the dimension. Until then there are no vectors, and searches use words.
    """

    is_remote = True

    def __init__(self, kind: str, model: str, endpoint: JsonEndpoint) -> None:
        """Ask for nothing yet. `kind` is `openai` or `ollama`: the shape of answers."""
        self.name = f"{kind}/{endpoint.url}#{model}"
        self._kind, self._model, self._endpoint = kind, model, endpoint
        self._lock = threading.Lock()
        self._mean: Vectors | None = None

    @property
    def dimensions(self) -> int:
        """0 until the endpoint has answered once."""
        return 0 if self._mean is None else len(self._mean)

    @property
    def is_failing(self) -> bool:
        """Return True if the last request failed."""
        return self._endpoint.is_failing

    def encode(self, texts: Sequence[str]) -> Vectors:
        """See Embedder. Raises EmbedderUnavailable."""
        try:
            with self._lock:  # so that the samples are sent once
                if self._mean is None:
                    samples = self._vectors(SAMPLES, 0)
                    self._mean = means_of(samples, samples)
            return centred(self._vectors(texts, len(self._mean)), self._mean)
        except EndpointFailed as error:
            raise EmbedderUnavailable(str(error)) from error

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See Embedder. The endpoint adds prompts, if its model has some."""
        return self.encode(texts)

    def _vectors(self, texts: Sequence[str], dimensions: int) -> Vectors:
        """Return the vectors of the endpoint; `dimensions` 0: any. Raises EndpointFailed."""
        blocks = [np.zeros((0, dimensions), np.float32)] if dimensions else []
        for start in range(0, len(texts), BATCH):
            # An empty text is an error for many endpoints.
            some = [clean(text).strip() or "-" for text in texts[start : start + BATCH]]
            block = self._block(some, dimensions)
            if dimensions and block.shape[1] != dimensions:
                raise EndpointFailed(
                    f"{self._endpoint.url} changed the dimension of its vectors from {dimensions} "
                    f"to {block.shape[1]}; restart the server"
                )
            blocks.append(unit(block))
        return np.concatenate(blocks)

    def _block(self, texts: Sequence[str], dimensions: int) -> Vectors:
        """Return the vectors of one request; a text that is refused alone gets zeros."""
        try:
            answer = self._endpoint.post({"model": self._model, "input": list(texts)})
        except RequestRefused as error:
            if len(texts) > 1:
                middle = len(texts) // 2
                parts = [self._block(some, dimensions) for some in (texts[:middle], texts[middle:])]
                return np.concatenate(parts)
            if len(texts[0]) > SHORT_CHARACTERS:
                return self._block([texts[0][:SHORT_CHARACTERS]], dimensions)
            if not dimensions:
                raise
            _log.warning("a text has no vector: %s", error)
            return np.zeros((1, dimensions), np.float32)
        return self._read(answer, len(texts))

    def _read(self, answer: Any, texts: int) -> Vectors:
        try:
            if self._kind == "ollama":
                rows = answer["embeddings"]
            else:
                data = sorted(answer["data"], key=lambda one: one["index"])
                rows = [one["embedding"] for one in data]
            block = np.array(rows, np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise EndpointFailed(f"{self._endpoint.url}: the answer has no embeddings") from error
        if block.ndim != 2 or len(block) != texts or not block.shape[1]:
            raise EndpointFailed(
                f"{self._endpoint.url}: {texts} texts, but an answer of shape {block.shape}"
            )
        if not np.isfinite(block).all():
            raise EndpointFailed(f"{self._endpoint.url}: vectors with infinite or missing numbers")
        return block
