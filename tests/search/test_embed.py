"""The built-in embedder: meaning across languages, verified weights."""

from __future__ import annotations

import numpy as np
import pytest

from remembrancer.search import (
    EmbedderUnavailable,
    QueryVectors,
    SymmetricEmbedder,
    open_embedder,
)
from remembrancer.search.embedders import multilingual as module


@pytest.fixture(scope="module")
def multilingual():
    return open_embedder("multilingual")


def test_translation_is_the_nearest_text(multilingual):
    query = multilingual.encode(["Where is the train station?"])[0]
    texts = [
        "¿Dónde está la estación de tren?",
        "Me gusta el helado de chocolate.",
        "El informe vence el viernes.",
    ]

    assert int(np.argmax(multilingual.encode(texts) @ query)) == 0


def test_vectors_have_unit_length_in_the_order_of_the_texts(multilingual):
    texts = ["one", "a much longer sentence about nothing in particular", "日本語の文"]
    together = multilingual.encode(texts)

    assert together.shape == (3, multilingual.dimensions)
    assert np.linalg.norm(together, axis=1) == pytest.approx(1, abs=1e-3)
    for text, vector in zip(texts, together, strict=True):
        assert float(multilingual.encode([text])[0] @ vector) == pytest.approx(1, abs=1e-3)


def test_empty_and_unusual_texts_have_vectors(multilingual):
    assert np.isfinite(multilingual.encode(["", " ", "\n", "🙂", "x" * 5000])).all()
    assert multilingual.encode([]).shape == (0, multilingual.dimensions)


def test_modified_weights_are_refused(monkeypatch):
    monkeypatch.setitem(module._WEIGHTS, "sp.model", "0" * 64)
    module._load_encoder.cache_clear()  # of a process that opens it for the first time
    module.load().join()

    with pytest.raises(EmbedderUnavailable, match=r"sp\.model"):
        open_embedder("multilingual")


def test_weights_are_loaded_once_in_a_process():
    module._load_encoder.cache_clear()
    loading = module.load()
    first, second = open_embedder("multilingual"), open_embedder("multilingual")
    loading.join()

    assert module._load_encoder.cache_info().misses == 1
    assert np.array_equal(first.encode(["ferry"]), second.encode(["ferry"]))


def test_unknown_embedder_is_refused_by_name():
    with pytest.raises(EmbedderUnavailable, match="magic"):
        open_embedder("magic")


def test_query_vectors_are_cached():
    class Counting(SymmetricEmbedder):
        name, dimensions, calls = "counting/1", 2, 0

        def encode(self, texts):
            self.calls += 1
            return np.ones((len(texts), 2), np.float32)

    embedder = Counting()
    vectors = QueryVectors(embedder, entries_max=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        vectors(text)

    assert embedder.calls == 4  # a, b, c, and b again after its eviction


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        ("मुझे बिल्लियों से एलर्जी है।", False),
        ("Ποιο αυτοκίνητο οδηγώ;", False),
        ("The ferry to Αίγινα leaves at 9:40.", True),
        ("أعمل محاسبة في مصنع ألبان.", True),
        ("시부모님이 10월에 오세요.", True),
    ],
)
def test_text_in_a_script_that_the_model_does_not_know_has_no_vector(multilingual, text, is_known):
    """Its vector would be noise; such texts are found by their words."""
    [vector] = multilingual.encode([text])

    assert vector.any() == is_known
