"""Run the command line in this process, or as one of its own."""

from __future__ import annotations

import io
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from signal import SIGINT, SIGTERM
from typing import Any

import pytest
from engines import KEPT_IN, of_folder

import remembrancer
from remembrancer.cli.app import main

PROGRAM = (sys.executable, "-m", "remembrancer")


class Cli:
    """Run `remembrancer` on one data folder.

    A call runs the command in this process, as the program does, because a new process takes a
    second of processor time. `apart` is for what only a process has. The first text is split
    into words as a shell splits it.
    """

    def __init__(self, folder: Path, **settings: str) -> None:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("REMEMBRANCER_")
        }
        ours = {
            "PYTHONPATH": str(Path(remembrancer.__file__).parents[1]),
            "REMEMBRANCER_DATA": str(folder),
        }
        self.environment = {
            **inherited,
            **ours,
            **({"REMEMBRANCER_STORE": of_folder(folder)} if KEPT_IN == "postgresql" else {}),
        }
        self.environment = self._with(settings)

    def __call__(
        self, *words: str, stdin: str | bytes = "", **settings: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in this process."""
        typed = io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin)
        out, errors = io.BytesIO(), io.BytesIO()
        environment = self._with(settings)
        with pytest.MonkeyPatch.context() as patch:
            for name in os.environ.keys() - environment.keys():
                patch.delenv(name)
            for name, text in environment.items():
                patch.setenv(name, text)
            patch.setattr(sys, "argv", ["remembrancer", *_split(words)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(typed, "utf-8"))
            patch.setattr(sys, "stdout", io.TextIOWrapper(out, "utf-8", write_through=True))
            patch.setattr(sys, "stderr", io.TextIOWrapper(errors, "utf-8", write_through=True))
            handlers = {number: signal.getsignal(number) for number in (SIGINT, SIGTERM)}
            status = 0
            try:
                main()
            except SystemExit as end:
                status = int(end.code or 0)
            finally:
                for number, handler in handlers.items():
                    signal.signal(number, handler)
            return subprocess.CompletedProcess(
                words, status, out.getvalue().decode(), errors.getvalue().decode()
            )

    def apart(
        self, *words: str, stdin: str | bytes = "", **settings: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as a process of its own."""
        process = subprocess.run(
            [*PROGRAM, *_split(words)],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env=self._with(settings),
            timeout=60,
            check=False,
        )
        return subprocess.CompletedProcess(
            words, process.returncode, process.stdout.decode(), process.stderr.decode()
        )

    def table(self, *words: str) -> list[dict[str, str]]:
        """Return the rows of a command's output, by the names of its columns."""
        return rows_of(self(*words))

    def _with(self, settings: Mapping[str, str]) -> dict[str, str]:
        return {
            **self.environment,
            **{f"REMEMBRANCER_{name}": text for name, text in settings.items()},
        }


def captured(
    words: Sequence[str | Path], *, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run any program to its end and keep the text that it prints."""
    return subprocess.run(words, check=check, capture_output=True, text=True, **options)


def killed_after(words: Sequence[str | Path], lines: int, **options: Any) -> list[str]:
    """Kill a program when it has printed so many lines; return its complete lines."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **options)
    assert process.stdout is not None
    output = [process.stdout.readline() for _ in range(lines)]
    process.kill()
    output += process.communicate()[0].splitlines(keepends=True)
    return [line.strip() for line in output if line.endswith("\n")]


def _split(words: tuple[str, ...]) -> Sequence[str]:
    return [*shlex.split(words[0]), *words[1:]] if words else []


def rows_of(process: subprocess.CompletedProcess[str]) -> list[dict[str, str]]:
    """Return the rows of a table that a command printed, by the names of its columns."""
    head, *rows = [line.split("\t") for line in process.stdout.splitlines()]
    return [dict(zip(head, row, strict=True)) for row in rows]
