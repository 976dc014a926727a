"""Run the command line as a separate process."""

from __future__ import annotations

import os
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
