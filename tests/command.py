"""Run the command line as a separate process."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

from engines import KEPT_IN, of_folder

import remembrancer


class Cli:
    """Run `remembrancer` on one data folder."""

    def __init__(self, folder: Path) -> None:
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

    def __call__(self, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **self.environment,
            **{f"REMEMBRANCER_{name}": text for name, text in settings.items()},
        }
        return subprocess.run(
            [sys.executable, "-m", "remembrancer", *words],
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
            check=False,
        )

    def table(self, *words: str) -> list[dict[str, str]]:
        """Return the rows of a command's output, by the names of its columns."""
        head, *rows = [line.split("\t") for line in self(*words).stdout.splitlines()]
        return [dict(zip(head, row, strict=True)) for row in rows]


def on_a_terminal(cli: Cli, *words: str, **environment: str) -> str:
    """Return the output of a command on a terminal of 80 columns and 24 lines."""
    main, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "remembrancer", *words],
        stdin=side,
        stdout=side,
        stderr=subprocess.PIPE,
        env={
            **cli.environment,
            "COLUMNS": "80",
            "LINES": "24",
            "TERM": "xterm",
            **environment,
        },
    )
    os.close(side)
    output = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        output += part
    _, errors = process.communicate(timeout=60)
    os.close(main)
    assert process.returncode == 0, errors.decode()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output.decode()).replace("\r\n", "\n")
