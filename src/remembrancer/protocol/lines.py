"""Hidden service lines: parse them from an agent's reply, and write them.

`docs/reference/service-lines.md` has the grammar. Only the service lines at the end of a reply act
(its tail). Above the tail, only strictly shaped lines act, with a warning; quotes, fences and
indented code are content. Errors are codes, never guesses. Each step reads a line once, so the time
is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
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

# Of the full protocol (specification.md#turn-full-protocol).
SECTIONS = ("DRAFT", "SECOND LOOK", "FINAL")

FAULTS = {  # code -> advice for the agent
    "seal_missing": "End the reply with the seal, on a line of its own.",
    "seal_not_last": "Write nothing after the seal: it is the last line.",
    "seal_name": "The seal has the name of another service.",
    "seal_step": "The seal has another step than the search of this turn returned.",
    "cube_fields": "A CUBE line needs four fields: kind | topic | essence | rule.",
    "cube_kind": "The kind of a cube must be moment, fact, culture, lifehack, warning or code.",
    "cube_many": "A reply may have one CUBE line; the first counts.",
    "cube_nothing_reason": "CUBE_NOTHING needs a reason.",
    "rate_syntax": "Write a rating as `RATE: <cube_id> +1|-1|0 <reason>`.",
    "rate_reason": "A rating of -1 needs a reason.",
    "rate_unknown": "Rate only cubes that this turn's search returned.",
    "rate_conflict": "Rate a cube once per reply; the first rating counts.",
    "sections_order": "Write the sections DRAFT, SECOND LOOK and FINAL once each, in this order.",
    "answer_empty": "The reply has no answer for the user.",
}
WARNINGS = {
    "misplaced": "A service line before the end of the reply was accepted. Write them last.",
    "ignored": "A line that looks like a service line, before the end, was read as content.",
    "unclosed_fence": "A code fence is not closed.",
    "fenced_tail": "The service lines are in a code fence. The fence was removed.",
    "publish_without_cube": "PUBLISH without a CUBE does nothing.",
    "cube_and_nothing": "CUBE and CUBE_NOTHING contradict each other; the cube counts.",
    "repeated": "A service line was repeated: facts and summaries were joined.",
}

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)")
_HEADING = re.compile(
    r" {0,3}(?:#{1,6}[ \t]{0,4})?(?:\*\*|__)?(?P<name>DRAFT|SECOND LOOK|FINAL)"
    r"(?:\*\*|__)?[ \t]{0,4}[:\uff1a]?(?:\*\*|__)?[ \t]{0,4}"
)
_GOES_ON = re.compile(r" {2,}\S|- \S")  # a continuation line of an L1 or L2
_BREAKS = re.compile(r"\r\n?")


class LineFault(NamedTuple):
    """An error or warning (a code of FAULTS or WARNINGS) and its line, from 1; 0 means the whole
    reply.

    `about` is the cube_id or the line's keyword, if any.
    """

    code: str
    line: int = 0
    about: str = ""


# At the end of a fact: the fact whose place it takes.
_REPLACES = re.compile(
    r"(?<![ \t])[ \t]*[|\uff5c][ \t]*replaces[ \t]+(?P<fact>f_[0-9a-z]{13})[.]?$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A parsed reply. The value of a line that said `none` is None."""

    answer: str  # text for the user
    critical: str | None = None
    critical_replaces: str | None = None  # id of the fact whose place it takes
    cube: CubeText | None = None
    cube_nothing: str | None = None
    rates: tuple[Rate, ...] = ()
    l1: str | None = None
    l2: str | None = None
    task_done: bool = False
    publish: bool = False
    memory_used: bool = True
    seal_step: int | None = None  # of a seal with this service's name, correct or stale
    sections: Mapping[str, str] = field(
        default_factory=dict
    )  # sections of the full protocol, if the reply has them
    faults: tuple[LineFault, ...] = field(default=(), compare=False)

    @property
    def errors(self) -> list[str]:
        """Codes of errors, in the order of the reply."""
        return [fault.code for fault in self.faults if fault.code in FAULTS]

    @property
    def warnings(self) -> list[str]:
        """Codes of warnings, in the order of the reply."""
        return [fault.code for fault in self.faults if fault.code in WARNINGS]


class Unwritable(ValueError):
    """These parts cannot be written as service lines that parse to the same values. The message
    names the part.
    """


def parse(
    text: str, *, step: int | None, cubes_shown: Collection[str] | None = None, name: str = "REM"
) -> Lines:
    """Parse a reply. Never raises.

    `step` is the step of this turn's search (None: any), `cubes_shown` the ids that may be rated
    (None: all), `name` the name of the service in seals.
    """
    lines = _BREAKS.sub("\n", text).split("\n")
    return _Reply(lines, step, cubes_shown, name).parts()


def write(parts: Lines, *, name: str = "REM") -> str:
    """Return a reply that `parse` reads as the same parts. Its seal has `seal_step`; None: no seal.

    Raises Unwritable, for example for a line break in a fact, or an answer that ends like a service
    line.
    """
    service_lines = "\n".join(_written(parts, name)) or _end_of(parts.answer, name)
    text = "\n\n".join(part for part in (parts.answer, service_lines) if part)
    same = parse(text, step=None, name=name)
    for part in (one.name for one in fields(Lines) if one.name not in ("sections", "faults")):
        if getattr(same, part) != getattr(parts, part):
            raise Unwritable(f"`{part}` cannot be written so that it parses to the same value")
    return text


def _end_of(answer: str, name: str) -> str:
    """Return a line without effect for an answer that ends with a fence of service lines.

    At the very end they would act.
    """
    return "" if parse(answer, step=None, name=name).answer == answer else "CRITICAL: none"


def _written(parts: Lines, name: str) -> Iterator[str]:
    texts = {
        "L1": parts.l1,
        "L2": parts.l2,
        "CRITICAL": " | replaces ".join(filter(None, (parts.critical, parts.critical_replaces)))
        or None,
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
    yield from (line for line, is_set in alone.items() if is_set)
    if parts.seal_step is not None:
        yield render_seal(parts.seal_step, name)


def _is_blank(line: str) -> bool:
    return not line.strip()


_OPENS, _INSIDE, _CLOSES = 1, 2, 3  # position of a line relative to a code fence; 0 = outside


def _code(lines: list[str]) -> tuple[bytearray, int | None]:
    """Return the position of each line in code fences (CommonMark), and the line of an unclosed
    fence.
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
    """The lines of a reply: which are code, which act, and what they say."""

    def __init__(
        self, lines: list[str], step: int | None, cubes_shown: Collection[str] | None, name: str
    ) -> None:
        self.lines, self.step, self.name = lines, step, name
        self.cubes_shown = None if cubes_shown is None else frozenset(cubes_shown)
        self.faults: list[LineFault] = []
        self.start = 0  # first line of the part for the user
        self.code, unclosed = _code(lines)
        if unclosed is not None:
            self.note("unclosed_fence", unclosed)
            self._free_tail(unclosed)
        self.sections = self._cut_sections()
        self.read = [
            None if i < self.start or self.code[i] else read_line(line)
            for i, line in enumerate(lines)
        ]
        self.removed = bytearray(len(lines))  # 1 for lines removed from the user's text
        self._unwrap_tail()
        self.goes_on = self._continuations()
        self.tail = self._tail_start()
        self.texts: dict[str, list[str]] = {"L1": [], "L2": [], "CRITICAL": [], "CUBE_NOTHING": []}
        self.replaces: str | None = None
        self.cube: CubeText | None = None
        self.rates: dict[str, Rate] = {}
        self.keywords: set[str] = set()  # keywords of lines without a value
        self.seal: Seal | None = None
        self.seal_line = 0

    def note(self, code: str, line: int | None = None, about: str = "") -> None:
        """Record a fault; `line` is an index."""
        self.faults.append(LineFault(code, 0 if line is None else line + 1, about))

    def whole(self, i: int) -> str:
        """Return the value of a service line with its continuation lines."""
        line, end = self.read[i], i + 1
        texts = [line.value if line else ""]
        while end < len(self.lines) and (self.goes_on[end] or self.is_strict(end)):
            if self.goes_on[end]:
                texts.append(self.lines[end].strip())
            end += 1
        return " ".join(texts).strip()

    def is_strict(self, i: int) -> bool:
        """Return True for a service line of the strict shape that acts above the tail, too."""
        line = self.read[i]
        if line is None:
            return False
        if line.seal:
            return line.seal == (self.name, self.step)
        if line.word == "CUBE":
            return isinstance(read_cube(line.value), CubeText)
        if line.word == "RATE":
            return isinstance(read_rate(line.value), Rate)
        return line.word in ("TASK_DONE", "PUBLISH") or (
            line.word == "CUBE_NOTHING" and bool(line.value)
        )

    def answer(self) -> str:
        """Return the text for the user, without surrounding blank lines or extra gaps."""
        rows: list[str] = []
        gap = False  # the previous line was removed
        for i in range(self.start, len(self.lines)):
            if self.removed[i]:
                gap = True
            elif not (gap and _is_blank(self.lines[i]) and (not rows or _is_blank(rows[-1]))):
                rows.append(self.lines[i])
                gap = False
        first = next((n for n, line in enumerate(rows) if not _is_blank(line)), len(rows))
        return "\n".join(rows[first:]).rstrip()

    def _free_tail(self, fence: int) -> None:
        """Keep an unclosed fence from hiding the service lines at the end."""
        end = len(self.lines)
        while end > fence + 1 and (
            _is_blank(self.lines[end - 1]) or read_line(self.lines[end - 1])
        ):
            end -= 1
        self.code[end:] = bytes(len(self.lines) - end)

    def _cut_sections(self) -> dict[str, str]:
        """Return the sections by name; none if the reply has none. Text above the last section is
        skipped.
        """
        headings = [
            (i, match["name"])
            for i, line in enumerate(self.lines)
            if line and not self.code[i] and (match := _HEADING.fullmatch(line))
        ]
        # a single heading, or one in the middle of a text, is content
        if len(headings) < 2 or not all(
            _is_blank(line) or read_line(line) for line in self.lines[: headings[0][0]]
        ):
            return {}
        if [name for _, name in headings] != list(SECTIONS):
            self.note("sections_order")
        self.start = headings[-1][0] + 1
        ends = [*(i for i, _ in headings[1:]), len(self.lines)]
        return {
            name: "\n".join(self.lines[i + 1 : end]).strip()
            for (i, name), end in zip(headings, ends, strict=True)
        }

    def _unwrap_tail(self) -> None:
        """Remove a fence at the end that contains only service lines."""
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
            self.removed[first] = self.removed[last] = 1
            for i, line in inside.items():
                self.read[i] = line

    def _continuations(self) -> bytearray:
        """Mark the lines that continue the L1 or L2 above them.

        A strict line acts wherever it is, so the text goes on below it.
        """
        goes_on, is_open = bytearray(len(self.lines)), False
        for i in range(self.start, len(self.lines)):
            line = self.read[i]
            if line is None:
                is_open = is_open and not self.code[i] and _GOES_ON.match(self.lines[i]) is not None
                goes_on[i] = is_open
            elif not self.is_strict(i):
                is_open = line.word in ("L1", "L2")
        return goes_on

    def _tail_start(self) -> int:
        i = len(self.lines)
        while i > self.start and (
            self.read[i - 1]
            or self.goes_on[i - 1]
            or self.removed[i - 1]
            or _is_blank(self.lines[i - 1])
        ):
            i -= 1
        return i

    def parts(self) -> Lines:
        """Return everything that the reply contains."""
        for i in range(self.start, len(self.lines)):
            if self.goes_on[i] and i >= self.tail:
                self.removed[i] = 1
            elif line := self.read[i]:
                self._consider(i, line)
        answer = "" if self.sections and "FINAL" not in list(self.sections)[-1:] else self.answer()
        self._judge(answer)
        nothing = [*self.texts["CUBE_NOTHING"], None][0]
        return Lines(
            answer=answer,
            critical="; ".join(self.texts["CRITICAL"]) or None,
            critical_replaces=self.replaces,
            cube=self.cube,
            cube_nothing=None if self.cube else nothing,
            rates=tuple(self.rates.values()),
            l1=" ".join(self.texts["L1"]) or None,
            l2=" ".join(self.texts["L2"]) or None,
            task_done="TASK_DONE" in self.keywords,
            publish="PUBLISH" in self.keywords and self.cube is not None,
            memory_used=MEMORY not in self.keywords,
            seal_step=self.seal.step if self.seal and self.seal.name == self.name else None,
            sections=self.sections,
            faults=tuple(self.faults),
        )

    def _consider(self, i: int, line: ServiceLine) -> None:
        if i < self.tail:
            if not self.is_strict(i):
                self.note("ignored", i, line.word)
                return
            self.note("misplaced", i, line.word)
        self.removed[i] = 1
        if line.seal:
            self.seal, self.seal_line = line.seal, i
        elif line.word in self.texts:
            self._take_text(i, line.word)
        elif line.word == "CUBE":
            self._take_cube(i, line.value)
        elif line.word == "RATE":
            self._take_rate(i, line.value)
        else:
            self.keywords.add(line.word)

    def _take_text(self, i: int, word: str) -> None:
        text, before = self.whole(i), self.texts[word]
        if word == "CRITICAL" and (named := _REPLACES.search(text)):
            text, self.replaces = text[: named.start()], self.replaces or named["fact"]
        if word == "CUBE_NOTHING":
            if not text:
                self.note("cube_nothing_reason", i)
                return
        elif says_none(text):
            return
        if before:
            self.note("repeated", i, word)
        before.append(text)

    def _take_cube(self, i: int, value: str) -> None:
        cube = read_cube(value)
        if isinstance(cube, str):
            self.note(cube, i)
        elif self.cube:
            self.note("cube_many", i)
        else:
            self.cube = cube

    def _take_rate(self, i: int, value: str) -> None:
        rate = read_rate(value)
        if isinstance(rate, str):
            self.note(rate, i, value.split(None, 1)[0][:64] if rate == "rate_reason" else "")
        elif self.cubes_shown is not None and rate.cube_id not in self.cubes_shown:
            self.note("rate_unknown", i, rate.cube_id)
        elif self.rates.setdefault(rate.cube_id, rate).vote != rate.vote:
            self.note("rate_conflict", i, rate.cube_id)

    def _judge(self, answer: str) -> None:
        """Record the faults of the reply as a whole."""
        if self.cube and self.texts["CUBE_NOTHING"]:
            self.note("cube_and_nothing")
        if "PUBLISH" in self.keywords and not self.cube:
            self.note("publish_without_cube")
        if self.seal is None:
            self.note("seal_missing")
        else:
            after = range(self.seal_line + 1, len(self.lines))
            if any(not self.removed[i] and not _is_blank(self.lines[i]) for i in after):
                self.note("seal_not_last", self.seal_line)
            if self.seal.name != self.name:
                self.note("seal_name", self.seal_line)
            elif self.step is not None and self.seal.step != self.step:
                self.note("seal_step", self.seal_line)
        if not answer:
            self.note("answer_empty")
