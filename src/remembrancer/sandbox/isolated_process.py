"""Start a process of ours that shares nothing with the server:

not its memory, not its environment, not its open files.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .plan import NS, WORK

PACKAGE_FOLDER = str(Path(__file__).parents[2])
_FIRST = "import sys; sys.path.insert(0, sys.argv[1]); from remembrancer.sandbox import {0}; {0}.main({1})"
OPTIONS = (
    "-I",
    "-B",
    "-X",
    "utf8",
)  # of the interpreter: nothing of the environment, no caches written


def environment(home: str) -> dict[str, str]:
    """What programs see as their environment; `home` is their folder."""
    return {
        "PATH": "/usr/bin",
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": f"{home}/.matplotlib",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }


def start(
    module: str, arguments: str, *, level: str, descriptors: tuple[int, ...] = ()
) -> subprocess.Popen[bytes]:
    """Run `main` of a module of this package in a new interpreter, with the environment that
    programs see. Its output can be read.
    """
    words = [sys.executable, *OPTIONS, "-c", _FIRST.format(module, arguments), PACKAGE_FOLDER]
    return subprocess.Popen(  # noqa: S603 - this interpreter and our own words
        words,
        env=environment(WORK if level == NS else "."),
        pass_fds=descriptors,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
