"""Read labelled messages of users, and compare what is recognised in them with the labels."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from remembrancer.memory.instructions import Instruction, instructions_in

TUNED = Path(__file__).with_name("tuned.toml")
HELD_OUT = Path(__file__).with_name("held_out.toml")  # never trained or tuned on
STRANGERS = Path(__file__).with_name("strangers.toml")  # the same, by somebody else
OVERLAP_MIN = 0.5  # common characters of two sentences, as a share of both together
_LABEL = re.compile(r"\{(?P<kind>[ipf]) (?P<sentence>[^{}]+)\}")
_CONDITION = re.compile(r"\[\[(.+?)\]\]")
LETTERS = {"n": "none", "i": "instruction", "p": "preference", "f": "fact"}


class Label(NamedTuple):
    """A sentence of a message that states something: where it is, its kind and condition."""

    start: int
    end: int
    kind: str
    condition: str | None


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a user with its labels; a look-alike has none."""

    language: str
    shape: str
    text: str
    labels: tuple[Label, ...]

    def kind_of(self, start: int, end: int) -> str:
        """Return the kind of the label of a sentence at this place, `none` without one."""
        labels = (one.kind for one in self.labels if _overlap(one, start, end) >= OVERLAP_MIN)
        return next(labels, "none")


class Counts(NamedTuple):
    """Labelled and recognised wishes, those that are both, and their kinds and conditions."""

    messages: int
    labels: int
    recognised: int
    correct: int
    right_kind: int
    right_condition: int

    @property
    def precision(self) -> float:
        """Share of the recognised wishes that are labelled."""
        return self.correct / self.recognised if self.recognised else 1.0

    @property
    def recall(self) -> float:
        """Share of the labelled wishes that are recognised."""
        return self.correct / self.labels if self.labels else 1.0


def messages(path: Path = TUNED) -> list[Message]:
    """Return the labelled messages of a file, in all languages."""
    return [
        _message(language, shape, line)
        for language, shapes in tomllib.loads(path.read_text("utf-8")).items()
        for shape, lines in shapes.items()
        for line in lines.strip().splitlines()
    ]


def _message(language: str, shape: str, line: str) -> Message:
    text, at, labels = "", 0, []
    line = line.replace("⏎", "\n")
    for match in _LABEL.finditer(line):
        text += line[at : match.start()]
        condition = _CONDITION.search(match["sentence"])
        sentence = _CONDITION.sub(r"\1", match["sentence"])
        start, text = len(text), text + sentence
        kind = LETTERS[match["kind"]]
        labels.append(Label(start, len(text), kind, condition[1] if condition else None))
        at = match.end()
    return Message(language, shape, text + line[at:], tuple(labels))


def counts(chosen: Iterable[Message], *, facts: bool = False) -> Counts:
    """Count the wishes that are recognised in some messages, or the facts to remember."""
    total = [0] * len(Counts._fields)
    for message in chosen:
        labels = [one for one in message.labels if (one.kind == "fact") == facts]
        recognised = [one for one in instructions_in(message.text) if (one.kind == "fact") == facts]
        pairs = _matches(labels, recognised)
        row = (
            1,
            len(labels),
            len(recognised),
            len(pairs),
            sum(label.kind == one.kind for label, one in pairs),
            sum(_same_condition(label.condition, one.condition) for label, one in pairs),
        )
        total = [a + b for a, b in zip(total, row, strict=True)]
    return Counts(*total)


def _matches(labels: list[Label], recognised: list[Instruction]) -> list[tuple[Label, Instruction]]:
    return [
        (label, one)
        for label in labels
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
