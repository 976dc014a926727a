"""Save an L1 summary: `POST /api/v7/memory/summarize`."""

from __future__ import annotations

import pytest
from service import Http

PATH = "/api/v7/memory/summarize"
L1 = {"user_id": "owner", "session_id": "s", "summary_text": "The ferry leaves at 9:40."}


def turns(http: Http, count: int, first: int = 0) -> None:
    """Save this many turns of 100 characters each."""
    for n in range(first, first + count):
        http.remember(f"{n:03}".ljust(50, "q"), f"{n:03}".ljust(50, "r"), session_id="s")


def test_summary_is_stored_with_its_ratio_to_the_covered_turns(http: Http) -> None:
    """It covers the turns since the last L1 (specification.md#l1-response)."""
    turns(http, 5)
    first = http.post(
        PATH, {**L1, "summary_text": "x" * 30, "topic": "travel", "message_count": 10}
    ).json()
    turns(http, 4, first=5)
    second = http.post(PATH, {**L1, "summary_text": "y" * 20}).json()

    assert (first["saved"], first["ratio"], first["l2_due"]) == (True, 0.06, False)
    assert second["ratio"] == 0.05
    assert "warning" not in first
    assert first["l1_id"] != second["l1_id"]


@pytest.mark.parametrize(
    ("length", "how"), [(149, "short"), (150, None), (240, None), (241, "long")]
)
def test_summary_outside_5_to_8_percent_is_stored_with_a_warning(
    http: Http, length: int, how: str | None
) -> None:
    """Outside 5 to 8 percent it is stored with a warning (specification.md#l1-ratio)."""
    turns(http, 30)
    answer = http.post(PATH, {**L1, "summary_text": "x" * length}).json()

    assert answer["saved"] is True
    assert (how or "") in answer.get("warning", "")
    assert ("warning" in answer) == (how is not None)


def test_summary_without_turns_is_409(http: Http) -> None:
    """An L1 without turns is a 409 (specification.md#l1-without-turns)."""
    turns(http, 1)
    before = http.rows()

    for client, body in (
        (http, {**L1, "session_id": "nothing said"}),
        (http, {**L1, "user_id": "nobody"}),
        (http.as_account("another account"), L1),
    ):
        answer = client.post(PATH, body)
        assert (answer.status_code, answer.json()["error"]) == (409, "conflict")
    assert http.rows() == before


def test_summary_settles_the_duty(http: Http) -> None:
    """An L1 settles the duty (specification.md#l1-settles-duty)."""
    turns(http, 15)
    http.post(PATH, L1)

    assert http.remember("q", "r", session_id="s")["l1_due"] is False
