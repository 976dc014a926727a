"""Hidden service lines: read out of an agent's reply, and written at the end of one.
`docs/reference/service-lines.md` shows the grammar.

Only the run of service lines at the end of a reply acts (its tail). Above it, only lines of so
strict a shape that they can hardly be content act, with a warning; whatever is quoted, fenced or
indented as code is content. Nothing is guessed: what is wrong is a code. Every step looks at each
line once, so that the time grows with the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .line import (
    MEMORY,
    CubeText,
    Rate,
    ServiceLine,
    read_cube,
    read_line,
    read_rate,
    says_none,
    write_cube,
)
from .seal import Seal
from .seal import render as render_seal

__all__ = [
    "FAULTS",
    "SECTIONS",
    "WARNINGS",
    "CubeText",
    "LineFault",
    "Lines",
    "Rate",
    "Unwritable",
    "parse",
    "write",
]

SECTIONS = ("DRAFT", "SECOND LOOK", "FINAL")  # specification, Full protocol

FAULTS = {  # code -> what the agent is to do about it
    "seal_missing": "End the reply with the seal, on a line of its own.",
    "seal_not_last": "The seal is the last line: write nothing behind it.",
    "seal_name": "The seal bears another service's name.",
    "seal_step": "The seal bears another step than the search of this turn gave.",
    "cube_fields": "A CUBE line has four fields: kind | topic | essence | rule.",
    "cube_kind": "The kind of a cube is one of moment, fact, culture, lifehack, warning, code.",
    "cube_many": "A reply has one CUBE line at most; the first counts.",
    "cube_nothing_reason": "CUBE_NOTHING needs a reason.",
    "rate_syntax": "A rating is `RATE: <cube_id> +1|-1|0 <reason>`.",
    "rate_reason": "A rating of -1 needs a reason.",
    "rate_unknown": "Only cubes that this turn's search showed can be rated.",
    "rate_conflict": "A cube is rated once a reply; the first rating counts.",
    "sections_order": "The sections are DRAFT, SECOND LOOK and FINAL, once each and in this order.",
    "answer_empty": "There is no answer for the user.",
}
WARNINGS = {
    "misplaced": "A service line stands above the end of the reply. It was taken; write service lines last.",
    "ignored": "A line that looks like a service line stands above the end of the reply. It was taken for content.",
    "unclosed_fence": "A code fence is not closed.",
    "fenced_tail": "The service lines stand in a code fence. It was taken off.",
    "publish_without_cube": "PUBLISH without a CUBE does nothing.",
    "cube_and_nothing": "CUBE and CUBE_NOTHING contradict each other; the cube counts.",
    "repeated": "A service line came twice: facts and summaries were joined, of reasons the first counts.",
}

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)")
_HEADING = re.compile(
    r" {0,3}(?:#{1,6}[ \t]{0,4})?(?:\*\*|__)?(?P<name>DRAFT|SECOND LOOK|FINAL)(?:\*\*|__)?[ \t]{0,4}[:\uff1a]?(?:\*\*|__)?[ \t]{0,4}"
)
_GOES_ON = re.compile(r" {2,}\S|- \S")  # the next line of an L1 or L2
_BREAKS = re.compile(r"\r\n?")


class LineFault(NamedTuple):
    """Something wrong (a code of FAULTS or WARNINGS) and where: the line from 1, 0 for the reply as
    a whole.

    `about` is the cube_id or the word of the line that it is about, else empty.
    """

    code: str
    line: int = 0
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A reply taken apart. What a line said `none` of is None."""

    answer: str  # what the user sees
    critical: str | None = None
    cube: CubeText | None = None
    cube_nothing: str | None = None
    rates: tuple[Rate, ...] = ()
    l1: str | None = None
    l2: str | None = None
    task_done: bool = False
    publish: bool = False
    memory_used: bool = True
    seal_step: int | None = None  # of a seal with this service's name, right or stale
    sections: Mapping[str, str] = field(
        default_factory=dict
    )  # of the full protocol, when the reply has them
    faults: tuple[LineFault, ...] = field(default=(), compare=False)

    @property
    def errors(self) -> list[str]:
        """Codes of what is wrong, in the order they were found."""
        return [fault.code for fault in self.faults if fault.code in FAULTS]

    @property
    def warnings(self) -> list[str]:
        """Codes of what is odd, but was understood."""
        return [fault.code for fault in self.faults if fault.code in WARNINGS]


class Unwritable(ValueError):
    """These parts cannot be written as service lines that are read back the same; the message names
    the part.
    """


def parse(
    text: str, *, step: int | None, cubes_shown: Collection[str] | None = None, name: str = "REM"
) -> Lines:
    """Take a reply apart. Never raises, whatever the text.

    `step` is that of this turn's search (None: any will do), `cubes_shown` the ids that may be
    rated (None: all), `name` the service's.
    """
    lines = _BREAKS.sub("\n", text).split("\n")
    return _Taking(_Reply(lines), step, cubes_shown, name).parts()


def write(parts: Lines, *, name: str = "REM") -> str:
    """A reply that `parse` takes apart into the same parts; its seal bears `seal_step`, and is left
    out when that is None.

    Raises Unwritable, for instance for a line break in a fact, or an answer that ends like a
    service line.
    """
    told = "\n".join(_written(parts, name))
    written = "\n\n".join(text for text in (parts.answer, told) if text)
    same = parse(written, step=None, name=name)
    for part in (
        "answer",
        "critical",
        "cube",
        "cube_nothing",
        "rates",
        "l1",
        "l2",
        "task_done",
        "publish",
        "memory_used",
        "seal_step",
    ):
        if getattr(same, part) != getattr(parts, part):
            raise Unwritable(f"`{part}` cannot be written so that it is read back the same")
    return written


def _written(parts: Lines, name: str) -> Iterator[str]:
    texts = {
        "L1": parts.l1,
        "L2": parts.l2,
        "CRITICAL": parts.critical,
        "CUBE_NOTHING": parts.cube_nothing,
    }
    texts["CUBE"] = None if parts.cube is None else write_cube(parts.cube)
    yield from (f"{word}: {text}" for word, text in texts.items() if text is not None)
    yield from (
        f"RATE: {rate.cube_id} {rate.vote:+d} {rate.reason}".rstrip() for rate in parts.rates
    )
    alone = {
        "TASK_DONE": parts.task_done,
        "PUBLISH": parts.publish,
        "memory: not used": not parts.memory_used,
    }
    yield from (line for line, said in alone.items() if said)
    if parts.seal_step is not None:
        yield render_seal(parts.seal_step, name)


def _is_blank(line: str) -> bool:
    return not line.strip()


_OPENS, _INSIDE, _CLOSES = 1, 2, 3  # what a line is to a code fence; 0 = outside of one


def _code(lines: list[str]) -> tuple[bytearray, int | None]:
    """Each line's place in a code fence (CommonMark's rules), and the line of a fence that is never
    closed.
    """
    code, fence, opened = bytearray(len(lines)), "", 0
    for i, line in enumerate(lines):
        match = _FENCE.fullmatch(line) if "```" in line or "~~~" in line else None
        if not fence:
            if match and not (match["fence"][0] == "`" and "`" in match["info"]):
                fence, opened, code[i] = match["fence"], i, _OPENS
        elif match and match["fence"].startswith(fence) and _is_blank(match["info"]):
            fence, code[i] = "", _CLOSES
        else:
            code[i] = _INSIDE
    return code, opened if fence else None


class _Reply:
    """A reply's lines:

    which of them are code, which have the look of service lines, where the tail begins.
    """

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.faults: list[LineFault] = []
        self.start = 0  # where the part of the reply begins that the user is to see
        self.code, unclosed = _code(lines)
        if unclosed is not None:
            self.note("unclosed_fence", unclosed)
            self._free_tail(unclosed)
        self.sections = self._cut_sections()
        self.read = [
            None if i < self.start or self.code[i] else read_line(line)
            for i, line in enumerate(lines)
        ]
        self.taken = bytearray(len(lines))  # lines that the user does not see
        self._unwrap_tail()
        self.goes_on = self._continuations()
        self.tail = self._tail_start()

    def note(self, code: str, line: int | None = None, about: str = "") -> None:
        """Keep a fault; `line` is an index."""
        self.faults.append(LineFault(code, 0 if line is None else line + 1, about))

    def whole(self, i: int) -> str:
        """What a service line says, with the lines that go on with it."""
        line, end = self.read[i], i + 1
        while end < len(self.lines) and self.goes_on[end]:
            end += 1
        return " ".join(
            [line.value if line else "", *(text.strip() for text in self.lines[i + 1 : end])]
        ).strip()

    def answer(self) -> str:
        """What is left for the user:

        no blank lines around it, and no more of them where a service line was than there were.
        """
        kept: list[str] = []
        gap = False  # whether a service line was just left out
        for i in range(self.start, len(self.lines)):
            if self.taken[i]:
                gap = True
            elif not (gap and _is_blank(self.lines[i]) and (not kept or _is_blank(kept[-1]))):
                kept.append(self.lines[i])
                gap = False
        first = next((n for n, line in enumerate(kept) if not _is_blank(line)), len(kept))
        return "\n".join(kept[first:]).rstrip()

    def _free_tail(self, fence: int) -> None:
        """A fence that nobody closed does not swallow the service lines at the end."""
        end = len(self.lines)
        while end > fence + 1 and (
            _is_blank(self.lines[end - 1]) or read_line(self.lines[end - 1])
        ):
            end -= 1
        self.code[end:] = bytes(len(self.lines) - end)

    def _cut_sections(self) -> dict[str, str]:
        """The sections by name, none when there are none.

        What stands above the last of them is not looked at any more.
        """
        found = [
            (i, match["name"])
            for i, line in enumerate(self.lines)
            if line and not self.code[i] and (match := _HEADING.fullmatch(line))
        ]
        # one heading alone, or one in the middle of a text, is content
        if len(found) < 2 or not all(
            _is_blank(line) or read_line(line) for line in self.lines[: found[0][0]]
        ):
            return {}
        if [name for _, name in found] != list(SECTIONS):
            self.note("sections_order")
        self.start = found[-1][0] + 1
        ends = [*(i for i, _ in found[1:]), len(self.lines)]
        return {
            name: "\n".join(self.lines[i + 1 : end]).strip()
            for (i, name), end in zip(found, ends, strict=True)
        }

    def _unwrap_tail(self) -> None:
        """A fence at the very end that holds nothing but service lines is taken off."""
        last = len(self.lines) - 1
        while last > self.start and _is_blank(self.lines[last]):
            last -= 1
        if last <= self.start or self.code[last] != _CLOSES:
            return
        first = last - 1
        while self.code[first] != _OPENS:
            first -= 1
        inside = {
            i: read_line(self.lines[i])
            for i in range(first + 1, last)
            if not _is_blank(self.lines[i])
        }
        if inside and all(inside.values()):
            self.note("fenced_tail", first)
            self.taken[first] = self.taken[last] = 1
            for i, line in inside.items():
                self.read[i] = line

    def _continuations(self) -> bytearray:
        """Lines that go on with the L1 or L2 above them."""
        goes_on = bytearray(len(self.lines))
        for i in range(self.start + 1, len(self.lines)):
            above = self.read[i - 1]
            if (
                self.read[i] is None
                and not self.code[i]
                and (goes_on[i - 1] or (above and above.word in ("L1", "L2")))
            ):
                goes_on[i] = _GOES_ON.match(self.lines[i]) is not None
        return goes_on

    def _tail_start(self) -> int:
        i = len(self.lines)
        while i > self.start and (
            self.read[i - 1]
            or self.goes_on[i - 1]
            or self.taken[i - 1]
            or _is_blank(self.lines[i - 1])
        ):
            i -= 1
        return i


class _Taking:
    """Takes the service lines of a reply, in their order."""

    def __init__(
        self, reply: _Reply, step: int | None, cubes_shown: Collection[str] | None, name: str
    ) -> None:
        self.reply, self.step, self.name = reply, step, name
        self.cubes_shown = None if cubes_shown is None else frozenset(cubes_shown)
        self.texts: dict[str, list[str]] = {"L1": [], "L2": [], "CRITICAL": [], "CUBE_NOTHING": []}
        self.cube: CubeText | None = None
        self.rates: dict[str, Rate] = {}
        self.said: set[str] = set()  # words of lines that only stand there or not
        self.seal: Seal | None = None
        self.seal_line = 0

    def parts(self) -> Lines:
        """Everything that the reply says."""
        reply = self.reply
        for i in range(reply.start, len(reply.lines)):
            if reply.goes_on[i] and i >= reply.tail:
                reply.taken[i] = 1
            elif line := reply.read[i]:
                self._consider(i, line)
        answer = (
            "" if reply.sections and "FINAL" not in list(reply.sections)[-1:] else reply.answer()
        )
        self._judge(answer)
        nothing = [*self.texts["CUBE_NOTHING"], None][0]
        return Lines(
            answer=answer,
            critical="; ".join(self.texts["CRITICAL"]) or None,
            cube=self.cube,
            cube_nothing=None if self.cube else nothing,
            rates=tuple(self.rates.values()),
            l1=" ".join(self.texts["L1"]) or None,
            l2=" ".join(self.texts["L2"]) or None,
            task_done="TASK_DONE" in self.said,
            publish="PUBLISH" in self.said and self.cube is not None,
            memory_used=MEMORY not in self.said,
            seal_step=self.seal.step if self.seal and self.seal.name == self.name else None,
            sections=reply.sections,
            faults=tuple(reply.faults),
        )

    def _consider(self, i: int, line: ServiceLine) -> None:
        note = self.reply.note
        if i < self.reply.tail:
            if not self._is_strict(line):
                note("ignored", i, line.word)
                return
            note("misplaced", i, line.word)
        self.reply.taken[i] = 1
        if line.seal:
            self.seal, self.seal_line = line.seal, i
        elif line.word in self.texts:
            self._take_text(i, line.word)
        elif line.word == "CUBE":
            self._take_cube(i, line.value)
        elif line.word == "RATE":
            self._take_rate(i, line.value)
        else:
            self.said.add(line.word)

    def _is_strict(self, line: ServiceLine) -> bool:
        """Whether a line above the tail is so plainly meant for the service that it acts all the
        same.
        """
        if line.seal:
            return line.seal == (self.name, self.step)
        if line.word == "CUBE":
            return isinstance(read_cube(line.value), CubeText)
        if line.word == "RATE":
            return isinstance(read_rate(line.value), Rate)
        return line.word in ("TASK_DONE", "PUBLISH") or (
            line.word == "CUBE_NOTHING" and bool(line.value)
        )

    def _take_text(self, i: int, word: str) -> None:
        text, before = self.reply.whole(i), self.texts[word]
        if word == "CUBE_NOTHING":
            if not text:
                self.reply.note("cube_nothing_reason", i)
                return
        elif says_none(text):
            return
        if before:
            self.reply.note("repeated", i, word)
        before.append(text)

    def _take_cube(self, i: int, value: str) -> None:
        cube = read_cube(value)
        if isinstance(cube, str):
            self.reply.note(cube, i)
        elif self.cube:
            self.reply.note("cube_many", i)
        else:
            self.cube = cube

    def _take_rate(self, i: int, value: str) -> None:
        rate = read_rate(value)
        if isinstance(rate, str):
            self.reply.note(rate, i, value.split(None, 1)[0][:64] if rate == "rate_reason" else "")
        elif self.cubes_shown is not None and rate.cube_id not in self.cubes_shown:
            self.reply.note("rate_unknown", i, rate.cube_id)
        elif self.rates.setdefault(rate.cube_id, rate).vote != rate.vote:
            self.reply.note("rate_conflict", i, rate.cube_id)

    def _judge(self, answer: str) -> None:
        """What is wrong with the reply as a whole."""
        note = self.reply.note
        if self.cube and self.texts["CUBE_NOTHING"]:
            note("cube_and_nothing")
        if "PUBLISH" in self.said and not self.cube:
            note("publish_without_cube")
        if self.seal is None:
            note("seal_missing")
        else:
            if any(
                not self.reply.taken[i] and not _is_blank(line)
                for i, line in _after(self.reply.lines, self.seal_line)
            ):
                note("seal_not_last", self.seal_line)
            if self.seal.name != self.name:
                note("seal_name", self.seal_line)
            elif self.step is not None and self.seal.step != self.step:
                note("seal_step", self.seal_line)
        if not answer:
            note("answer_empty")


def _after(lines: list[str], i: int) -> Iterator[tuple[int, str]]:
    return ((n, lines[n]) for n in range(i + 1, len(lines)))
