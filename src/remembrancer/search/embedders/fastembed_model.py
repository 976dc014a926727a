"""The embedder `fastembed:NAME`: a model of the package fastembed, downloaded by it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from typing import Any

import numpy as np

from .port import EmbedderUnavailable, Vectors, clean, unit


class FastembedEmbedder:
    """A model by its name in fastembed, such as `BAAI/bge-small-en-v1.5`."""

    is_remote = is_failing = False

    def __init__(self, model: str) -> None:
        """Load the model, which fastembed downloads the first time. Raises EmbedderUnavailable."""
        try:
            import fastembed
        except ImportError as error:
            raise EmbedderUnavailable(
                f"the embedder `fastembed:{model}` needs the package fastembed ({error}): "
                "python -m pip install 'remembrancer[fastembed]'"
            ) from error
        self.name = f"fastembed/{metadata.version('fastembed')}-{model}"
        try:
            self._model: Any = fastembed.TextEmbedding(model)
            self.dimensions = 0
            self.dimensions = self.encode(["ready"]).shape[1]
        except Exception as error:  # of its downloads and of onnxruntime, without a common base
            raise EmbedderUnavailable(f"fastembed cannot load {model!r}: {error}") from error

    def encode(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        return self._stacked(self._model.passage_embed([clean(text) for text in texts]))

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        return self._stacked(self._model.query_embed([clean(text) for text in texts]))

    def _stacked(self, rows: Any) -> Vectors:
        vectors = list(rows)
        if not vectors:
            return np.zeros((0, self.dimensions), np.float32)
        return unit(np.stack(vectors))
