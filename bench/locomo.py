"""Read LoCoMo conversations as events with questions. The project does not contain the data.

Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents", ACL 2024; CC BY-NC
4.0. Get `locomo10.json` from the authors' repository (snap-research/locomo) and pass its path with
`--data` or REMEMBRANCER_BENCH_DATA.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROLES = ("user", "assistant")
_ID = re.compile(r"D:?\s*(\d+)\s*:\s*0*(\d+)")


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `turns` are the ids of its turns."""

    session: int
    query: str
    response: str
    occurred_ms: int
    turns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the ids of the turns that answer it."""

    text: str
    evidence: frozenset[str]
    category: int
    answer: str = ""  # the gold answer, if any
    kind: str = ""  # the set's own name of its kind, if any
    before: str = ""  # only turns before this id may be searched; empty = all


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation, one event per turn."""

    name: str
    events: tuple[Event, ...]
    questions: tuple[Question, ...]

    def paired(self) -> Conversation:
        """Return the conversation with two consecutive turns of a session per event."""
        events: list[Event] = []
        for event in self.events:
            last = events[-1] if events else None
            if last and last.session == event.session and len(last.turns) == 1:
                events[-1] = Event(
                    last.session,
                    last.query,
                    event.query,
                    last.occurred_ms,
                    last.turns + event.turns,
                )
            else:
                events.append(event)
        return Conversation(self.name, tuple(events), self.questions)


def conversations(path: Path) -> list[Conversation]:
    """Read the file. A turn's text is `Speaker: what was said [image: caption]`."""
    return [conversation_of(sample) for sample in json.loads(path.read_text("utf-8"))]


def conversation_of(sample: dict[str, Any]) -> Conversation:
    """Read one conversation in LoCoMo's format. Questions without evidence in it are dropped."""
    sessions, events = sample["conversation"], []
    for key in sorted(
        (key for key in sessions if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:])
    ):
        when = datetime.strptime(sessions[f"{key}_date_time"], "%I:%M %p on %d %B, %Y").replace(
            tzinfo=UTC
        )
        for place, turn in enumerate(sessions[key]):
            caption = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            # A turn of a chat with an assistant is stored without the name of its role.
            speaker = "" if turn["speaker"].lower() in ROLES else f"{turn['speaker']}: "
            text = f"{speaker}{turn['text']}{caption}"
            events.append(
                Event(
                    int(key[8:]),
                    text,
                    "",
                    int(when.timestamp() * 1000) + place,
                    (turn_id(turn["dia_id"]),),
                )
            )
    existing = {turn for event in events for turn in event.turns}
    questions = [
        Question(
            str(qa["question"]),
            turn_ids(qa.get("evidence") or []) & existing,
            qa["category"],
            str(qa.get("answer", "")),
            kind=qa.get("kind") or "",
            before=turn_id(qa["before"]) if qa.get("before") else "",
        )
        for qa in sample["qa"]
    ]
    return Conversation(
        sample["sample_id"],
        tuple(events),
        tuple(question for question in questions if question.evidence),
    )


def turn_ids(raw: list[Any]) -> frozenset[str]:
    return frozenset(f"D{int(a)}:{int(b)}" for text in raw for a, b in _ID.findall(str(text)))


def turn_id(raw: str) -> str:
    """Return the id of a turn without spaces and leading zeros: `D1:1`."""
    return next(iter(turn_ids([raw])))
