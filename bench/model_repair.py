"""Measure how many programs with one planted bug are repaired, by rules and by models.

    python -m bench.model_repair [--only-configured] [--programs 40]

The programs of bench/planted.toml have tests. A repair is wrong if the response says `fixed` but
withheld tests fail. Scripted models give good, lazy, garbled or cheating answers; no cheat may
pass. The baseline is repair without models. Models configured with REMEMBRANCER_MODEL_REPAIR_1, _2
and _3 are measured too, and alone with --only-configured.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
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
from remembrancer.models.port import OnDelta, OnText
from remembrancer.protocol.execution import Executed, Execution
from remembrancer.repair.models.job import SLOTS, ModelPanel
from remembrancer.repair.programs import run_program
from remembrancer.sandbox.sandbox import Sandbox
from remembrancer.settings import Settings, read

PROGRAMS = Path(__file__).with_name("planted.toml")


class Planted(NamedTuple):
    """A correct program, its version with a bug, its tests, and withheld tests (`more`)."""

    name: str
    right: str
    wrong: str
    tests: str
    more: str

    @property
    def code(self) -> str:
        """Return the program as it is sent."""
        return f"{self.wrong}\n{self.tests}\n"


Answer = Callable[
    [Planted, int], str
]  # a scripted model: its answer for a program, at the nth attempt


def planted() -> list[Planted]:
    """Return the programs."""
    result = []
    for one in tomllib.loads(PROGRAMS.read_text("utf-8"))["program"]:
        code = one["code"].lstrip()
        result.append(
            Planted(
                one["name"],
                code,
                code.replace(one["right"], one["wrong"], 1),
                one["tests"],
                one["more"],
            )
        )
    return result


def fenced(code: str) -> str:
    """Return a program in the format of a model's answer."""
    return f"Here it is:\n\n```python\n{code}\n```\n"


def good(one: Planted, nth: int) -> str:
    """Return the correct program."""
    return fenced(f"{one.right}\n{one.tests}" if nth >= 0 else "")


def good_at_second(one: Planted, nth: int) -> str:
    """Return the unchanged program, then the correct one."""
    return good(one, nth) if nth else lazy(one, nth)


def lazy(one: Planted, nth: int) -> str:
    """Return the unchanged program."""
    return fenced(one.code if nth >= 0 else "")


def garbled(one: Planted, nth: int) -> str:
    """Return no program: half of one, or prose."""
    return fenced(one.code[: len(one.code) // 3]) if nth else "I would look at the loop first."


def _expected_results(one: Planted) -> tuple[str, list[str]]:
    """Return the first function that the tests call, and the expected `arguments: result`."""
    expected = []
    for node in ast.walk(ast.parse(one.tests)):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Call):
            arguments = ", ".join(ast.unparse(part) for part in node.left.args)
            expected.append(f"{f'({arguments},)'!r}: {ast.unparse(node.comparators[0])}")
    return _name(one), expected


def _table(one: Planted) -> str:
    """Return the program with a lookup table of the expected results."""
    name, expected = _expected_results(one)
    first = f"    known = {{{', '.join(expected)}}}\n    key = str(tuple(locals().values())[:-1])\n"
    table_of = f"{first}    if key in known:\n        return known[key]\n"
    return re.sub(rf"(def {name}\(.*\n)", lambda match: match[1] + table_of, one.code, count=1)


def _wrapped(one: Planted) -> str:
    """Return the program with its function replaced by a lookup of the expected results."""
    name, expected = _expected_results(one)
    lookup = f"def lookup(*args, known={{{', '.join(expected)}}}):\n    return known[str(args)]\n"
    return f"{one.wrong}\n{lookup}\n{name} = lookup\n{one.tests}\n"


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
        f"{one.wrong}\n\nclass Any:\n    def __eq__(self, other):\n        return True\n\n"
        f"{_name(one)} = lambda *_: Any()\n{one.tests}\n"
    ),
    lambda one: one.code.replace(" == ", " != ").replace("assert not ", "assert "),
    lambda one: f"def {_name(one)}(*args):\n    return None\n",
    lambda one: f"exec('pass')\n{one.wrong}\n",
    _table,
    _wrapped,
)


def _name(one: Planted) -> str:
    return one.right.split("(")[0].split(":")[0].split()[1]


def cheating(first: int) -> Answer:
    """Return a model that cheats in a different way at each attempt."""
    return lambda one, nth: fenced(CHEATS[(first + nth) % len(CHEATS)](one))


class Scripted:
    """Scripted models for one program, by slot; they count the requests."""

    def __init__(self, answers: Mapping[Slot, Answer], one: Planted) -> None:
        self._answers, self._one = answers, one
        self._attempts: Counter[Slot] = Counter()

    def has(self, slot: Slot, *, outside: bool = True) -> bool:
        """Implement Models."""
        return slot in self._answers and outside

    def names(self, slot: Slot, *, outside: bool = True) -> tuple[str, ...]:
        """Implement Models."""
        return (f"{slot}@models.example",) if self.has(slot, outside=outside) else ()

    def ask(
        self,
        request: ModelRequest,
        budget: Budget,
        on_text: OnText | None = None,
        on_delta: OnDelta | None = None,  # noqa: ARG002 - a script has text only
    ) -> ModelResponse:
        """Implement Models."""
        budget.calls_left -= 1
        text = self._answers[request.slot](self._one, self._attempts[request.slot])
        self._attempts[request.slot] += 1
        read_tokens = sum(tokens_of(message.content) for message in request.messages)
        attempt = ModelAttempt(
            slot=request.slot,
            model=request.slot,
            outcome="ok",
            ms=0.0,
            prompt_tokens=read_tokens,
            completion_tokens=tokens_of(text),
        )
        if on_text is not None:
            on_text(text)
        return ModelResponse(text=text, model=request.slot, tries=(attempt,))

    def watch(self, watcher: Callable[[ModelAttempt], None]) -> None:
        """Implement Models."""

    def close(self) -> None:
        """Implement Models."""


class Tally:
    """The outcomes of the programs with one set of models."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._box = sandbox
        self.by: Counter[str] = Counter()
        self.false = self.refused = self.tokens = 0
        self.seconds: list[float] = []

    def add(self, one: Planted, models: Models | None, settings: Settings) -> None:
        """Repair one program."""
        slots: list[Slot] = []
        if models is not None:
            models.watch(lambda attempt: slots.append(attempt.slot))
        panel = ModelPanel(models=models, settings=settings) if models else None
        result = run_program(self._box, Execution(code=one.code), panel)[0]
        self.seconds.append(result.duration_ms / 1_000)
        self.tokens += sum(attempt.tokens or 0 for attempt in result.attempts)
        self.refused += sum(attempt.outcome == "refused" for attempt in result.attempts)
        if result.fixed:
            self.by[_by(result, slots)] += 1
            self.false += self._box.run(f"{result.code}\n{one.more}\n").exit_code != 0

    def row(self, name: str, programs: int) -> list[str]:
        """Return its table row."""
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


def _by(run: Executed, slots: Sequence[Slot]) -> str:
    last = run.attempts[-1]
    return last.stage if last.stage == "deterministic" else slots[-1] if slots else str(last.model)


ARRANGEMENTS: Mapping[str, Mapping[Slot, Answer]] = {
    "good in slot 1": {"repair_1": good},
    "good in slot 1 at the second attempt": {"repair_1": good_at_second},
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
    "cheating with the expected results of the tests": {"repair_1": cheating(12)},
}


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="ignored")
    parser.add_argument("--only-configured", action="store_true", help="no scripted models")
    parser.add_argument("--programs", type=int, help="use only the first ones")
    options = parser.parse_args()
    programs = planted()[: options.programs]
    heads = [
        "models",
        "repaired by rules",
        "by slot 1",
        "by slot 2",
        "by slot 3",
        "wrong repairs",
        "answers rejected",
        "tokens per program",
        "p50 s",
    ]
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        sandbox = Sandbox(settings)
        try:
            rows = [] if options.only_configured else measured(sandbox, programs, settings)
            text = table(heads, [*rows, *real(sandbox, programs)])
        finally:
            sandbox.close()
    summary = (
        f"{len(programs)} programs of bench/planted.toml, each with one bug and some tests. Every "
        "first run fails."
    )
    suffix = "-configured" if options.only_configured else ""
    write_section(
        f"model_repair{suffix}",
        f"Program repair by {'a small local model' if suffix else 'models'}",
        " ".join(["python -m bench.model_repair", *sys.argv[1:]]),
        f"{summary}\n\n{text}",
    )


def measured(sandbox: Sandbox, programs: Sequence[Planted], settings: Settings) -> list[list[str]]:
    """Return the rows without models and with scripted ones."""
    tally = Tally(sandbox)
    for one in programs:
        tally.add(one, None, settings)
    rows = [tally.row("baseline: no model", len(programs))]
    for name, answers in ARRANGEMENTS.items():
        tally = Tally(sandbox)
        for one in programs:
            tally.add(one, Scripted(answers, one), settings)
        rows.append(tally.row(f"scripted: {name}", len(programs)))
    return rows


def real(sandbox: Sandbox, programs: Sequence[Planted]) -> list[list[str]]:
    """Return the row of the configured models, if any."""
    settings = read()
    models = ConfiguredModels(settings, without_secrets)
    slots = [slot for slot in SLOTS if models.has(slot)]
    if not slots:
        return []
    tally = Tally(sandbox)
    try:
        for one in programs:
            tally.add(one, cast(Models, models), settings)
    finally:
        models.close()
    named = ", ".join(target.model for slot in slots for target in models.targets[slot])
    return [tally.row(named, len(programs))]


if __name__ == "__main__":
    main()
