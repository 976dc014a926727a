"""Make the turns of a coding day: people and agents, machine notices, and near duplicates.

The threads are in `day.toml`, the shapes of notices in `notices.toml`. The same seed makes the same
day.
"""

from __future__ import annotations

import random
import tomllib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

SEED = 11
NOTICES_PER_TURN = 3
START = datetime(2026, 11, 20, 8, tzinfo=UTC)
# How a program sends a message again, by half; `{}` is the message.
RESENT = {
    "tuned": (
        "{stamp} {}",
        "{} (request {uuid})",
        "{} [attempt {n}/5]",
        "{}",
    ),
    "held_out": (
        "[{clock}] {}",
        "Run #{n}: {}",
        "{}\n\ntrace_id={hex}",
        "{} (retry {n} of 5)",
    ),
}


@dataclass(frozen=True, slots=True)
class DayTurn:
    """One turn of the day."""

    query: str
    response: str
    session: str
    occurred_at: str
    label: str  # the turn of a person that it is or repeats, as `thread/number`; "" = a machine's
    half: str  # tuned or held_out
    is_repeat: bool = False
    is_mixed: bool = False


@dataclass(frozen=True, slots=True)
class DayQuestion:
    """A question and the label of the turn that answers it."""

    text: str
    label: str
    half: str


def halves() -> Iterator[tuple[int, dict[str, Any], str]]:
    """Yield the threads of the day, each with its number and its half."""
    for number, thread in enumerate(load("day.toml")["thread"]):
        yield number, thread, ("tuned", "held_out")[number % 2]


def questions() -> list[DayQuestion]:
    """Return the questions of the day."""
    return [
        DayQuestion(text, f"{number}/{place}", half)
        for number, thread, half in halves()
        for text, place in thread["questions"]
    ]


def turns(*, with_machines: bool = True, unseen: bool = False) -> list[DayTurn]:
    """Return the turns of the day in order; `with_machines` False leaves only those of people.

    `unseen`: both halves have the shapes that were not used for the rules.
    """
    return list(_Day(with_machines=with_machines, unseen=unseen).turns())


def load(name: str) -> dict[str, Any]:
    """Return a data file of this bench."""
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


class _Day:
    """The random choices of a day."""

    def __init__(self, *, with_machines: bool, unseen: bool) -> None:
        self._random = random.Random(SEED)
        shapes = load("notices.toml")
        self._shapes = {half: shapes["unseen" if unseen else half] for half in RESENT}
        self._with_machines = with_machines
        self._now = START
        self._next = dict.fromkeys(self._shapes, 0)

    def turns(self) -> Iterator[DayTurn]:
        for place in range(6):
            for number, thread, half in halves():
                yield from self._around(number, thread, half, place)

    def _around(
        self, number: int, thread: dict[str, Any], half: str, place: int
    ) -> Iterator[DayTurn]:
        """Yield a turn of a person with the notices that follow, and sometimes its repetition."""
        query, response = thread["turns"][place]
        about: dict[str, Any] = {"session": f"thread-{number}", "label": f"{number}/{place}"}
        about["half"] = half
        block = self._random.choice(self._shapes[half]["blocks"])
        is_mixed = self._with_machines and (number + place) % 3 == 0
        text = f"{query}\n\n{self._filled(block, thread)}" if is_mixed else query
        yield DayTurn(text, response, occurred_at=self._clock(), is_mixed=is_mixed, **about)
        if not self._with_machines:
            return
        for _ in range(NOTICES_PER_TURN):
            one, other = (self._filled(side, thread) for side in self._next_shape(half))
            yield DayTurn(one, other, occurred_at=self._clock(), **{**about, "label": ""})
        if (number + place) % 3 == 1:
            again = self._random.choice(RESENT[half])
            values = self._values()
            yield DayTurn(
                again.replace("{}", query).format(**values),
                response,
                occurred_at=self._clock(),
                is_repeat=True,
                **about,
            )

    def _next_shape(self, half: str) -> list[str]:
        """Return the shapes of a half in turn."""
        shapes: list[list[str]] = self._shapes[half]["notices"]
        self._next[half] += 1
        return shapes[(self._next[half] - 1) % len(shapes)]

    def _clock(self) -> str:
        self._now += timedelta(minutes=1, seconds=self._random.randrange(60))
        return self._now.isoformat()

    def _filled(self, text: str, thread: dict[str, Any]) -> str:
        names = {name: thread[name] for name in ("subject", "file", "detail")}
        return text.format(**names, **self._values())

    def _values(self) -> dict[str, Any]:
        bits = self._random.getrandbits(128)
        return {
            "n": self._random.randrange(2, 6),
            "m": self._random.randrange(10, 60),
            "id": f"{bits & 0xFFFFFFF:07x}",
            "uuid": uuid.UUID(int=bits),
            "hex": f"{bits:032x}",
            "stamp": self._now.isoformat(),
            "clock": f"{self._now:%H:%M:%S}",
        }
