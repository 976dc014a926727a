"""Compliance: how often agents searched, remembered, sealed, rated and passed second looks."""

from __future__ import annotations

import re
from typing import Any

from service import Http, body_of
from starlette.testclient import TestClient

from remembrancer.protocol.seal import render

COMPLIANCE = "/api/v7/agent/compliance"


def report(http: Http, **parameters: Any) -> Any:
    """Return the response body."""
    return body_of(http.get(COMPLIANCE, params=parameters))


def parts(figures: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return (done, due) per duty, without duties that were never due."""
    return {
        name: (part["done"], part["of"])
        for name, part in figures.items()
        if isinstance(part, dict) and part["of"]
    }


def look(http: Http, draft: str) -> str:
    """Take a second look; return its status."""
    return str(http.post("/api/v7/agent/second-look", {"draft": draft}).json()["status"])


def test_nothing_is_due_before_the_first_turn(http: Http) -> None:
    """A share is then null; the latest search's turn is not due yet.

    See specification.md#compliance-share, specification.md#compliance-last-turn.
    """
    empty = report(http)
    http.memory("one", session_id="s")

    assert (parts(empty["total"]), empty["agents"], empty["sessions"]) == ({}, [], [])
    assert empty["total"]["remembered"] == {"done": 0, "of": 0, "share": None}
    assert parts(report(http)["total"]) == {}


def test_agent_that_follows_the_protocol_gets_full_shares(http: Http) -> None:
    """Following the protocol gives full shares (specification.md#compliance-full)."""
    http.memory("ferry", session_id="s")
    http.remember("When does the ferry leave?", "I do not know.", session_id="s")
    look(http, "I do not know.")
    http.memory("ferry", session_id="s", last_seal=render(1))
    http.remember("And back?", "Nobody said.", session_id="s")
    look(http, "Nobody said.")

    total = report(http)["total"]

    assert parts(total) == {
        "searched": (2, 2),
        "remembered": (2, 2),
        "sealed": (1, 1),
        "looked": (2, 2),
        "passed": (2, 2),
    }
    assert (total["searches"], total["turns"], total["looks"]) == (2, 2, 2)


def test_seal_counts_when_the_next_search_sends_it(http: Http) -> None:
    """The seal names the step of its search (specification.md#compliance-seal)."""
    for number, seal in enumerate((render(1), render(9), "", "sealed!")):
        session = {"session_id": f"s{number}"}
        http.memory("one", **session)
        http.remember("q", "r", **session)
        http.memory("two", last_seal=seal, **session)
        assert parts(report(http)["total"])["sealed"] == (1, number + 1), seal


def publish(http: Http, topic: str) -> str:
    """Publish a cube; return its id."""
    turn = {
        "query": f"What about {topic}?",
        "response": "Ask early.",
        "session_id": topic,
        "cube_topic": topic,
        "cube_essence": f"Ask about {topic} early.",
        "cube_rules": "- MUST ask about them early, before the season begins",
    }
    return str(http.remember(**turn, cube_publish=True)["cube"]["cube_id"])


def test_ratings_of_cubes_shown_as_new_are_counted(http: Http) -> None:
    """A rating is due for each cube shown as new (specification.md#compliance-rated)."""
    other = http.as_account("bob")
    cube_id = [publish(other, topic) for topic in ("boats", "harbours")][1]
    shown = http.memory("boats and harbours", session_id="s")["shared_cubes"]
    http.post("/api/v7/experience/vote", {"cube_id": cube_id, "user_id": "owner", "vote": 1})

    assert parts(report(http)["total"])["rated"] == (1, len(shown)) == (1, 2)


def test_last_second_look_at_a_turn_decides(http: Http) -> None:
    """The last second look decides (specification.md#compliance-last-look)."""
    draft = http.remember("When?", "It leaves at 9:40.", session_id="s")["event_id"]
    first, after_first = look(http, "It leaves at 9:40."), parts(report(http)["total"])
    marked = "It leaves at 9:40 [general]."
    http.remember("When?", marked, session_id="s", replaces=draft)
    second, total = look(http, marked), report(http)["total"]

    assert (first, second) == ("fail", "pass")
    assert after_first["passed"] == (0, 1)
    assert (total["looks"], parts(total)["looked"], parts(total)["passed"]) == (2, (1, 1), (1, 1))


def test_each_key_is_reported_as_an_agent(http: Http) -> None:
    """Each key has figures of its own (specification.md#compliance-per-agent)."""
    other = http.as_account("owner")
    for agent, searches in ((http, 3), (other, 1)):
        for n in range(searches):
            agent.memory(f"{n}", session_id=f"of-{searches}")
    other.remember("q", "r", session_id="of-1")
    look(other, "r")

    answer = report(http)["agents"]

    assert [one["account"] for one in answer] == ["owner"] * 2
    assert [one["hint"] for one in answer] == [str(agent.key)[3:11] for agent in (http, other)]
    assert [one["figures"]["searches"] for one in answer] == [3, 1]
    assert [parts(one["figures"]) for one in answer] == [
        {"remembered": (0, 2), "sealed": (0, 2)},
        {"remembered": (1, 1), "passed": (1, 1)},
    ]
    assert "turns" not in answer[0]["figures"]


def test_figures_exclude_other_accounts_and_users(http: Http) -> None:
    """Figures are the account's own, or those of the pin (specification.md#compliance-isolation)."""
    ada, pinned = http.as_account("ada"), http.as_account("owner", user_id="mia")
    ada.memory("secret project", "ada", session_id="hidden")
    ada.remember("q", "r", session_id="hidden")
    mine, all_ = report(http), report(http, all="true")
    http.memory("one", "bob", session_id="of-bob")
    http.memory("one", "mia", session_id="of-mia")
    pinned.memory("two", "mia", session_id="pinned")
    of_pin = report(pinned)

    assert (mine["total"]["searches"], mine["agents"], mine["sessions"]) == (0, [], [])
    assert [one["account"] for one in all_["agents"]] == ["ada"]
    assert all_["sessions"] == []
    assert {one["session_id"] for one in of_pin["sessions"]} == {"of-mia", "pinned"}
    assert len(of_pin["agents"]) == 1
    for refused in (ada, pinned):
        assert refused.get(COMPLIANCE, params={"all": "true"}).status_code == 403


def test_erased_turns_are_not_counted(http: Http) -> None:
    """Forgotten turns are not counted (specification.md#compliance-forgotten)."""
    http.memory("one", session_id="s")
    event = http.remember("q", "r", session_id="s")["event_id"]
    look(http, "r")
    http.remember("q2", "r2", session_id="s")
    look(http, "r2")

    http.ask("DELETE", f"/api/v7/event/{event}")
    one_left = http.rows()["looks"]
    http.post("/api/v7/memory/forget", {"session_id": "s"})

    assert (one_left, http.rows()["looks"], report(http)["sessions"]) == (1, 0, [])


def test_metrics_report_the_duties_of_the_last_day(http: Http) -> None:
    """The last day's duties are metrics (specification.md#compliance-metrics)."""
    http.memory("one", session_id="s")
    http.remember("q", "r", session_id="s")
    http.remember("q2", "r2", session_id="s")

    text = http.get("/metrics").text

    found = re.findall(r'^remembrancer_duties_(\w+)\{duty="(\w+)"\} (\S+)$', text, re.MULTILINE)
    counts = {(name, duty): float(value) for name, duty, value in found}
    assert (counts["done", "searched"], counts["due", "searched"]) == (1, 2)
    assert (counts["done", "remembered"], counts["due", "remembered"]) == (1, 1)
    assert counts["due", "passed"] == 0


def test_other_metrics_are_served_when_the_store_fails(http: Http) -> None:
    here = TestClient(
        http.client.app, client=("127.0.0.1", 50_000), base_url="http://127.0.0.1:8460"
    )  # requests from this machine need no key from the store
    http.context.store.close()

    answer = here.get("/metrics")

    assert (answer.status_code, "remembrancer_requests_in_flight" in answer.text) == (200, True)


def test_client_that_writes_no_seals_owes_none(http: Http) -> None:
    """`seals: false` is never a missed seal; one that is sent is judged.

    See specification.md#compliance-due.
    """
    for number in range(3):
        answer = http.memory(f"question {number}", session_id="s", seals=False)
        http.remember(f"q{number}", "r", session_id="s")
    before = parts(report(http)["total"])
    http.memory("one more", session_id="s", seals=False, last_seal=render(9))

    assert before == {"searched": (3, 3), "remembered": (3, 3)}
    assert "duty_error" not in answer
    assert not any("seal" in text for text in answer.get("reminders", ()))
    assert parts(report(http)["total"])["sealed"] == (0, 1)


def test_searches_by_tools_owe_a_turn_only_where_turns_are_stored(http: Http) -> None:
    """Hooks may keep the turns elsewhere (specification.md#compliance-due)."""
    for session_id in ("tools", "turns"):
        if session_id == "turns":
            http.remember("q", "r", session_id=session_id)
        for text in ("one", "two", "three"):
            http.memory(text, session_id=session_id, seals=False)

    figures = {one["session_id"]: parts(one["figures"]) for one in report(http)["sessions"]}
    assert "remembered" not in figures["tools"]
    assert figures["turns"]["remembered"] == (0, 2)


def test_completions_owe_what_the_service_does_itself(http: Http) -> None:
    """No seal and no rating through `/v1` (specification.md#compliance-due)."""
    publish(http.as_account("bob"), "ferries")
    for text in ("When does the ferry leave?", "Do ferries leave early?"):
        body = {"messages": [{"role": "user", "content": text}]}
        assert http.post("/v1/chat/completions", body).status_code == 200

    total = parts(report(http)["total"])
    assert (total["searched"], total["remembered"]) == ((2, 2), (2, 2))
    assert not {"sealed", "rated"} & set(total)


def test_only_turns_that_cite_memory_owe_a_second_look(http: Http) -> None:
    """A turn without refs owes none (specification.md#compliance-due)."""
    http.memory("when", session_id="s")
    event_id = http.remember("When?", "At 9:40.", session_id="s")["event_id"]
    http.remember("When, again?", f"At 9:40 (ref: {event_id}).", session_id="s")

    assert parts(report(http)["total"])["looked"] == (0, 1)
