"""Compare the rules with the labelled messages of users."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from remembrancer.memory.instructions import Instruction, instructions_in

MESSAGES = Path(__file__).with_name("messages.toml")
UNSEEN = Path(__file__).with_name("unseen.toml")  # written after the rules
HELD_OUT_EVERY = 3
OVERLAP_MIN = 0.5  # common characters of two sentences, as a share of both together
_LABEL = re.compile(r"\{(?P<kind>[ip]) (?P<sentence>[^{}]+)\}")
_CONDITION = re.compile(r"\[\[(.+?)\]\]")
_KINDS = {"i": "instruction", "p": "preference"}


class Label(NamedTuple):
    """A sentence of a message that the rules should recognise: where it is, kind, condition."""

    start: int
    end: int
    kind: str
    condition: str | None


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a user with its labels; a look-alike has none."""

    language: str
    text: str
    labels: tuple[Label, ...]

    @property
    def is_held_out(self) -> bool:
        """True for the third of the messages on which nothing is tuned."""
        digest = hashlib.sha256(self.text.encode()).digest()
        return int.from_bytes(digest[:8]) % HELD_OUT_EVERY == 0


class Counts(NamedTuple):
    """Labelled and recognised sentences, those that are both, and their kinds and conditions."""

    messages: int
    labels: int
    recognised: int
    correct: int
    right_kind: int
    right_condition: int

    @property
    def precision(self) -> float:
        """Share of the recognised sentences that are labelled."""
        return self.correct / self.recognised if self.recognised else 1.0

    @property
    def recall(self) -> float:
        """Share of the labelled sentences that are recognised."""
        return self.correct / self.labels if self.labels else 1.0


def messages(path: Path = MESSAGES) -> list[Message]:
    """Return the labelled messages of a file, in all languages."""
    table = tomllib.loads(path.read_text("utf-8"))
    return [
        _message(language, line)
        for language, row in table.items()
        for line in row["messages"].strip().splitlines()
    ]


def _message(language: str, line: str) -> Message:
    text, at, labels = "", 0, []
    line = line.replace("⏎", "\n")
    for match in _LABEL.finditer(line):
        text += line[at : match.start()]
        condition = _CONDITION.search(match["sentence"])
        sentence = _CONDITION.sub(r"\1", match["sentence"])
        start, text = len(text), text + sentence
        labels.append(
            Label(start, len(text), _KINDS[match["kind"]], condition[1] if condition else None)
        )
        at = match.end()
    return Message(language, text + line[at:], tuple(labels))


def counts(chosen: Iterable[Message]) -> Counts:
    """Count what the rules recognise in some messages."""
    total = [0] * len(Counts._fields)
    for message in chosen:
        recognised = instructions_in(message.text)
        pairs = matches(message, recognised)
        row = (
            1,
            len(message.labels),
            len(recognised),
            len(pairs),
            sum(label.kind == one.kind for label, one in pairs),
            sum(_same_condition(label.condition, one.condition) for label, one in pairs),
        )
        total = [a + b for a, b in zip(total, row, strict=True)]
    return Counts(*total)


def matches(message: Message, recognised: list[Instruction]) -> list[tuple[Label, Instruction]]:
    """Return each label of a message with the recognised sentence at its place."""
    return [
        (label, one)
        for label in message.labels
        for one in recognised
        if _overlap(label, one.start, one.start + len(one.text)) >= OVERLAP_MIN
    ]


def _overlap(label: Label, start: int, end: int) -> float:
    common = min(label.end, end) - max(label.start, start)
    return max(0, common) / (max(label.end, end) - min(label.start, start))


def _same_condition(expected: str | None, actual: str | None) -> bool:
    """Return True if both are None, or if they share half of the characters."""
    if not expected or not actual:
        return expected is actual
    short, long = sorted((expected.lower(), actual.lower()), key=len)
    return short in long and len(short) >= OVERLAP_MIN * len(long)
