"""Measure how many programs of beginners are repaired by rule, and how many are made worse.

    python -m bench.beginners [CHECKOUT]

CHECKOUT is a checkout of https://github.com/friendly-traceback/friendly-traceback (MIT), which
explains errors to beginners. Its tests are the measure: each file of `tests/syntax` has one syntax
error, and each `try` of `tests/runtime` raises one exception. A program of the second kind is the
body of the `try` and the statements that it needs. Files that are part of the test suite are left
out. Nothing of the checkout is copied.

The output of those programs is not known. So slips are made in programs whose output is known
(tests/sandbox/benign-programs.json): each kind of slip at up to three places of each program. Then
a repaired program is made worse if it prints anything else than the program without the slip.

A repaired program of the checkout is made worse if it does not exit with status 0 in a new sandbox,
or if its output does not begin with what the original printed before it failed. A program that
succeeds, or fails on purpose, is made worse if it is changed.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.repair import BENIGN, ON_PURPOSE
from bench.report import table, write_section
from remembrancer.protocol.execution import Executed, Execution
from remembrancer.repair.programs import run_program
from remembrancer.sandbox.sandbox import Sandbox
from remembrancer.settings import Settings

SUITE_WORDS = ("friendly_traceback", "pytest", "get_output", "assert", "data_3_6")
CORPUS = "https://github.com/friendly-traceback/friendly-traceback"
Function = ast.FunctionDef | ast.AsyncFunctionDef


def syntax_programs(checkout: Path) -> Iterator[tuple[str, str]]:
    """Yield the names and the code of the programs with a syntax error."""
    for path in sorted((checkout / "tests" / "syntax").glob("*.py")):
        code = path.read_text("utf-8")
        if not any(word in code for word in SUITE_WORDS):
            yield path.name, code


def runtime_programs(checkout: Path) -> Iterator[tuple[str, str]]:
    """Yield the names and the code of the programs that raise an exception."""
    for path in sorted((checkout / "tests" / "runtime").glob("test_*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        shared = [node for node in tree.body if _is_needed(node)]
        for function in tree.body:
            if not isinstance(function, Function):
                continue
            before: list[ast.stmt] = []
            for number, statement in enumerate(function.body):
                if isinstance(statement, ast.Try):
                    name = f"{path.stem}.{function.name}.{number}"
                    yield name, _program([*shared, *before, *statement.body])
                elif _is_needed(statement):
                    before.append(statement)


def _is_needed(node: ast.stmt) -> bool:
    """Return True if the statement belongs to a program, not to the test suite."""
    text = ast.unparse(node)
    is_test = isinstance(node, Function) and any(isinstance(one, ast.Try) for one in node.body)
    return (
        not any(word in text for word in SUITE_WORDS)
        and not is_test
        and not isinstance(node, ast.Try | ast.Return)
        and "__name__" not in text
    )


def _program(statements: list[ast.stmt]) -> str:
    needed = [
        node for node in statements if not ast.unparse(node).startswith(("message", "result["))
    ]
    return "".join(f"{ast.unparse(node)}\n" for node in needed)


Token = tokenize.TokenInfo
Slip = Callable[[list[Token], int], str | None]  # the text instead of a token, or None


def _delete(*texts: str) -> Slip:
    return lambda tokens, at: "" if tokens[at].string in texts else None


def _replace(texts: dict[str, str]) -> Slip:
    return lambda tokens, at: texts.get(tokens[at].string)


def _double(tokens: list[Token], at: int) -> str | None:
    return tokens[at].string * 2 if tokens[at].string in (")", "]", ",") else None


def _exchange(tokens: list[Token], at: int) -> str | None:
    """Exchange the second and third letter of a word."""
    text = tokens[at].string
    is_word = tokens[at].type == tokenize.NAME and len(text) > 3 and text[1] != text[2]
    return f"{text[0]}{text[2]}{text[1]}{text[3:]}" if is_word else None


def _open_end(tokens: list[Token], at: int) -> str | None:
    """Remove the closing quote of a string of one line."""
    text = tokens[at].string
    is_short = tokens[at].type == tokenize.STRING and len(text) > 2 and "\n" not in text
    return text[:-1] if is_short else None


SLIPS: dict[str, Slip] = {
    "colon missing": _delete(":"),
    "closing bracket missing": _delete(")", "]", "}"),
    "opening bracket missing": _delete("(", "[", "{"),
    "comma missing": _delete(","),
    "quote missing": _open_end,
    "letters exchanged": _exchange,
    "sign doubled": _double,
    "operator of C": _replace({"and": "&&", "or": "||", "not": "!", "==": "===", "<=": "=<"}),
    "one equals sign": _replace({"==": "="}),
    "elif": _replace({"elif": "else if"}),
    "self or str missing": _delete("self", "str"),
    "keyword missing": _delete("in", "def", "return", "import", "for"),
    "bracket of another kind": _replace({")": "]", "]": ")", "}": ")"}),
    "index one too far": _replace({"<": "<=", "//": "/"}),
}
PLACES_MAX = 3


def slipped(code: str, slip: Slip) -> Iterator[str]:
    """Yield the program with the slip at up to PLACES_MAX places, spread over the program."""
    tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    changes = [
        (token, text)
        for at, token in enumerate(tokens)
        if (text := slip(tokens, at)) is not None and token.start[0] == token.end[0]
    ]
    step = max(1, len(changes) // PLACES_MAX)
    for token, text in changes[::step][:PLACES_MAX]:
        lines = code.splitlines(keepends=True)
        row, (start, end) = token.start[0] - 1, (token.start[1], token.end[1])
        lines[row] = f"{lines[row][:start]}{text}{lines[row][end:]}"
        yield "".join(lines)


def flattened(code: str) -> Iterator[str]:
    """Yield the program with one block moved to the column of its header, block by block."""
    lines = code.splitlines(keepends=True)
    for row, line in enumerate(lines):
        margin = len(line) - len(line.lstrip())
        if not line.rstrip().endswith(":"):
            continue
        end = row + 1
        while end < len(lines) and (
            not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > margin
        ):
            end += 1
        block = [one[4:] if one.strip() else one for one in lines[row + 1 : end]]
        yield "".join([*lines[: row + 1], *block, *lines[end:]])


def good_programs(box: Sandbox) -> list[tuple[str, str]]:
    """Return programs that succeed and print the same each time, with their output."""
    programs = []
    for one in json.loads(BENIGN.read_text("utf-8")):
        runs = [box.run(one["code"]) for _ in range(2)]
        if runs[0].exit_code == 0 and runs[0].stdout == runs[1].stdout:
            programs.append((one["code"], runs[0].stdout))
    return programs


@dataclass(slots=True)
class Tally:
    """The outcomes of the programs of one kind."""

    box: Sandbox
    broken: int = 0
    repaired: int = 0
    worse: int = 0
    parsed: int = 0  # not repaired, but one changed version failed only at run time
    rules: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, code: str, right: str | None = None) -> None:
        """Try one program and print what happened to it. `right` is its output, if known."""
        original = self.box.run(code)
        if original.exit_code == 0:
            return
        self.broken += 1
        outcome = run_program(self.box, Execution(code=code))[0]
        if not outcome.fixed:
            was_syntax = bool(outcome.error and "Syntax" in outcome.error.type)
            errors = [attempt.error or "" for attempt in outcome.attempts[1:]]
            is_parsed = was_syntax and any(
                error and not error.endswith(("SyntaxError", "IndentationError", "TabError"))
                for error in errors
            )
            self.parsed += is_parsed
            message = outcome.error.message if outcome.error else ""
            print(f"--  {name}: {message} {errors}", file=sys.stderr)
            return
        rerun = self.box.run(outcome.code)
        is_worse = rerun.exit_code != 0 or (
            not rerun.stdout.startswith(original.stdout) if right is None else rerun.stdout != right
        )
        self.worse += is_worse
        self.repaired += not is_worse
        rule = ", ".join(
            attempt.repair or "" for attempt in outcome.attempts if attempt.outcome == "ok"
        )
        self.rules[rule] += 1
        print(f"{'!!' if is_worse else 'ok'}  {name}: {rule}\n{outcome.diff}", file=sys.stderr)

    def row(self, name: str) -> list[str]:
        """Return its table row."""
        share = f"{self.repaired} ({self.repaired / max(1, self.broken):.0%})"
        return [name, str(self.broken), share, str(self.worse), str(self.parsed)]


def changed_controls(box: Sandbox) -> tuple[int, int]:
    """Return how many programs that must stay were tried, and how many were changed."""
    controls = [*(one["code"] for one in json.loads(BENIGN.read_text("utf-8"))), *ON_PURPOSE]
    outcomes: list[Executed] = [run_program(box, Execution(code=code))[0] for code in controls]
    changed = sum(one.code != code for one, code in zip(outcomes, controls, strict=True))
    return len(controls), changed


HEADS = ["kind", "programs", "repaired", "made worse", "parses then, fails at run time"]


def of_checkout(box: Sandbox, checkout: Path) -> str:
    """Measure the programs of a checkout and return the section."""
    rows = []
    rules: Counter[str] = Counter()
    for name, programs in (
        ("syntax errors (`tests/syntax`)", syntax_programs(checkout)),
        ("exceptions (`tests/runtime`)", runtime_programs(checkout)),
    ):
        tally = Tally(box)
        for title, code in programs:
            tally.add(title, code)
        rows.append(tally.row(name))
        rules += tally.rules
    names = ", ".join(f"{rule} {count}" for rule, count in rules.most_common())
    return f"{table(HEADS, rows)}\n\nSource: {CORPUS} (MIT). By rule: {names}."


def of_slips(box: Sandbox) -> str:
    """Measure programs with slips and return the section."""
    rows = []
    good = good_programs(box)
    for name, slip in SLIPS.items():
        tally = Tally(box)
        for code, right in good:
            for broken in slipped(code, slip):
                tally.add(name, broken, right)
        rows.append(tally.row(name))
    tally = Tally(box)
    for code, right in good:
        for broken in flattened(code):
            tally.add("block not indented", broken, right)
    rows.append(tally.row("block not indented"))
    controls, changed = changed_controls(box)
    return (
        f"{table(HEADS, rows)}\n\nThe right output is known. Control: {controls} programs that "
        f"succeed or fail on purpose: {changed} changed."
    )


def main() -> None:
    """Print the tables and keep them in bench/results.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, nargs="?", help="default: slips only")
    parser.add_argument("--data", type=Path, help="not needed: conversations are of no use here")
    options = parser.parse_args()
    command = "python -m bench.beginners"
    with tempfile.TemporaryDirectory() as folder:
        box = Sandbox(Settings(data=Path(folder), sandbox_seconds=4))
        try:
            if options.checkout:
                title, text = (
                    "Beginners' errors repaired by rule",
                    of_checkout(box, options.checkout),
                )
                write_section("beginners", title, f"{command} CHECKOUT", text)
            title = "Slips in programs repaired by rule"
            write_section("slips", title, command, of_slips(box))
        finally:
            box.close()


if __name__ == "__main__":
    main()
