"""A day of an agent with three users and two accounts: corrections, a draft, a task, forgetting.

    export KEY=sk_... OTHER=sk_...
    python examples/a_day.py http://127.0.0.1:8460 > docs/tutorial/a-day.md

KEY is the key of the agent of Anna and Ben, OTHER that of another account, whose user is Carla.
Needs only the standard library. Prints the day as Markdown, with ids replaced by numbers.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
from typing import Any

from two_users import Agent

INTRODUCTION = """# A day

Anna and Ben talk to one agent, Carla to that of another account. What they say changes during the
day. This page is the output of `examples/a_day.py`; every test run repeats it and compares the
page."""
MORNING = (
    ("anna", "Our budget is 1.2 million CZK.", "The budget of the house is 1.2 million CZK."),
    ("anna", "Our architect is Petra Vlková.", "The architect is Petra Vlková."),
    ("anna", "Our dog Bruno is allergic to chicken.", None),
    ("ben", "Backups run at 03:15.", "Backups run at 03:15."),
    ("ben", "Kolibri wants every report time in UTC.", None),
)
NOON = (
    (
        "anna",
        "We raised the budget to 1.5 million CZK.",
        "The budget of the house is 1.5 million CZK.",
    ),
    ("anna", "Our architect is now Jan Král.", "The architect is Jan Král."),
)
QUESTIONS = (
    ("anna", "What is our budget?"),
    ("anna", "Who is our architect?"),
    ("anna", "What is Bruno allergic to?"),
    ("ben", "When do backups run?"),
    ("ben", "In which time zone does Kolibri want reports?"),
)
PROGRAM = """import matplotlib.pyplot as plt
plt.plot([1, 2, 3], [1.2, 1.2, 1.5])
plt.title("Budget")
print("million CZK:", 1.5)
"""


def tell(agent: Agent, user: str, session: str, query: str, **more: Any) -> Any:
    """Search and remember a turn of a user, as an agent does, and return the stored turn.

    A fact about the architect replaces the one that the search showed.
    """
    body = {"query_text": query, "user_id": user, "session_id": session}
    for fact in agent.call("memory", body, silent=True)["facts"]:
        if "architect" in query and "architect" in fact["text"]:
            more["critical_replaces"] = fact["fact_id"]
    turn = {"query": query, "response": "Noted.", "session_id": session, **more}
    answer = agent.call("remember", turn, silent=True)
    agent.write(f"- {user}, {session}: {query}")
    return answer


def ask(agent: Agent, user: str, query: str) -> None:
    """Print the first hit of a question, and the facts that hold."""
    body = {"query_text": query, "user_id": user, "interact": False, "min_score": 0.3}
    answer = agent.call("memory", body, silent=True)
    first = answer["hits"][0]["query"] if answer["hits"] else "nothing"
    facts = ", ".join(one["text"] for one in answer["facts"] if one["status"] == "current")
    agent.write(f"- {user}: {query}\n  → {first}" + (f" (fact: {facts})" if facts else ""))


def statements(agent: Agent, carla: Agent) -> None:
    """Tell the facts of the morning, correct two at noon, and ask for all."""
    agent.write("\n## Morning\n")
    for user, text, fact in MORNING:
        tell(agent, user, f"{user}-1", text, **({"critical": fact} if fact else {}))
    tell(carla, "carla", "carla-1", "The door code is 4711.")
    agent.write("\n## Noon: two corrections\n")
    for user, text, fact in NOON:
        tell(agent, user, f"{user}-2", text, critical=fact)
    agent.write(
        "\nThe newest statement comes first, and its fact alone holds. Which fact the new\n"
        "architect replaces, the agent says with `critical_replaces`.\n"
    )
    for user, query in QUESTIONS:
        ask(agent, user, query)
    agent.write("\nNobody reads another user's or account's memory.\n")
    ask(agent, "ben", "What is our budget?")
    ask(carla, "carla", "When do backups run?")


def draft(agent: Agent) -> None:
    """Answer with a wrong time, fail the second look, and answer again."""
    agent.write("\n## A draft\n")
    query = "When do backups run?"
    body = {"query_text": query, "user_id": "ben", "session_id": "ben-2"}
    hit = agent.call("memory", body, silent=True)["hits"][0]
    for time in ("03:30", "03:15"):
        text = f"They run at {time} (ref: {hit['event_id']})."
        turn = {"query": query, "response": text, "session_id": "ben-2"}
        agent.call("remember", turn, silent=True)
        look = agent.call("agent/second-look", {"draft": text}, silent=True)
        why = "".join(f" ({one['detail']})" for one in look["checks"] if one["status"] == "fail")
        agent.write(f"- ben-2: {text}\n  → {look['status']}{why}")


def task(agent: Agent) -> None:
    """Open a task, see it in the next session, and end it there."""
    agent.write("\n## A task\n")
    tell(agent, "ben", "ben-3", "Please renew the TLS certificate.", task_done=False)
    tell(agent, "ben", "ben-3", "Let us go on tomorrow.", task_done=False)
    for query in ("Good morning.", "The TLS certificate is renewed."):
        body = {"query_text": query, "user_id": "ben", "session_id": "ben-4"}
        shown = agent.call("memory", body, silent=True).get("open_tasks") or []
        agent.write(f"- ben-4: {query}\n  → open tasks: {', '.join(one['query'] for one in shown)}")
    turn = {"query": query, "response": "Great.", "session_id": "ben-4", "task_done": True}
    receipts = agent.call("remember", turn, silent=True)["receipts"]
    agent.write(f"  → {receipts[-1]['detail']}")
    body = {"query_text": "Hello", "user_id": "ben", "session_id": "ben-5"}
    left = agent.call("memory", body, silent=True).get("open_tasks") or []
    agent.write(f"- ben-5: Hello\n  → open tasks: {len(left)}")


def evening(agent: Agent) -> None:
    """Run a program, be refused a grant, and forget a session."""
    agent.write("\n## Evening\n")
    ran = agent.call("execute/code", {"code": PROGRAM}, silent=True)
    kinds = ", ".join(one["filename"].rpartition(".")[2] for one in ran["files"])
    agent.write(
        f"- A program: {ran['status']}, it prints “{ran['stdout'].strip()}”, files: {kinds}"
    )
    try:
        grant = {"scope": "/etc/hosts", "ttl_minutes": 5, "actions": ["write"], "agent": "helper"}
        agent.call("sysperm/grant", grant, silent=True)
    except urllib.error.HTTPError as error:
        agent.write(
            f"- An agent grants itself /etc/hosts: {error.code}, {json.load(error)['error']}"
        )
    body = {"user_id": "anna", "session_id": "anna-1"}
    gone = agent.call("memory/forget", body, silent=True)["counts"]
    agent.write(
        f"- Anna's first session is forgotten: {gone['events']} turns, {gone['facts']} facts\n"
    )
    for user, query in QUESTIONS[:3]:
        ask(agent, user, query)


def main() -> None:
    """Print the day as Markdown."""
    url = sys.argv[1]
    agent, carla = Agent(url, os.environ["KEY"]), Agent(url, os.environ["OTHER"])
    agent.write(INTRODUCTION)
    statements(agent, carla)
    draft(agent)
    task(agent)
    evening(agent)


if __name__ == "__main__":
    main()
