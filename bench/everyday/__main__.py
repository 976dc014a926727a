"""Ask memories of eight plain facts everyday questions, and the questions of other memories.

    python -m bench.everyday [--part development|held-out]

Every memory is a user of one service. "Right first": the first hit is the turn that answers. Each
question is also put to every other memory of its language that does not answer it (`also` in the
files names those that do). `answerable` of the answer should be 0.5 or more for a memory's own
questions, and less for these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bench.everyday.memories import LANGUAGES, Memory, memories
from bench.report import arguments_of, table, write_section
from bench.service import FtsIndex, Service, service
from remembrancer.protocol.search import MemoryAnswer

ANSWERABLE_MIN = 0.5
RIGHT_MIN = 11  # of twelve questions
PARTS = ("development", "held-out")
_START = datetime(2025, 3, 3, 18, tzinfo=UTC)
_APART = timedelta(days=6)  # from one fact to the next, each in a session of its own


@dataclass(frozen=True, slots=True)
class MemoryResult:
    """The answers to the questions of one memory."""

    memory: Memory
    is_right: tuple[bool, ...]  # of each question: the first hit answers it
    is_right_fts: tuple[bool, ...]  # the same of FTS5
    own: tuple[float | None, ...]  # `answerable` of each question in its own memory
    foreign: tuple[float | None, ...]  # in the other memories that do not answer it


def results(one: Service, some: Sequence[Memory]) -> list[MemoryResult]:
    """Store memories in a service and ask it their questions."""
    stored = {memory.name: _stored(one, memory) for memory in some}
    return [_result(one, memory, some, stored[memory.name]) for memory in some]


def _stored(one: Service, memory: Memory) -> list[str]:
    return [
        one.say(memory.name, f"{memory.name}-{number}", *fact, at=_START + number * _APART)
        for number, fact in enumerate(memory.facts)
    ]


def _result(
    one: Service, memory: Memory, some: Sequence[Memory], events: list[str]
) -> MemoryResult:
    fts = FtsIndex({str(number): "\n".join(fact) for number, fact in enumerate(memory.facts)})
    right, right_fts, own, foreign = [], [], [], []
    for place, (fact, text) in enumerate(memory.questions):
        answer = one.ask(memory.name, text)
        right.append([hit.event_id for hit in answer.hits[:1]] == [events[fact]])
        right_fts.append(fts.best(text, 1) == [str(fact)])
        own.append(_answerable(answer))
        foreign += [
            _answerable(one.ask(other.name, text))
            for other in some
            if other.language == memory.language
            and other.name != memory.name
            and (memory.name, place) not in other.also
        ]
    return MemoryResult(memory, tuple(right), tuple(right_fts), tuple(own), tuple(foreign))


def _answerable(answer: MemoryAnswer) -> float | None:
    value: float | None = getattr(answer, "answerable", None)
    return value


def share_answerable(values: Iterable[float | None]) -> str:
    """Return the share of values of at least ANSWERABLE_MIN, `n/a` if a value is missing."""
    numbers = list(values)
    if not numbers or any(value is None for value in numbers):
        return "n/a"
    return f"{sum((value or 0) >= ANSWERABLE_MIN for value in numbers) / len(numbers):.3f}"


def rows(some: Sequence[MemoryResult]) -> list[list[str]]:
    """Return a row for each memory, each part of a language, and each part."""
    groups = [(one.memory.name, [one]) for one in some]
    for part, is_held_out in zip(PARTS, (False, True), strict=True):
        of_part = [one for one in some if one.memory.is_held_out == is_held_out]
        groups += [
            (f"{code}, {part}", [one for one in of_part if one.memory.language == code])
            for code in LANGUAGES
        ]
        groups.append((f"all, {part}", of_part))
    return [_row(name, group) for name, group in groups if group]


def _row(name: str, group: Sequence[MemoryResult]) -> list[str]:
    right = [value for one in group for value in one.is_right]
    return [
        name,
        f"{sum(right)} of {len(right)}",
        f"{sum(value for one in group for value in one.is_right_fts)}",
        f"{sum(sum(one.is_right) >= RIGHT_MIN for one in group)} of {len(group)}",
        share_answerable(value for one in group for value in one.own),
        share_answerable(value for one in group for value in one.foreign),
    ]


def main() -> None:
    """Measure and write the table."""
    parser = arguments_of(__doc__)
    parser.add_argument("--part", choices=PARTS, help="measure one part; prints only")
    part = parser.parse_args().part
    some = [one for one in memories() if not part or one.is_held_out == (part == PARTS[1])]
    with service() as one:
        measured = results(one, some)
    heads = [
        "memory", "right first", "FTS5", f"memories with {RIGHT_MIN} of 12",
        f"own, `answerable` ≥ {ANSWERABLE_MIN}", f"foreign, ≥ {ANSWERABLE_MIN}",
    ]  # fmt: skip
    text = table(heads, rows(measured))
    if part:
        print(text)
    else:
        title = "Everyday questions about eight plain facts"
        write_section("everyday", title, "python -m bench.everyday", text)


if __name__ == "__main__":
    main()
