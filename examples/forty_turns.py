"""An agent's working day over HTTP: forty turns with searches, seals, summaries, a map, cubes voted up and down, and a missed duty.

    KEY=sk_... VOTERS="sk_... sk_... sk_..." python examples/forty_turns.py http://127.0.0.1:8460 > docs/tutorial/forty-turns.md

KEY is the agent's key; VOTERS are keys of three other accounts, whose agents find the shared cubes and vote. Nothing but the
standard library. It prints Markdown: what was sent and answered, ids and times replaced by the order they came in.
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

TURNS = [json.loads(line) for line in Path(__file__).with_suffix(".jsonl").read_text("utf-8").splitlines()]
SESSION = "opening-the-shop"
FORGOTTEN = 8  # the turn that the agent does not remember in time
RATED = 10  # the turn with which it says that the cubes it was shown did not matter
FIRST_L1, SECOND_L1 = 16, 31  # the turns that close a stretch of the session
L1 = {
    FIRST_L1: "Spoke & Chain opens on 1 March at 12 Canal Street: lease signed, Tuesday to Saturday from ten to six. Permit B7 is open.",
    SECOND_L1: "Prices settled: tyre 11, service 69 euros. Permit B7 came, sign ordered, Peugeot begun.",
}
GOOD, BAD = "carbon seat posts", "squeaking brakes"  # topics of the cubes that are voted up and down


class Agent:
    """Speaks for one account."""

    def __init__(self, url: str, key: str, user_id: str) -> None:
        self.url, self.key, self.user_id = url, key, user_id
        self.seal: str | None = None

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """POST a body; the answer's body."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}{path}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def search(self, query: str, session_id: str = SESSION) -> Any:
        """Search with the seal of the last reply, and seal the next."""
        body = {"query_text": query, "user_id": self.user_id, "session_id": session_id, "top_k": 1}
        found = self.post("/api/v7/memory", body | ({"last_seal": self.seal} if self.seal else {}))
        self.seal = f"REM | #{found['step']} | READ | VERIFY | CORRECT | OUTPUT"
        return found

    def remember(self, turn: dict[str, Any]) -> Any:
        """Save a turn."""
        return self.post("/api/v7/remember", {"user_id": self.user_id, "session_id": SESSION, **turn})

    def vote(self, cube_id: str, vote: int, reason: str) -> Any:
        """Vote on a cube."""
        return self.post("/api/v7/experience/vote", {"cube_id": cube_id, "user_id": self.user_id, "vote": vote, "reason": reason})


class Transcript:
    """Markdown whose ids and times are the same in every run."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def write(self, text: str) -> None:
        """Print it with ids numbered in the order they came, and no dates."""
        print(re.sub(r"\b(?:e|c|l1)_[0-9a-z]{13}\b", self._name, re.sub(r"\b\d{4}-\d\d-\d\d ", "", text)))

    def _name(self, match: re.Match[str]) -> str:
        kind = match[0].partition("_")[0]
        known = sum(name.startswith(f"{kind}_") for name in self._names.values())
        return self._names.setdefault(match[0], f"{kind}_{known + 1}")


def turn(agent: Agent, number: int, page: Transcript, late: list[dict[str, Any]]) -> None:
    """One turn: search, answer, remember; what is worth telling is told."""
    said = dict(TURNS[number - 1])
    found = agent.search(said["query"])
    page.write(f"\n**{number}.** {said['query']}\n\n> {said['response']}\n")
    told = list(_told(found))
    if found.get("duty_error") and late:
        agent.remember(late.pop())
        told.append(f"turn {FORGOTTEN} is remembered now")
    if number == FORGOTTEN:
        late.append(said)
        told.append("the agent forgets to remember this turn")
    else:
        more = {"l1_summary": L1[number]} if number in L1 else {}
        more |= {"duty": "vote_nothing", "duty_reason": "nobody clamped anything"} if number == RATED else {}
        told += _kept(agent.remember(said | more))
    for line in told:
        page.write(f"- {line}")


def _told(found: dict[str, Any]) -> Iterator[str]:
    """What the search told besides its step."""
    for hit in found["hits"]:
        yield f"found: {hit['response']} (ref: {hit['event_id']})"
    if found.get("duty_error"):
        yield f"`duty_error`: {found['duty_error']}"
    for reminder in found.get("reminders", []):
        yield f"reminder: {reminder}"
    for cube in found["shared_cubes"]:
        yield f"cube {cube['cube_id']} ({cube['topic']}): {cube['note']}"


def _kept(kept: dict[str, Any]) -> Iterator[str]:
    """What remembering told, when more than a turn was kept."""
    for receipt in kept["receipts"]:
        if receipt["part"] != "turn":
            yield f"kept: `{receipt['part']}` {receipt['outcome']}{'. ' + receipt['detail'] if receipt.get('detail') else ''}"
    if isinstance(kept["cube"], dict):
        yield f"cube {kept['cube']['cube_id']} is {kept['cube']['visibility']}"
    if kept["l1_due"]:
        yield "an L1 is due"


def votes(voters: list[Agent], page: Transcript) -> None:
    """Three other accounts find the two cubes and say what they are worth."""
    page.write("\n## Three other accounts vote\n")
    for place, voter in enumerate(voters, 1):
        found = voter.search("carbon seat post torque; squeaking disc brakes", session_id="voting")
        for cube in found["shared_cubes"]:
            good = cube["topic"] == GOOD
            reason = "it saved a seat post" if good else "oil on a disc takes the brake away"
            voted = voter.vote(cube["cube_id"], 1 if good else -1, reason)
            page.write(f"- account {place} is shown {cube['cube_id']} ({cube['topic']}) as new, votes: `{voted['cube_status']}`")
    found = voters[0].search("carbon seat post torque; squeaking disc brakes", session_id="voting")
    served = ", ".join(f"{cube['cube_id']} ({cube['topic']})" for cube in found["shared_cubes"])
    page.write(f"\nServed from now on: {served}. The retired cube is shown to nobody.")


def main() -> None:
    """Run the day and print its transcript."""
    url, page = sys.argv[1].rstrip("/"), Transcript()
    agent = Agent(url, os.environ["KEY"], "ada")
    voters = [Agent(url, key, "me") for key in os.environ["VOTERS"].split()]
    page.write("# Forty turns\n")
    page.write("A transcript of `examples/forty_turns.py`, made again by every test run: one agent plans the opening of a shop.")
    page.write("Under each turn stands what the service told the agent, which the user does not see.\n\n## The session")
    late: list[dict[str, Any]] = []
    for number in range(1, len(TURNS) + 1):
        turn(agent, number, page, late)
    made = agent.post("/api/v7/memory/map", {"user_id": agent.user_id})
    page.write(f"\n## The map\n\nMade of {made['l1_count']} L1s, version {made['version']}:\n\n```text\n{made['map_text']}\n```")
    votes(voters, page)


if __name__ == "__main__":
    main()
