"""The plan that the server sends to the zygote once.

It says how to confine programs, which files they may read and how many resources one run may use.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Final

GVISOR: Final = "gvisor"  # the levels, strongest first
NS: Final = "ns"
LANDLOCK: Final = "landlock"
UNSAFE: Final = "unsafe"
# Levels at which a program has a file system and a process table of its own.
ISOLATED_LEVELS = (GVISOR, NS)
INODES_MAX = 2_000  # files and folders in the working folder
DESCRIPTORS_MAX = 64  # open files of a program
OUTPUT_BYTES_LAST = 8 << 20  # a program that prints more than this is stopped
RESULT_CHARACTERS_MAX = 65_536
MESSAGE_CHARACTERS_MAX = 8_192
TRACEBACK_CHARACTERS_MAX = 32_768
REPORT_BYTES_MAX = 1 << 20  # the program's report: result and error
NAME_BYTES_MAX = 1_000  # the path of a created file, from the working folder
DEPTH_MAX = 4  # nesting of folders from which files are collected
FOLDER_ENTRIES_MAX = 1_000  # entries examined in one folder
LEFT_OUT_MAX = 32  # files left out that are listed by name
RUNSC = "runsc"  # gVisor's executable
WORK = "/sandbox"  # the working folder as programs see it


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """The resources that one run may use, in bytes and seconds."""

    seconds: int
    seconds_max: int
    memory_bytes: int
    disk_bytes: int
    files: int
    output_bytes: int
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPlan:
    """The configuration of one zygote.

    `visible` lists folders and files that programs may read, `root` is an empty folder, and `uid`
    is the user that a zygote started by root switches to.
    """

    level: str
    root: str
    visible: tuple[str, ...]
    preload: tuple[str, ...]
    uid: int
    spares: int
    bounds: RunLimits

    def can_read(self, path: str) -> bool:
        """Return True if programs may read this path."""
        return any(path == folder or path.startswith(f"{folder}/") for folder in self.visible)

    def to_json(self) -> bytes:
        """Return the plan in wire format."""
        return json.dumps(asdict(self)).encode()


def from_json(text: bytes) -> SandboxPlan:
    """Return the plan that `to_json` encoded."""
    fields: dict[str, Any] = json.loads(text)
    fields |= {
        "bounds": RunLimits(**fields["bounds"]),
        "visible": tuple(fields["visible"]),
        "preload": tuple(fields["preload"]),
    }
    return SandboxPlan(**fields)
