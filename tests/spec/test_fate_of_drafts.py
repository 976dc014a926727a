"""A draft that was revised is kept, but neither served nor counted.

See specification.md#remember-revision.
"""

from __future__ import annotations

import pytest
from service import Http

QUESTION = "When does the ferry leave?"
DRAFT = "The ferry leaves Piombino at 9:10."
REVISION = "The ferry leaves Piombino at 9:40 (ref: {source})."


def searched(http: Http, query: str = "ferry Piombino", session: str = "s") -> list[str]:
    """Return the responses that a search finds; it counts no step."""
    answer = http.memory(query, session_id=session, interact=False)
    return [hit["response"] for hit in answer["hits"]]


@pytest.fixture
def revised(http: Http) -> dict[str, str]:
    """Store a source, a draft that a second look fails, and its revision at the same step."""
    source = http.remember("Ferry times?", "Piombino: 9:40, pier 3.", session_id="old")
    http.memory(QUESTION, session_id="s")
    draft = http.remember(QUESTION, DRAFT, session_id="s", critical="gets seasick")
    result = http.post("/api/v7/agent/second-look", {"draft": DRAFT, "event_id": ""}).json()
    assert result["status"] == "fail"
    final = http.remember(QUESTION, REVISION.format(source=source["event_id"]), session_id="s")
    return {
        "source": source["event_id"],
        "draft": draft["event_id"],
        "final": final["event_id"],
        "detail": final["receipts"][0]["detail"],
    }


def test_a_revision_takes_the_place_of_its_draft(http: Http, revised: dict[str, str]) -> None:
    assert DRAFT not in searched(http)
    assert revised["draft"] in revised["detail"]
    draft = http.get(f"/api/v7/event/{revised['draft']}").json()
    final = http.get(f"/api/v7/event/{revised['final']}").json()
    assert (draft["response"], draft["superseded_by"]) == (DRAFT, revised["final"])
    assert {**draft["second_look"], "looked_at": ""} == {
        "status": "fail",
        "passed": 0,
        "failed": 1,
        "looked_at": "",
    }
    assert "superseded_by" not in final


def test_a_draft_counts_as_no_turn(http: Http) -> None:
    """15 turns make an L1 due: 14 with a draft each are 14."""
    for number in range(14):
        http.memory(f"question {number}", session_id="s")
        http.remember(f"question {number}", "a draft", session_id="s")
        last = http.remember(f"question {number}", f"answer {number}", session_id="s")
    assert last["l1_due"] is False
    http.memory("question 14", session_id="s")
    assert http.remember("question 14", "answer 14", session_id="s")["l1_due"] is True


def test_the_facts_of_a_draft_belong_to_its_revision(http: Http, revised: dict[str, str]) -> None:
    http.ask("DELETE", f"/api/v7/event/{revised['final']}")

    parts = http.get("/api/v7/memory/start?format=json").json()["parts"]
    assert parts["facts"] == []


def test_erasing_a_turn_erases_its_drafts(http: Http, revised: dict[str, str]) -> None:
    http.ask("DELETE", f"/api/v7/event/{revised['final']}")

    assert http.get(f"/api/v7/event/{revised['draft']}").status_code == 404
    assert http.get(f"/api/v7/event/{revised['source']}").status_code == 200
    session = http.post(
        "/api/v7/memory/forget", {"user_id": "owner", "session_id": "s", "dry_run": True}
    )
    assert session.json()["counts"]["events"] == 0


def test_without_a_search_no_turn_is_a_revision(http: Http) -> None:
    """Without a step, two answers to equal words are two turns.

    Names are compared whole: zx0q1q2v has the digits of zx2q1q0v.
    """
    for answer in ("First part.", "Second part."):
        http.remember("continue", answer, session_id="s")
    for number, word in enumerate(("zx0q1q2v", "zx2q1q0v")):
        http.remember(f"What opens locker {number}?", f"The word {word}.", session_id="t")

    hits = http.memory("zx2q1q0v", session_id="later", interact=False)["hits"]

    assert {"First part.", "Second part."} <= set(searched(http, "part"))
    assert hits[0]["response"] == "The word zx2q1q0v."
