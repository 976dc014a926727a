"""Explain a search: `POST /api/v7/memory/explain`."""

from __future__ import annotations

from typing import Any

from service import Http, body_of

EXPLAIN = "/api/v7/memory/explain"


def explanation_of(http: Http, query_text: str, **more: Any) -> Any:
    """Return the explanation of a search."""
    return body_of(http.post(EXPLAIN, {"query_text": query_text, "user_id": "owner", **more}))


def test_explanation_has_the_hits_of_the_search_with_reasons(http: Http) -> None:
    """The same body gives the same hits (specification.md#explain-same-hits)."""
    for place in ("shed", "attic", "cellar"):
        http.remember(f"What is in the {place}?", f"In the {place} are boxes and a ladder.")
    body: Any = {"query_text": "ladder in the attic", "top_k": 2}
    searched = http.memory(**body, interact=False)

    explanation = explanation_of(http, **body)

    assert [
        {name: hit[name] for name in searched["hits"][0]} for hit in explanation["hits"]
    ] == searched["hits"]
    assert all(hit["features"] for hit in explanation["hits"])
    assert [one["reason"] for one in explanation["left_out"]] == ["top_k"]
    assert sum(stage["ms"] for stage in explanation["stages"]) > 0


def test_explain_counts_no_step_and_writes_nothing(http: Http) -> None:
    """It counts no step and writes nothing (specification.md#explain-no-turn)."""
    http.remember("Where is the saw?", "In the shed.")
    before = http.rows()
    explanation_of(http, "saw", interact=True)

    assert http.rows() == before
    assert http.memory("saw")["step"] == 1


def test_explanation_excludes_other_accounts(http: Http) -> None:
    """Another account sees nothing (specification.md#explain-isolation)."""
    http.remember("Where is the saw?", "In the shed.")
    explanation = explanation_of(http.as_account("bob"), "saw")

    assert (explanation["hits"], explanation["left_out"], explanation["looked"]["events"]) == (
        [],
        [],
        0,
    )
