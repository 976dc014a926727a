"""Read the memories of eight facts (one TOML file per language) with their questions."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from bench.locomo import Conversation, Event, Question

LANGUAGES = ("en", "de", "es", "fr", "zh", "ja")
# The languages of parallel.toml, in which the same facts are told.
NINE = ("en", "de", "es", "ru", "zh", "ja", "ar", "hi", "ko")
DAY_MS = 86_400_000
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Memory:
    """Eight turns of one person with an assistant, and twelve questions about them."""

    name: str
    language: str
    is_held_out: bool
    facts: tuple[tuple[str, str], ...]  # the user's message, the assistant's answer
    questions: tuple[tuple[int, str], ...]  # place of the turn that answers it from 0, question
    also: frozenset[tuple[str, int]]  # other memories' questions (name, place) that it answers too


def memories(language: str | None = None) -> list[Memory]:
    """Return the memories of a language, or all. Raises ValueError for a line of another form."""
    return [
        memory_of(code, one)
        for code in ([language] if language else LANGUAGES)
        for one in tomllib.loads((_HERE / f"{code}.toml").read_text("utf-8"))["memory"]
    ]


def memory_of(language: str, one: dict[str, str]) -> Memory:
    """Read a memory from its table in a file. Raises ValueError for a line of another form."""
    facts = []
    for line in one["facts"].strip().splitlines():
        message, separator, answer = line.partition(" >> ")
        if not separator:
            raise ValueError(f"{one['name']}: a fact needs ` >> ` before its answer: {line!r}")
        facts.append((message, answer))
    questions = []
    for line in one["questions"].strip().splitlines():
        number, _, text = line.partition(" ")
        if not number.isdigit() or not 1 <= int(number) <= len(facts):
            raise ValueError(f"{one['name']}: a question begins with a turn from 1: {line!r}")
        questions.append((int(number) - 1, text))
    also = frozenset(
        (name, int(place) - 1) for name, place in (pair.split() for pair in one["also"].split(","))
    )
    is_held_out = one["part"] == "held-out"
    return Memory(one["name"], language, is_held_out, tuple(facts), tuple(questions), also)


def parallel_facts(days: Conversation, language: str, asked_in: str) -> Conversation:
    """Return the facts of parallel.toml in one language after other days, and questions in another.

    Each fact has its own session, and the assistant always replies the same.
    """
    rows = {
        one["code"]: one
        for one in tomllib.loads((_HERE / "parallel.toml").read_text("utf-8"))["language"]
    }
    facts = [line.split(" | ")[0] for line in rows[language]["facts"].strip().splitlines()]
    questions = [line.split(" | ")[1] for line in rows[asked_in]["facts"].strip().splitlines()]
    session = max(event.session for event in days.events) + 1
    start = max(event.occurred_ms for event in days.events)
    told = tuple(
        Event(session + at, fact, rows[language]["reply"], start + (at + 1) * DAY_MS, (f"{at}",))
        for at, fact in enumerate(facts)
    )
    asked = tuple(Question(text, frozenset((f"{at}",)), 0) for at, text in enumerate(questions))
    return Conversation(f"facts {language} {asked_in}", days.events + told, asked)
