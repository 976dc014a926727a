"""Save an L1 summary: `POST /api/v7/memory/summarize`."""

from __future__ import annotations

from typing import Any

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


@pytest.mark.parametrize(("length", "how"), [(24, "short"), (25, None), (40, None), (41, "long")])
def test_summary_outside_5_to_8_percent_is_stored_with_a_warning(
    http: Http, length: int, how: str | None
) -> None:
    """Outside 5 to 8 percent it is stored with a warning (specification.md#l1-ratio)."""
    turns(http, 5)
    answer = http.post(PATH, {**L1, "summary_text": "x" * length}).json()

    assert answer["saved"] is True
    assert (how or "") in answer.get("warning", "")
    assert ("warning" in answer) == (how is not None)


def test_summary_without_turns_is_409(http: Http) -> None:
    """An L1 without turns is a 409 (specification.md#l1-without-turns)."""
    turns(http, 1)
    http.post(PATH, L1)
    before = http.rows()

    for body in (
        {**L1, "summary_text": "More."},
        {**L1, "session_id": "nothing said"},
        {**L1, "user_id": "nobody"},
    ):
        answer = http.post(PATH, body)
        assert (answer.status_code, answer.json()["error"]) == (409, "conflict")
    assert http.rows() == before


def test_repeated_summary_is_stored_once(http: Http) -> None:
    """The same L1 is stored once (specification.md#l1-repeated)."""
    turns(http, 1)
    first, again = http.post(PATH, L1).json(), http.post(PATH, L1).json()

    assert again == first
    assert http.rows()["summaries"] == 1


def test_summary_settles_the_duty(http: Http) -> None:
    """An L1 settles the duty (specification.md#l1-settles-duty)."""
    turns(http, 15)
    http.post(PATH, L1)

    assert http.remember("q", "r", session_id="s")["l1_due"] is False


@pytest.mark.parametrize(
    ("wrong", "pointer"),
    [
        ({"summary_text": None}, "/summary_text"),
        ({"summary_text": ""}, "/summary_text"),
        ({"summary_text": " \n"}, "/summary_text"),
        ({"summary_text": "x" * 20_001}, "/summary_text"),
        ({"summary_text": "a\x00b"}, "/summary_text"),
        ({"message_count": -1}, "/message_count"),
        ({"message_count": "5"}, "/message_count"),
        ({"message_count": True}, "/message_count"),
        ({"session_id": ""}, "/session_id"),
        ({"user_id": 5}, "/user_id"),
        ({"topic": "t" * 1_001}, "/topic"),
    ],
)
def test_invalid_values_are_named_and_nothing_is_stored(
    http: Http, wrong: dict[str, Any], pointer: str
) -> None:
    """A wrong value is a 422 that names the field (specification.md#error-pointer)."""
    turns(http, 1)
    before = http.rows()
    answer = http.post(PATH, {**L1, **wrong})

    assert answer.status_code == 422
    assert [fault["pointer"] for fault in answer.json()["errors"]] == [pointer]
    assert http.rows() == before


@pytest.mark.parametrize("missing", ["user_id", "session_id", "summary_text"])
def test_missing_required_fields_are_named(http: Http, missing: str) -> None:
    """Three fields are required (specification.md#l1-required)."""
    answer = http.post(PATH, {name: value for name, value in L1.items() if name != missing})

    assert [fault["pointer"] for fault in answer.json()["errors"]] == [f"/{missing}"]


def test_read_only_and_foreign_pinned_keys_are_403(http: Http) -> None:
    """Read-only keys and foreign pins are 403 (specification.md#l1-permissions)."""
    turns(http, 1)
    for key in ({"read_only": True}, {"user_id": "somebody else"}):
        assert http.as_account("owner", **key).post(PATH, L1).status_code == 403
    assert http.as_account("another account").post(PATH, L1).status_code == 409
    assert http.rows()["summaries"] == 0
