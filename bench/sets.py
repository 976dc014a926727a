"""Read the sets of questions about conversations: LoCoMo, BEAM, RealMem, tc-event-hard, PrefEval.

All have LoCoMo's JSON format (bench/locomo.py). The project does not contain the data. An event is
two consecutive turns of a session, as the service stores a query and its response.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.locomo import Conversation, Question, conversation_of, turn_ids

FILES = {
    "LoCoMo": "locomo-dev.json",
    "BEAM-500K": "beam-dev.json",
    "RealMem": "realmem-dev.json",
    "tc-event-hard": "tc-event-hard-dev.json",
    "PrefEval, stated": "prefeval-explicit-dev.json",
    "PrefEval, implied": "prefeval-implicit-dev.json",
}
CORRECTIONS = "locomo-dev-corrections.json"  # of wrong evidence in LoCoMo (dial481/locomo-audit)


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


def corrected(conversations: list[Conversation], path: Path) -> list[Conversation]:
    """Return conversations of LoCoMo with the evidence that a file corrects, if it exists."""
    if not path.exists():
        return conversations
    rows = {
        (row["sample_id"], row["question"]): turn_ids(row["correct"])
        for row in json.loads(path.read_text("utf-8"))
    }
    result = []
    for one in conversations:
        turns = {turn for event in one.events for turn in event.turns}
        right = [rows.get((one.name, each.text), frozenset()) & turns for each in one.questions]
        questions = tuple(
            replace(each, evidence=evidence or each.evidence)
            for each, evidence in zip(one.questions, right, strict=True)
        )
        result.append(replace(one, questions=questions))
    return result


def searchable(conversation: Conversation, question: Question) -> int:
    """Return the number of events that may be searched: all, or those before `before`."""
    if not question.before:
        return len(conversation.events)
    for number, event in enumerate(conversation.events):
        if question.before in event.turns:
            return number
    raise ValueError(f"{conversation.name}: no turn {question.before}, which limits a question")
