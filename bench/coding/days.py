"""Read the days of a project (a `.days` file) as a sample in the shape of LoCoMo.

The lines of a file:

    name, part, modules: TEXT     head; modules are words for the tool output
    = 2026-01-05 09:12            a session and when it began
    U text, A text                a message of the user, an answer; other lines continue it
    P Name: text                  a message of one person to another
    ! tool argument | argument    a call of a tool and its result (tool_output.py)
    ? kind | question | answer | keys     keys name the turns that answer it

A turn gets its key behind its sign: `U#port`, `A#port`, `!#port` (then it is the result's).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.coding.tool_output import tool_turns

PROJECTS = ("shop", "pipeline", "app", "cluster")
KINDS = (
    "single fact", "error", "decision", "identifier", "what changed", "across sessions", "order",
    "preference",
)  # fmt: skip
_HERE = Path(__file__).parent
_SIGN = re.compile(r"([UAP!])(?:#(\w+))? (.*)")
_SPEAKERS = {"U": "user", "A": "assistant"}


@dataclass(slots=True)
class _Days:
    """A file while it is read."""

    head: dict[str, str] = field(default_factory=dict)
    sessions: list[tuple[str, list[dict[str, str]]]] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)  # key -> dia_id
    questions: list[dict[str, Any]] = field(default_factory=list)

    def say(self, speaker: str, text: str, key: str | None) -> None:
        if not self.sessions:
            raise ValueError(f"a turn before the first session: {text!r}")
        turns = self.sessions[-1][1]
        dia_id = f"D{len(self.sessions)}:{len(turns) + 1}"
        turns.append({"speaker": speaker, "dia_id": dia_id, "text": text})
        if key:
            if key in self.keys:
                raise ValueError(f"two turns have the key {key!r}")
            self.keys[key] = dia_id


def projects() -> list[dict[str, Any]]:
    """Return the four projects as samples; `part` is `development` or `held-out`."""
    return [sample((_HERE / f"{name}.days").read_text("utf-8")) for name in PROJECTS]


def sample(text: str) -> dict[str, Any]:
    """Return the text of a file as a sample. Raises ValueError for a line it cannot read."""
    days = _Days()
    for line in text.splitlines():
        _add(days, line)
    conversation: dict[str, Any] = {}
    for number, (date, turns) in enumerate(days.sessions, 1):
        at = datetime.strptime(date, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
        conversation[f"session_{number}"] = turns
        conversation[f"session_{number}_date_time"] = at.strftime("%I:%M %p on %d %B, %Y")
    for question in days.questions:
        missing = [key for key in question["evidence"] if key not in days.keys]
        if missing:
            raise ValueError(f"no turn has the key {missing[0]!r}: {question['question']!r}")
        question["evidence"] = [days.keys[key] for key in question["evidence"]]
    return {
        "sample_id": days.head["name"],
        "part": days.head["part"],
        "conversation": conversation,
        "qa": days.questions,
    }


def _add(days: _Days, line: str) -> None:
    if not days.sessions and (match := re.fullmatch(r"(name|part|modules): (.*)", line)):
        days.head[match[1]] = match[2]
    elif line.startswith("= "):
        days.sessions.append((line[2:], []))
    elif line.startswith("? "):
        days.questions.append(_question(line[2:]))
    elif match := _SIGN.fullmatch(line):
        sign, key, text = match.groups()
        if sign == "!":
            tool, _, argument = text.partition(" ")
            call, result = tool_turns(tool, argument, days.head["modules"].split(), text)
            days.say("assistant", call, None)
            days.say("tool", result, key)
        elif sign == "P":
            speaker, _, message = text.partition(": ")
            days.say(speaker, message, key)
        else:
            days.say(_SPEAKERS[sign], text, key)
    elif days.sessions and days.sessions[-1][1]:
        days.sessions[-1][1][-1]["text"] += f"\n{line}"
    else:
        raise ValueError(f"a line outside a turn: {line!r}")


def _question(line: str) -> dict[str, Any]:
    kind, text, answer, keys = line.split(" | ")
    if kind not in KINDS:
        raise ValueError(f"unknown kind {kind!r}; known are {', '.join(KINDS)}")
    return {
        "question": text,
        "answer": answer,
        "evidence": keys.split(),
        "category": KINDS.index(kind) + 1,
        "kind": kind,
    }
