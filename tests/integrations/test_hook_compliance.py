"""A newcomer with hooks installed: what the API and the console say after the first day."""

from __future__ import annotations

import re
from typing import Any

import httpx2
from console.reader import ORIGIN, Reader
from integrations.agent import Agent
from service import Http
from starlette.testclient import TestClient

from remembrancer.context import Context

SHARE_MIN = 0.95
DUTIES = ("searched", "remembered", "sealed", "rated", "looked", "passed")
LABELS = (  # in the console
    "Searched before a turn",
    "Remembered the turn",
    "Requested a second look",
    "Passed the second look",
)
CONVERSATION = [
    ("When does the ferry to Elba leave?", "I do not know yet."),
    ("It leaves at 9:40 from pier 3.", "Noted: 9:40 from pier 3."),
    ("Write a haiku about the harbour.", "Grey gulls, a slow tide."),
    ("<system-reminder>The file a.py changed.</system-reminder>", "Nothing to do."),
    ("Run the tests.", "All 12 tests pass."),
    ("Which pier is it?", "Pier 3 (ref: {event})."),
    ("Thanks!", "You are welcome."),
]


def first_day(agent: Agent, owner: Http) -> None:
    """Use Claude Code in three sessions, with everything that happens on a day."""
    for number in range(20):  # from before, so that no agent searched for it
        turn = {"query": f"Question {number}", "response": "An answer.", "session_id": "imported"}
        before = {**turn, "occurred_at": "2025-06-01T09:00:00Z"}
        assert owner.post("/api/v7/remember", before).status_code == 200
    for number in range(3):
        agent.session = f"day-{number}"
        agent.trigger("SessionStart")
        for prompt, reply in CONVERSATION:
            hits = owner.memory("Which pier?", interact=False)["hits"]
            event_id = next(
                (hit["event_id"] for hit in hits if "pier 3" in hit["response"]), "e_none"
            )
            answer = agent.turn(prompt, reply.format(event=event_id))
            if answer.get("decision") == "block":  # the agent does as the second look says
                revised = f"{reply.format(event=event_id).rstrip('.')} [unverified]."
                agent.trigger("Stop", last_assistant_message=revised, stop_hook_active=True)
    agent.session = "interrupted"
    agent.trigger("UserPromptSubmit", prompt="What is on pier 4?")  # stopped by the user
    agent.turn("I meant pier 3. What is there?", "The ferry to Elba.")
    agent.turn("And pier 5?", "I have no note of it.")


def search_by_tool(url: str, key: str, query: str) -> None:
    """Call the tool `recall` over MCP, as an agent with hooks may."""
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "recall", "arguments": {"query_text": query}},
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {key}",
        "MCP-Protocol-Version": "2025-06-18",
    }
    answer = httpx2.post(f"{url}/mcp", json=call, headers=headers, timeout=60)
    assert answer.json()["result"]["isError"] is False


def shares(figures: dict[str, Any]) -> dict[str, float]:
    """Return the share of each duty that was due."""
    return {
        name: figures[name]["share"] for name in DUTIES if name in figures and figures[name]["of"]
    }


def test_newcomer_with_hooks_sees_at_least_95_percent(
    agent: Agent, owner: Http, service_url: str, context: Context
) -> None:
    """Every figure counts what was due for hooks (specification.md#compliance-due)."""
    first_day(agent, owner)
    browser = Reader(TestClient(owner.client.app, base_url=ORIGIN), context)
    for address in ("/console/service", "/console/sessions?user_id=owner&session_id=day-1"):
        page = browser.get(address).text
        rows = dict(re.findall(r'<th scope="row">([^<]+)</th><td>(.*?)</td>', page))
        assert "not due" in rows["Replied with a receipt"]
        assert min(float(rows[label].removesuffix(" %")) for label in LABELS) >= 100 * SHARE_MIN
    for query in ("pier", "ferry", "harbour"):  # the agent looks further within its turns
        search_by_tool(service_url, agent.environment["REMEMBRANCER_KEY"], query)

    report = owner.get("/api/v7/agent/compliance").json()

    figures = [report["total"], *(one["figures"] for one in report["agents"] + report["sessions"])]
    low = [shares(one) for one in figures if min(shares(one).values(), default=1) < SHARE_MIN]
    assert low == []
    total = report["total"]
    assert total["sealed"]["of"] == 0
    assert 3 <= total["looked"]["of"] < 10  # the answers that rest on memory
    assert total["searched"]["of"] >= 20
    assert total["remembered"]["done"] >= 20
