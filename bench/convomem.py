"""Measure ConvoMem: conversations and messages found among those of each question.

    python -m bench.convomem FILE [--most 100]

Pakhomov et al., "ConvoMem Benchmark", 2025 (Salesforce/ConvoMem). FILE has the set's
`evidence_items`; the project does not contain it. An event is two messages that follow each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.locomo import Conversation, Event, Question
from bench.sessions import pairs, run

START = datetime(2025, 1, 1, tzinfo=UTC)  # the set has no dates: a conversation a day


def haystacks(path: Path) -> Iterator[Conversation]:
    """Yield the questions of a file with their memories; those without evidence are left out."""
    content = json.loads(path.read_text("utf-8"))
    for number, item in enumerate(content["evidence_items"]):
        one = _haystack(number, item, path.stem)
        if one.questions[0].evidence:
            yield one


def _haystack(number: int, item: dict[str, Any], kind: str) -> Conversation:
    wanted = {message["text"].strip() for message in item["message_evidences"]}
    events: list[Event] = []
    evidence: set[str] = set()
    for session, conversation in enumerate(item["conversations"]):
        messages = conversation["messages"]
        ids = [f"{session}:{place}" for place in range(len(messages))]
        at = int((START + timedelta(days=session)).timestamp() * 1000)
        evidence |= {
            one
            for one, message in zip(ids, messages, strict=True)
            if message["text"].strip() in wanted
        }
        events += pairs(session, [message["text"] for message in messages], ids, at)
    question = Question(item["question"], frozenset(evidence), 0, kind=item.get("category", kind))
    return Conversation(f"{kind} {number}", tuple(events), (question,))


if __name__ == "__main__":
    run("convomem", "ConvoMem: conversations and messages found", __doc__, haystacks)
