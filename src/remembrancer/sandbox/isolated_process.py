"""Start a Python process that shares no memory, environment or open files with the server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .plan import NS, WORK

PACKAGE_FOLDER = str(Path(__file__).parents[2])
# Code that runs `main` of a module of this package, which it finds in `paths`.
BOOTSTRAP = (
    "import sys; sys.path[:0] = {paths!r}; "
    "from remembrancer.sandbox import {module}; {module}.main({arguments})"
)
# Interpreter options: ignore the environment and the user's packages, write no bytecode caches.
OPTIONS = ("-I", "-B", "-X", "utf8")


def environment(home: str) -> dict[str, str]:
    """Return the environment variables of programs; `home` is their working folder."""
    return {
        "PATH": "/usr/bin",
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": f"{home}/.matplotlib",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        # Each further arena reserves 64 to 128 MiB of addresses, which the memory limit counts: a
        # program would have eight threads instead of 32.
        "MALLOC_ARENA_MAX": "1",
    }


def start(
    module: str, arguments: str, *, level: str, descriptors: tuple[int, ...] = ()
) -> subprocess.Popen[bytes]:
    """Run `main` of a module of this package in a new interpreter.

    The process has the environment of programs; its standard output is a pipe.
    """
    code = BOOTSTRAP.format(paths=[PACKAGE_FOLDER], module=module, arguments=arguments)
    return subprocess.Popen(  # noqa: S603 - no word of it comes from outside
        [sys.executable, *OPTIONS, "-c", code],
        env=environment(WORK if level == NS else "."),
        pass_fds=descriptors,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
