"""Forty turns of an agent over HTTP: searches, seals, summaries, votes on cubes, a missed duty.

    export KEY=sk_... VOTERS="sk_... sk_... sk_..."
    python examples/forty_turns.py http://127.0.0.1:8460 > docs/tutorial/forty-turns.md

KEY is the agent's key. VOTERS are keys of three other accounts, whose agents find the shared cubes
and vote. Needs only the standard library. Prints a transcript as Markdown, with ids replaced by
numbers in order of appearance and times removed.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TURNS = [
    json.loads(line)
    for line in Path(__file__).with_suffix(".jsonl").read_text("utf-8").splitlines()
]
SESSION = "opening-the-shop"
SHOWN_CHARACTERS = 30  # of a hit
MISSED_TURN = 8  # the turn that the agent does not remember in time
FIRST_L1, SECOND_L1 = 16, 31  # the turns that send an L1
L1 = {
    FIRST_L1: "Spoke & Chain opens on 1 March at 12 Canal Street: lease signed, "
    "Tuesday to Saturday from ten to six. Permit B7 is open.",
    SECOND_L1: "Prices settled: tyre 11, service 69 euros. "
    "Permit B7 came, sign ordered, Peugeot begun.",
}
GOOD, BAD = (
    "carbon seat posts",
    "squeaking brakes",
)  # topics of the cubes that get votes for and against


class Agent:
    """A client of one account."""

    def __init__(self, url: str, key: str, user_id: str) -> None:
        self.url, self.key, self.user_id = url, key, user_id
        self.seal: str | None = None

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Send a POST request and return the body of the response."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}{path}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    def search(self, query: str, session_id: str = SESSION) -> Any:
        """Search with the seal of the previous reply, and store the seal of the next one."""
        body = {"query_text": query, "user_id": self.user_id, "session_id": session_id, "top_k": 1}
        result = self.post("/api/v7/memory", body | ({"last_seal": self.seal} if self.seal else {}))
        self.seal = f"REM | #{result['step']} | READ | VERIFY | CORRECT | OUTPUT"
        return result

    def remember(self, turn: dict[str, Any]) -> Any:
        """Store a turn."""
        return self.post(
            "/api/v7/remember", {"user_id": self.user_id, "session_id": SESSION, **turn}
        )

    def vote(self, cube_id: str, vote: int, reason: str) -> Any:
        """Vote on a cube."""
        return self.post(
            "/api/v7/experience/vote",
            {"cube_id": cube_id, "user_id": self.user_id, "vote": vote, "reason": reason},
        )


class Transcript:
    """A printer of Markdown that is the same in every run."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._reminders: set[str] = set()

    def write(self, text: str) -> None:
        """Print the text with ids numbered in order of appearance and without dates."""
        print(
            re.sub(
                r"\b(?:e|c|l1)_[0-9a-z]{13}\b", self._name, re.sub(r"\b\d{4}-\d\d-\d\d ", "", text)
            )
        )

    def note(self, text: str) -> None:
        """Print a line of a list; a reminder only the first time."""
        if text not in self._reminders:
            self.write(f"- {text}")
        if text.startswith("reminder: "):
            self._reminders.add(text)

    def _name(self, match: re.Match[str]) -> str:
        kind = match[0].partition("_")[0]
        count = sum(name.startswith(f"{kind}_") for name in self._names.values())
        return self._names.setdefault(match[0], f"{kind}_{count + 1}")


def turn(agent: Agent, number: int, page: Transcript, late: list[dict[str, Any]]) -> None:
    """Search, answer and remember one turn, and print the service's messages to the agent."""
    content = dict(TURNS[number - 1])
    result = agent.search(content["query"])
    page.write(f"\n**{number}.** {content['query']}\n\n> {content['response']}\n")
    notes = list(_search_notes(result))
    if result.get("duty_error") and late:
        agent.remember(late.pop())
        notes.append(f"the agent remembers turn {MISSED_TURN} now")
    if number == MISSED_TURN:
        late.append(content)
        notes.append("the agent does not remember this turn")
    else:
        extra = {"l1_summary": L1[number]} if number in L1 else {}
        notes += _remember_notes(agent.remember(content | extra))
    for note in notes:
        page.note(note)


def _search_notes(result: dict[str, Any]) -> Iterator[str]:
    """Yield the hits, reminders and cubes of a search."""
    for hit in result["hits"]:
        yield f"hit: {hit['event_id']}, {hit['response'][:SHOWN_CHARACTERS]}…"
    if result.get("duty_error"):
        yield f"`duty_error`: {result['duty_error']}"
    for reminder in result.get("reminders", []):
        yield f"reminder: {reminder}"
    for cube in result["shared_cubes"]:
        yield f"cube {cube['cube_id']} ({cube['topic']}): {cube['note']}"


def _remember_notes(result: dict[str, Any]) -> Iterator[str]:
    """Yield the receipts of a remembered turn, except that of the turn itself."""
    for receipt in result["receipts"]:
        if receipt["part"] != "turn":
            detail = f". {receipt['detail']}" if receipt.get("detail") else ""
            yield f"receipt: `{receipt['part']}` {receipt['outcome']}{detail}"
    if isinstance(result["cube"], dict):
        yield f"cube {result['cube']['cube_id']} is {result['cube']['visibility']}"
    if result["l1_due"]:
        yield "an L1 is due"


def votes(voters: list[Agent], page: Transcript) -> None:
    """Let three other accounts find the two cubes and vote on them."""
    page.write("\n## Three other accounts vote\n")
    for number, voter in enumerate(voters, 1):
        result = voter.search("carbon seat post torque; squeaking disc brakes", session_id="voting")
        for cube in result["shared_cubes"]:
            good = cube["topic"] == GOOD
            reason = "it saved a seat post" if good else "oil on a disc takes the brake away"
            vote = voter.vote(cube["cube_id"], 1 if good else -1, reason)
            page.write(
                f"- account {number} finds {cube['cube_id']} ({cube['topic']}) as new; "
                f"status after its vote: `{vote['cube_status']}`"
            )
    result = voters[0].search("carbon seat post torque; squeaking disc brakes", session_id="later")
    served = ", ".join(f"{cube['cube_id']} ({cube['topic']})" for cube in result["shared_cubes"])
    page.write(f"\nSearches now return {served}. They never return the retired cube.")


def main() -> None:
    """Run the session and print its transcript."""
    url, page = sys.argv[1].rstrip("/"), Transcript()
    agent = Agent(url, os.environ["KEY"], "ada")
    voters = [Agent(url, key, "me") for key in os.environ["VOTERS"].split()]
    page.write("# Forty turns of an agent\n")
    page.write(
        "This is the transcript of `examples/forty_turns.py`: an agent plans a shop opening.\n"
        "The list below each turn contains the messages of the service, hidden from the user.\n"
        "A reminder that comes again is not repeated here.\n"
        "Every test run repeats the session and compares the transcript.\n\n## The session"
    )
    late: list[dict[str, Any]] = []
    for number in range(1, len(TURNS) + 1):
        turn(agent, number, page, late)
    l2 = agent.post("/api/v7/memory/map", {"user_id": agent.user_id})
    page.write(
        f"\n## The map\n\nVersion {l2['version']}, built from {l2['l1_count']} L1s:\n\n"
        f"```text\n{l2['map_text']}\n```"
    )
    votes(voters, page)


if __name__ == "__main__":
    main()
