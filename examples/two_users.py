"""Two users of one agent, two sessions each, with the specification's fields alone.

    export KEY=sk_... OTHER=sk_...
    python examples/two_users.py http://127.0.0.1:8460 > docs/tutorial/two-users-two-sessions.md

KEY is the agent's key; OTHER is the key of another account, whose agent shares a lesson. Needs only
the standard library. Prints the run as Markdown, with ids replaced by numbers in order of
appearance and times removed.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.request
from typing import Any

INTRODUCTION = """# Two users, two sessions

One agent serves Ada and Ben with one key. Only searches name a `user_id`; every other request names
its `session_id`, or none, and the service keeps each user's memory apart. This page is the output
of `examples/two_users.py`; every test run repeats it and compares the page. Service fields that do
not matter here are left out."""
FIELDS = (
    "user_id",
    "step",
    "status",
    "failed",
    "saved",
    "cube_status",
    "hits",
    "facts",
    "summaries",
)
OTHER_FIELDS = ("instructions", "shared_cubes", "duty_error", "receipts", "reminders")


class Agent:
    """A client that prints what it sends and what it gets."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key
        self.names: dict[str, str] = {}

    def call(self, path: str, body: dict[str, Any] | None = None, *, silent: bool = False) -> Any:
        """Send a request (GET without a body), print it with its response, and return that."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/v7/{path}", data, headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = json.load(response)
        if not silent:
            self.write(f"\n```text\n{'GET' if body is None else 'POST'} /api/v7/{path}")
            for name, value in (body or {}).items():
                self.write(f"  {name}: {json.dumps(value, ensure_ascii=False)}")
            for name in (*FIELDS, *OTHER_FIELDS):
                if answer.get(name) not in (None, []):
                    self.write(f"→ {name}: {_short(name, answer[name])}")
            self.write("```")
        return answer

    def write(self, text: str) -> None:
        """Print a text with ids numbered in order of appearance and without dates."""
        text = re.sub(r"\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?", "…", text)
        print(re.sub(r"\b(?:e|c|f|l1)_[0-9a-z]{13}\b", self._name, text))

    def _name(self, match: re.Match[str]) -> str:
        kind = match[0].rpartition("_")[0]
        count = sum(name.startswith(f"{kind}_") for name in self.names.values())
        return self.names.setdefault(match[0], f"{kind}_{count + 1}")


def _short(name: str, value: Any) -> str:
    if name == "hits":
        return ", ".join(f"{hit['event_id']} “{hit['response']}”" for hit in value)
    if name in ("facts", "instructions", "summaries"):
        ids = ("fact_id", "instruction_id", "l1_id")
        return ", ".join(
            f"{next(one[i] for i in ids if i in one)} “{one['text']}”" for one in value
        )
    if name == "shared_cubes":
        return ", ".join(f"{one['cube_id']} ({one['note'].partition(' ')[0]})" for one in value)
    if name == "receipts":
        details = (f" ({one['detail']})" if one.get("detail") else "" for one in value)
        return ", ".join(
            f"{one['part']} {one['outcome']}{detail}"
            for one, detail in zip(value, details, strict=True)
        )
    return json.dumps(value, ensure_ascii=False)


def first_sessions(agent: Agent) -> None:
    """Let both users say something that the next session needs."""
    agent.write("\n## First sessions\n\nAda and Ben talk to the agent at the same time.")
    agent.call("memory", {"query_text": "Hello", "user_id": "ada", "session_id": "ada-1"})
    agent.call("memory", {"query_text": "Hello", "user_id": "ben", "session_id": "ben-1"})
    turn = {"query": "I cannot take penicillin.", "response": "Noted.", "session_id": "ada-1"}
    agent.call("remember", {**turn, "critical": "Ada is allergic to penicillin."})
    turn = {"query": "Please speak German with me.", "response": "Gern.", "session_id": "ben-1"}
    agent.call("remember", {**turn, "critical": "Always answer in German."})


def corrected_draft(agent: Agent) -> None:
    """Store a ferry time, answer wrongly, fail the second look, and store the revision."""
    agent.write("\n## A corrected draft\n\nAda books a ferry, then asks for its time.")
    turn = {"query": "I booked the 9:40 ferry.", "response": "Ferry booked: 9:40, pier 3."}
    agent.call("memory", {"query_text": "ferry", "user_id": "ada", "session_id": "ada-1"})
    source = agent.call("remember", {**turn, "session_id": "ada-1"})["event_id"]
    question = "When does my ferry leave?"
    agent.call("memory", {"query_text": question, "user_id": "ada", "session_id": "ada-1"})
    for hour in ("9:10", "9:40"):
        agent.write(f"\nThe agent answers with {hour}.")
        answer = f"It leaves at {hour} (ref: {source})."
        turn = {"query": question, "response": answer, "session_id": "ada-1"}
        agent.call("remember", turn)
        agent.call("agent/second-look", {"draft": answer, "event_id": source, "span": 1})
    agent.write("\nThe session ends with a summary.")
    summary = "Ada is allergic to penicillin and takes the 9:40 ferry from pier 3."
    agent.call("remember", {"session_id": "ada-1", "l1_summary": summary, "task_done": True})


def second_sessions(agent: Agent) -> None:
    """Show what each user's next session knows, and rate a lesson."""
    agent.write("\n## Second sessions\n\nNew sessions know what the first ones stored.")
    query = "Is there a penicillin allergy?"
    search = {"query_text": query, "user_id": "ada", "session_id": "ada-2", "top_k": 1}
    result = agent.call("memory", search)
    turn = {
        "query": query,
        "response": "Yes, says the first session [unverified].",
        "session_id": "ada-2",
    }
    agent.call("remember", turn)
    agent.write("\nThe lesson of another team is new to Ada. Her agent rates it.")
    for cube in result["shared_cubes"]:
        vote = {"cube_id": cube["cube_id"], "user_id": "ada", "vote": 1, "reason": "It fits."}
        agent.call("experience/vote", vote)
    agent.write("\nBen's memory has none of it, and the lesson is new to him. His wish holds.")
    agent.call("memory", {"query_text": query, "user_id": "ben", "session_id": "ben-2"})


def without_sessions(agent: Agent) -> None:
    """Show whose turns are stored when no request names a session."""
    agent.write(
        "\n## Without sessions\n\nRequests without a `session_id` share one session. It belongs to "
        "the user who spoke in\nit last, and says so when another one speaks."
    )
    for user, query in (("ada", "The ferry was late today."), ("ben", "I cooked goulash today.")):
        agent.call("memory", {"query_text": query, "user_id": user, "top_k": 1})
        agent.call("remember", {"query": query, "response": "Thanks for telling me."})


def main() -> None:
    """Run the sessions."""
    url = sys.argv[1]
    lesson = {
        "query": "Which antibiotic after a penicillin allergy?",
        "response": "Ask a doctor first.",
        "cube_topic": "penicillin allergy",
        "cube_essence": "Check for a penicillin allergy before naming an antibiotic.",
        "cube_rules": "- MUST ask about allergies before naming an antibiotic",
        "cube_type": "warning",
        "cube_evidence": "field report",
        "cube_publish": True,
    }
    Agent(url, os.environ["OTHER"]).call("remember", lesson, silent=True)
    agent = Agent(url, os.environ["KEY"])
    agent.write(INTRODUCTION)
    first_sessions(agent)
    corrected_draft(agent)
    second_sessions(agent)
    without_sessions(agent)


if __name__ == "__main__":
    main()
