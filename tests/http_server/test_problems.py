"""Mapping from exceptions to HTTP problem responses."""

from __future__ import annotations

import json

import pytest

from remembrancer.http.problems import respond
from remembrancer.search import EmbedderUnavailable
from remembrancer.store import OutcomeUnknown, StoreUnavailable, StoreUnreachable


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (StoreUnavailable("down at db:5432"), "Nothing was stored"),
        (StoreUnreachable("down at db:5432"), "Nothing was stored"),
        (
            OutcomeUnknown("down at db:5432"),
            "stored completely or not at all. Send the request again with the same Idempotency-Key",
        ),
        (EmbedderUnavailable("down at db:5432"), "embedder"),
    ],
)
def test_unavailable_component_is_503_with_retry_after_and_outcome(
    error: Exception, message: str
) -> None:
    """The outcome may be unknown.

    See specification.md#error-503-names-part, specification.md#error-outcome-unknown.
    """
    answer = respond(error, {"path": "/api/v7/memory", "request_id": "r1"})

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert message in json.loads(bytes(answer.body))["detail"]
    assert "db:5432" not in json.loads(bytes(answer.body))["detail"]
