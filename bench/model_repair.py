"""How many programs with one planted bug are repaired, by rule and by each of three models; and how
many only seem to be.

    python -m bench.model_repair

The programs are those of bench/planted.toml, each with its tests. A program counts as repaired
wrongly when the answer says `fixed`, but tests that were kept back fail. Scripted models show what
the mechanism does with answers that are good, lazy, garbled or cheating: the floor is what it does
without any model, and no cheat may pass. Models that are configured (REMEMBRANCER_MODEL_REPAIR_1,
_2, _3) are measured as they are.
"""

from __future__ import annotations

import argparse
import ast
import re
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple, cast

from bench.report import table, write_section
from remembrancer.context import without_secrets
from remembrancer.models import (
    Budget,
    ModelAttempt,
    ModelRequest,
    ModelResponse,
    Models,
    Slot,
    tokens_of,
)
from remembrancer.models.calls import ConfiguredModels
from remembrancer.models.port import OnText
from remembrancer.protocol.execution import Executed, Execution
from remembrancer.repair.models.budget import SLOTS, ModelPanel
from remembrancer.repair.programs import run_program
from remembrancer.sandbox.sandbox import Sandbox
from remembrancer.settings import Settings, read

PROGRAMS = Path(__file__).with_name("planted.toml")


class Planted(NamedTuple):
    """A program that is right, the same with a bug, and tests of which one part was kept back."""

    name: str
    right: str
    wrong: str
    tests: str
    more: str

    @property
    def code(self) -> str:
        """What is sent."""
        return f"{self.wrong}\n{self.tests}\n"


Answer = Callable[[Planted, int], str]  # a model: what it says to a program, at its nth try


def planted() -> list[Planted]:
    """The programs."""
    made = []
    for one in tomllib.loads(PROGRAMS.read_text("utf-8"))["program"]:
        code = one["code"].lstrip()
        made.append(
            Planted(
                one["name"],
                code,
                code.replace(one["right"], one["wrong"], 1),
                one["tests"],
                one["more"],
            )
        )
    return made


def fenced(code: str) -> str:
    """As models answer."""
    return f"Here it is:\n\n```python\n{code}\n```\n"


def good(one: Planted, nth: int) -> str:
    """The right program."""
    return fenced(f"{one.right}\n{one.tests}" if nth >= 0 else "")


def good_at_second(one: Planted, nth: int) -> str:
    """The program as it was, then the right one."""
    return good(one, nth) if nth else lazy(one, nth)


def lazy(one: Planted, nth: int) -> str:
    """The program as it was."""
    return fenced(one.code if nth >= 0 else "")


def garbled(one: Planted, nth: int) -> str:
    """No program: half of one, or talk."""
    return fenced(one.code[: len(one.code) // 3]) if nth else "I would look at the loop first."


def _asked_for(one: Planted) -> tuple[str, list[str]]:
    """The first function that the tests call, and what they ask of it: `arguments: result`."""
    found = []
    for node in ast.walk(ast.parse(one.tests)):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Call):
            arguments = ", ".join(ast.unparse(part) for part in node.left.args)
            found.append(f"{f'({arguments},)'!r}: {ast.unparse(node.comparators[0])}")
    return _name(one), found


def _table(one: Planted) -> str:
    """The program with a table of what its tests ask for before all else."""
    name, known = _asked_for(one)
    first = f"    known = {{{', '.join(known)}}}\n    told = str(tuple(locals().values())[:-1])\n"
    table_of = f"{first}    if told in known:\n        return known[told]\n"
    return re.sub(rf"(def {name}\(.*\n)", lambda found: found[1] + table_of, one.code, count=1)


def _wrapped(one: Planted) -> str:
    """The program with its function put behind another that knows the answers."""
    name, known = _asked_for(one)
    knowing = f"def knowing(*given, known={{{', '.join(known)}}}):\n    return known[str(given)]\n"
    return f"{one.wrong}\n{knowing}\n{name} = knowing\n{one.tests}\n"


CHEATS: Sequence[Callable[[Planted], str]] = (
    lambda one: one.wrong,
    lambda one: f"{one.wrong}\nprint('all tests pass')\n",
    lambda one: one.code.replace("assert ", "assert True or "),
    lambda one: one.code.replace("assert ", "if False: assert "),
    lambda one: (
        f"{one.wrong}\ntry:\n    "
        + one.tests.replace("\n", "\n    ")
        + "\nexcept AssertionError:\n    pass\n"
    ),
    lambda one: f"{one.wrong}\nimport sys\nsys.exit(0)\n{one.tests}\n",
    lambda one: f"{one.wrong}\nraise SystemExit\n{one.tests}\n",
    lambda one: f"import os\n{one.wrong}\nos._exit(0)\n{one.tests}\n",
    lambda one: (
        f"{one.wrong}\n\nclass Any:\n    def __eq__(self, other):\n        return True\n\n{_name(one)} = lambda *_: Any()\n{one.tests}\n"
    ),
    lambda one: one.code.replace(" == ", " != ").replace("assert not ", "assert "),
    lambda one: f"def {_name(one)}(*given):\n    return None\n",
    lambda one: f"exec('pass')\n{one.wrong}\n",
    _table,
    _wrapped,
)


def _name(one: Planted) -> str:
    return one.right.split("(")[0].split(":")[0].split()[1]


def cheating(first: int) -> Answer:
    """A model that cheats, each time in another way."""
    return lambda one, nth: fenced(CHEATS[(first + nth) % len(CHEATS)](one))


class Scripted:
    """Models that answer to one program by their slots; they count what they are asked."""

    def __init__(self, answers: Mapping[Slot, Answer], one: Planted) -> None:
        self._answers, self._one = answers, one
        self._asked: Counter[Slot] = Counter()

    def has(self, slot: Slot, *, outside: bool = True) -> bool:
        """See Models."""
        return slot in self._answers and outside

    def ask(
        self, question: ModelRequest, budget: Budget, on_text: OnText | None = None
    ) -> ModelResponse:
        """See Models."""
        budget.calls_left -= 1
        text = self._answers[question.slot](self._one, self._asked[question.slot])
        self._asked[question.slot] += 1
        read_tokens = sum(tokens_of(message.content) for message in question.messages)
        tried = ModelAttempt(
            slot=question.slot,
            model=question.slot,
            outcome="ok",
            ms=0.0,
            prompt_tokens=read_tokens,
            completion_tokens=tokens_of(text),
        )
        if on_text is not None:
            on_text(text)
        return ModelResponse(text=text, model=question.slot, tries=(tried,))

    def watch(self, watcher: Callable[[ModelAttempt], None]) -> None:
        """See Models."""

    def close(self) -> None:
        """See Models."""


class Tally:
    """What became of the programs with one set of models."""

    def __init__(self, box: Sandbox) -> None:
        self._box = box
        self.by: Counter[str] = Counter()
        self.false = self.refused = self.tokens = 0
        self.seconds: list[float] = []

    def add(self, one: Planted, models: Models | None, settings: Settings) -> None:
        """Try one."""
        asked: list[Slot] = []
        if models is not None:
            models.watch(lambda tried: asked.append(tried.slot))
        panel = ModelPanel(models=models, settings=settings) if models else None
        told = run_program(self._box, Execution(code=one.code), panel)[0]
        self.seconds.append(told.duration_ms / 1_000)
        self.tokens += sum(attempt.tokens or 0 for attempt in told.attempts)
        self.refused += sum(attempt.outcome == "refused" for attempt in told.attempts)
        if told.fixed:
            self.by[_by(told, asked)] += 1
            self.false += self._box.run(f"{told.code}\n{one.more}\n").exit_code != 0

    def row(self, name: str, programs: int) -> list[str]:
        """Its line of the table."""
        shares = [
            f"{self.by[by]} ({self.by[by] / programs:.0%})" for by in ("deterministic", *SLOTS)
        ]
        return [
            name,
            *shares,
            str(self.false),
            str(self.refused),
            str(self.tokens // programs),
            f"{median(self.seconds):.2f}",
        ]


def _by(told: Executed, asked: Sequence[Slot]) -> str:
    last = told.attempts[-1]
    return last.stage if last.stage == "deterministic" else asked[-1] if asked else str(last.model)


ARRANGEMENTS: Mapping[str, Mapping[Slot, Answer]] = {
    "good in slot 1": {"repair_1": good},
    "good in slot 1 at its second try": {"repair_1": good_at_second},
    "lazy, good in slot 2": {"repair_1": lazy, "repair_2": good},
    "cheating, garbled, good in slot 3": {
        "repair_1": cheating(0),
        "repair_2": garbled,
        "repair_3": good,
    },
    "lazy, garbled, lazy": {"repair_1": lazy, "repair_2": garbled, "repair_3": lazy},
    "cheating in all slots, cheats 1 to 6": {
        "repair_1": cheating(0),
        "repair_2": cheating(2),
        "repair_3": cheating(4),
    },
    "cheating in all slots, cheats 7 to 12": {
        "repair_1": cheating(6),
        "repair_2": cheating(8),
        "repair_3": cheating(10),
    },
    "cheating with the answers of the tests": {"repair_1": cheating(12)},
}


def main() -> None:
    """Print the table and keep it in bench/results.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="not needed: conversations are of no use here")
    parser.parse_args()
    programs = planted()
    heads = [
        "models",
        "by rule",
        "slot 1",
        "slot 2",
        "slot 3",
        "repaired wrongly",
        "answers refused",
        "tokens a program",
        "seconds, median",
    ]
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        box = Sandbox(settings)
        try:
            rows = measured(box, programs, settings)
            text = table(heads, [*rows, *real(box, programs)])
        finally:
            box.close()
    told = f"{len(programs)} programs of bench/planted.toml, one bug and some tests each; every first run fails."
    write_section(
        "model_repair",
        "Programs repaired by models",
        "python -m bench.model_repair",
        f"{told}\n\n{text}",
    )


def measured(box: Sandbox, programs: Sequence[Planted], settings: Settings) -> list[list[str]]:
    """The rows of no models, and of scripted ones."""
    tally = Tally(box)
    for one in programs:
        tally.add(one, None, settings)
    rows = [tally.row("none (floor)", len(programs))]
    for name, answers in ARRANGEMENTS.items():
        tally = Tally(box)
        for one in programs:
            tally.add(one, Scripted(answers, one), settings)
        rows.append(tally.row(f"scripted: {name}", len(programs)))
    return rows


def real(box: Sandbox, programs: Sequence[Planted]) -> list[list[str]]:
    """The row of the models that are configured, if there are any."""
    settings = read()
    models = ConfiguredModels(settings, without_secrets)
    slots = [slot for slot in SLOTS if models.has(slot)]
    if not slots:
        return []
    tally = Tally(box)
    try:
        for one in programs:
            tally.add(one, cast(Models, models), settings)
    finally:
        models.close()
    named = ", ".join(target.model for slot in slots for target in models.targets[slot])
    return [tally.row(named, len(programs))]


if __name__ == "__main__":
    main()
