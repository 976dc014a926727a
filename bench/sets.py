"""Read the sets of questions about conversations: LoCoMo, BEAM, RealMem, tc-event-hard.

All have LoCoMo's JSON format (bench/locomo.py). The project does not contain the data. An event is
two consecutive turns of a session, as the service stores a query and its response.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.locomo import Conversation, Question, conversation_of

FILES = {
    "LoCoMo": "locomo-dev.json",
    "BEAM-500K": "beam-dev.json",
    "RealMem": "realmem-dev.json",
    "tc-event-hard": "tc-event-hard-dev.json",
}


def read_sets(folder: Path) -> dict[str, list[Conversation]]:
    """Return the conversations of every set whose file is in a folder, by name of the set."""
    return {
        name: read_set(folder / file) for name, file in FILES.items() if (folder / file).exists()
    }


def read_set(path: Path) -> list[Conversation]:
    """Return the conversations of a file in LoCoMo's format, two turns per event."""
    return in_pairs(json.loads(path.read_text("utf-8")))


def in_pairs(samples: list[dict[str, Any]]) -> list[Conversation]:
    """Return conversations in LoCoMo's format with two turns per event."""
    return [conversation_of(sample).paired() for sample in samples]


def searchable(conversation: Conversation, question: Question) -> int:
    """Return the number of events that may be searched: all, or those before `before`."""
    if not question.before:
        return len(conversation.events)
    for number, event in enumerate(conversation.events):
        if question.before in event.turns:
            return number
    raise ValueError(f"{conversation.name}: no turn {question.before}, which limits a question")
