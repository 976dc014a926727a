"""Fuzz one target, guided by the coverage of the code that it reads.

    make fuzz TARGET=lines MINUTES=10

Needs Atheris (`make fuzz` installs it). The inputs that reached new code are kept in
`.fuzz/<target>`, so that a later run goes on from them. A finding is written to
`.fuzz/<target>-findings`; after the correction, it becomes a case in `tests/fuzzing/cases`.
"""

from __future__ import annotations

import argparse
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from fuzzing.mutations import Mutator
from fuzzing.targets import TARGETS, checks_of

FOLDER = Path(".fuzz")


class Findings:
    """Runs a check and writes the first input of each kind of failure to a folder.

    Fuzzing goes on after a finding. Failures at the same place of the code are one kind.
    """

    def __init__(self, folder: Path, check: Callable[[bytes], None]) -> None:
        self._folder, self._check = folder, check
        self._kinds: set[tuple[object, ...]] = set()

    def __call__(self, data: bytes) -> None:
        """Check one input."""
        try:
            self._check(data)
        except Exception as error:  # noqa: BLE001 - whatever the code raises is the finding
            frames = traceback.extract_tb(error.__traceback__)
            kind = (type(error), *((frame.filename, frame.lineno) for frame in frames[-3:]))
            if kind in self._kinds:
                return
            self._kinds.add(kind)
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / sha256(data).hexdigest()[:12]
            path.write_bytes(data)
            sys.stderr.write(f"finding {path}:\n")
            traceback.print_exception(error, file=sys.stderr)


def main() -> None:
    """Fuzz a target for some minutes, or print how much of its code the corpus reaches."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--reach", action="store_true", help="print the lines reached, and end")
    options, more = parser.parse_known_args()
    if options.reach:
        cases = (path.read_bytes() for path in sorted((FOLDER / options.target).iterdir()))
        sys.stdout.write(f"{options.target}: {reach(options.target, cases)}\n")
    else:
        fuzz(options.target, options.minutes, more)


def fuzz(name: str, minutes: float, more: Sequence[str]) -> None:
    """Fuzz a target; `more` are options of libFuzzer."""
    import atheris  # type: ignore[import-untyped]  # installed by `make fuzz`

    target = TARGETS[name]
    with atheris.instrument_imports(include=list(target.code)):
        checks = checks_of(name)
    corpus, findings = FOLDER / name, FOLDER / f"{name}-findings"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(checks.seeds()):
        (corpus / f"seed-{number:04}").write_bytes(seed)
    arguments = [
        sys.argv[0],
        f"-max_total_time={minutes * 60:.0f}",
        f"-max_len={target.bytes_max}",
        f"-artifact_prefix={findings}-",
        "-timeout=60",
        "-rss_limit_mb=3000",
        "-print_final_stats=1",
        *more,
        str(corpus),
    ]
    mutator = Mutator(
        lambda data, size: atheris.Mutate(data, size),  # noqa: PLW0108 - Setup replaces it
        keeps_first_line=target.keeps_first_line,
    )
    atheris.Setup(arguments, Findings(findings, checks.probe), custom_mutator=mutator.mutated)
    atheris.Fuzz()


def reach(name: str, cases: Iterable[bytes]) -> str:
    """Return how many lines of the target's own code some cases execute, in words."""
    checks = checks_of(name)
    prefixes = tuple(code for code in TARGETS[name].code if code.startswith(("remem", "hook_")))
    files = {
        str(module.__file__)
        for label, module in list(sys.modules.items())
        if label.startswith(prefixes) and getattr(module, "__file__", None)
    }
    executed: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            executed.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    sys.settrace(trace)
    threading.settrace(trace)
    try:
        for case in cases:
            with suppress(Exception):  # a finding
                checks.probe(case)
    finally:
        sys.settrace(None)
        threading.settrace(None)
    lines = {(file, line) for file in files for line in _lines_in_functions(file)}
    return f"{len(executed & lines):,} of {len(lines):,} lines ({len(executed & lines) / len(lines):.0%})"


def _lines_in_functions(file: str) -> set[int]:
    """Return the lines of a file that a call can execute: those of its functions."""
    lines: set[int] = set()
    rest: list[CodeType] = [compile(Path(file).read_bytes(), file, "exec")]
    while rest:
        code = rest.pop()
        rest += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        if code.co_flags & CO_OPTIMIZED:
            lines |= {line for _, _, line in code.co_lines() if line is not None}
            lines.discard(code.co_firstlineno)
    return lines


if __name__ == "__main__":
    main()
