"""Embeddings through the official `openai` client and over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from endpoint import replies
from openai_service import Served
from service import Http

from remembrancer import testing
from remembrancer.search.embedders.port import NoEmbedder

PATH = "/v1/embeddings"
TEXT = "The ferry leaves at 9:40."


def expected() -> Any:
    """Return the vector of the text by the embedder of these tests."""
    return testing.HashEmbedder().encode([TEXT])[0]


def test_sdk_reads_the_vectors(serve: Callable[..., Served]) -> None:
    """The SDK asks for Base64 by default (specification.md#embeddings-response)."""
    client = serve(replies("unused")).client

    one = client.embeddings.create(model="memory-embedder", input=TEXT)
    two = client.embeddings.create(
        model="memory-embedder", input=["Pier 3", TEXT], encoding_format="float"
    )

    assert np.allclose(one.data[0].embedding, expected())
    assert [item.index for item in two.data] == [0, 1]
    assert np.allclose(two.data[1].embedding, expected())
    assert (one.model, one.usage.total_tokens) == ("hash/1", 7)


def test_nothing_is_stored(http: Http) -> None:
    """A read-only key may embed (specification.md#embeddings-request)."""
    before = http.rows()

    answer = http.as_account("owner", read_only=True).post(PATH, {"input": TEXT})

    assert answer.status_code == 200
    assert http.rows() == before


def test_what_the_embedder_cannot_do_is_rejected(http: Http) -> None:
    """Tokens and other dimensions are 422; its own number is no change.

    See specification.md#embeddings-refused.
    """
    bodies: list[tuple[dict[str, Any], str, str]] = [
        ({"input": [[1, 2]]}, "input", "check_embedding_ctx_length=False"),
        ({"input": [1, 2]}, "input", "must be text"),
        ({"input": TEXT, "dimensions": 63}, "dimensions", "Leave `dimensions` out"),
    ]

    for body, param, words in bodies:
        answer = http.post(PATH, body)
        assert (answer.status_code, answer.json()["error"]["param"]) == (422, param)
        assert words in answer.json()["error"]["message"]
    assert http.post(PATH, {"input": TEXT, "dimensions": 64}).status_code == 200


def test_server_without_an_embedder_says_so(serve: Callable[..., Served]) -> None:
    """503 names the setting (specification.md#embeddings-refused)."""
    served = serve(replies("unused"), embedder=NoEmbedder())

    with pytest.raises(Exception, match="REMEMBRANCER_EMBEDDER") as failed:
        served.client.embeddings.create(model="memory-embedder", input=TEXT)

    assert getattr(failed.value, "status_code", None) == 503
    names = [model.id for model in served.client.models.list()]
    assert "memory-embedder" not in names
