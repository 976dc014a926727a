"""From errors to answers: what a client may conclude from each."""

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
def test_a_part_that_is_away_is_503_with_when_to_come_again_and_what_became_of_the_request(
    error: Exception, message: str
) -> None:
    """The outcome may be unknown.

    See specification.md#error-503-names-part, specification.md#error-outcome-unknown.
    """
    answer = respond(error, "r1")

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert message in json.loads(bytes(answer.body))["detail"]
    assert "db:5432" not in json.loads(bytes(answer.body))["detail"]
