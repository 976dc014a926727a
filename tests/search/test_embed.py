"""The built-in embedder: meaning across languages, verified weights."""

from __future__ import annotations

import numpy as np
import pytest

from remembrancer.search import (
    EmbedderUnavailable,
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


def test_modified_weights_are_refused(monkeypatch):
    monkeypatch.setitem(module._WEIGHTS, "sp.model", "0" * 64)
    module._load_encoder.cache_clear()  # of a process that opens it for the first time
    module.load().join()

    with pytest.raises(EmbedderUnavailable, match=r"sp\.model"):
        open_embedder("multilingual")


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
