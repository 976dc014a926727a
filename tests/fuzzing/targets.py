"""The fuzz targets: modules of this folder with `seeds()` and `check(case)`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Target(NamedTuple):
    """Code that a target reads, and the shape of its cases."""

    code: tuple[str, ...]  # packages and modules whose coverage guides it
    bytes_max: int
    keeps_first_line: bool = False  # a case begins with a type or a name


TARGETS = {
    "lines": Target(("remembrancer.protocol",), 2_000),
    "focus": Target(
        (
            *(f"remembrancer.search.{name}" for name in ("text", "index", "ranking", "scoring")),
            "remembrancer.protocol.notices",
        ),
        1_000,
    ),
    "readers": Target(
        ("remembrancer.files", "pypdf", "zipfile", "PIL.PngImagePlugin"),
        8_000,
        keeps_first_line=True,
    ),
    "commands": Target(
        (
            "hook_paths",
            "shell",
            "remembrancer.protocol.permissions",
        ),
        600,
    ),
    "importers": Target(("remembrancer.memory.exchange", "zipfile"), 24_000, keeps_first_line=True),
}


class Checks(NamedTuple):
    """The functions of a target. `probe` is a check that may skip what takes long."""

    seeds: Callable[[], Iterator[bytes]]
    check: Callable[[bytes], None]
    probe: Callable[[bytes], None]


def checks_of(name: str) -> Checks:
    """Import a target and the code that it reads; return its functions."""
    module = importlib.import_module(f"fuzzing.{name}")
    for code in TARGETS[name].code:  # what the target imports only later
        importlib.import_module(code)
    return Checks(module.seeds, module.check, getattr(module, "probe", module.check))
