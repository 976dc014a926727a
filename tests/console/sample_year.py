"""A year of made-up turns for screenshots and for tests of pages with much data."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from remembrancer.accounts import caller_for
from remembrancer.context import Context
from remembrancer.memory.exchange.importer import read, store

TURNS = 1_400
# topic: sessions, subjects, pairs of a message and a reply
_SUBJECTS: dict[str, tuple[tuple[str, ...], tuple[tuple[str, str], ...]]] = {
    "garden": (
        ("Mrs Adeyemi", "plot 17", "Tomás"),
        (
            (
                "What did {who} say about the beds near the canal?",
                "{who} said that they flood in wet winters. **Raised beds** of {n} cm help:\n\n- soil",
            ),
            ("When do I sow the beans with {who}?", "In week {n}, once the frost is over."),
            ("How much was the soil?", "{n} pounds, delivered to the gate. {who} paid half."),
        ),
    ),
    "travel": (
        ("Piombino", "Elba", "Giulia"),
        (
            (
                "When does the ferry from {who} leave?",
                "At 9:{n:02} from pier 3. Be there 45 minutes before, the car is 4.62 m long.",
            ),
            ("Which room did {who} book?", "The one with the terrace, for {n} nights."),
            (
                "What do I still have to pack for {who}?",
                "| thing | where |\n|---|---|\n| tickets | folder |\n\nAnd {n} bottles of water.",
            ),
        ),
    ),
    "Kestrel": (
        ("Kestrel", "Priya", "ACME-142"),
        (
            (
                "Why did the build of {who} fail?",
                "The migration ran twice. Use:\n\n```sh\nmake migrate VERSION={n}\n```",
            ),
            ("Who reviews {who} this week?", "Priya, until Thursday; then Tomás for {n} days."),
            ("What is the deadline of {who}?", "{n} November. Priya moved it after ACME-142."),
        ),
    ),
    "health": (
        ("Dr Okafor", "physio"),
        (
            ("What did {who} say about the knee?", "Rest for {n} days, then cycle; no running."),
            ("When is the next appointment with {who}?", "On the {n}th at 8:30, bring the scan."),
        ),
    ),
    "cooking": (
        ("Giulia", "sourdough"),
        (
            ("How long does the {who} bread prove?", "{n} hours in the fridge, 2 at room warmth."),
            ("What did {who} bring to dinner?", "A tart with {n} figs. The recipe is in the book."),
        ),
    ),
}


def lines(turns: int, end: datetime) -> Iterator[dict[str, Any]]:
    """Yield turns of about 90 sessions of three users over the year before `end`, in order."""
    chance = random.Random(17)  # the same pictures every time
    topics = list(_SUBJECTS)
    count = 0
    while count < turns:
        day = end - timedelta(days=360 * (1 - count / turns) + chance.random())
        topic = chance.choice(topics)
        people, texts = _SUBJECTS[topic]
        session_id = f"{topic.lower()}-{day:%Y-%m-%d}-{count}"
        user_id = chance.choice(("owner", "owner", "owner", "giulia", "priya"))
        for place in range(min(chance.randint(6, 26), turns - count)):
            message, reply = chance.choice(texts)
            values = {"who": chance.choice(people), "n": chance.randint(2, 28)}
            moment = day + timedelta(minutes=2 * place)
            count += 1
            yield {
                "id": f"sample/{count}",
                "user_id": user_id,
                "session_id": session_id,
                "topic": topic,
                "query": message.format(**values),
                "response": reply.format(**values),
                "occurred_at": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
            }


def import_year(context: Context, folder: Path, *, turns: int = TURNS) -> None:
    """Import a year of turns for users of the owner's account."""
    end = datetime.fromtimestamp(context.clock() / 1000, UTC) - timedelta(days=1)
    path = folder / "year.jsonl"
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines(turns, end)))
    caller = caller_for(context)
    store(context, caller, read(caller, path))
