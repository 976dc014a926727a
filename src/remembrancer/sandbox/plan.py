"""What the server tells the zygote, once:

how to confine, what may be seen, and how much of everything a run may use.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Final

GVISOR: Final = "gvisor"  # the levels, strongest first
NS: Final = "ns"
LANDLOCK: Final = "landlock"
UNSAFE: Final = "unsafe"
ALONE = (GVISOR, NS)  # where a program has a file system and a process table of its own
INODES_MAX = 2_000  # files and folders in the working folder
DESCRIPTORS_MAX = 64  # open files of a program
OUTPUT_BYTES_LAST = 8 << 20  # a program that prints more than this is stopped
RESULT_CHARACTERS_MAX = 65_536
MESSAGE_CHARACTERS_MAX = 8_192
TRACEBACK_CHARACTERS_MAX = 32_768
REPORT_BYTES_MAX = 1 << 20  # what a program's end may say about itself
NAME_BYTES_MAX = 1_000  # the path of a created file, from the working folder
DEPTH_MAX = 4  # folders within folders that files are taken from
NAMES_LOOKED_AT_MAX = 1_000  # in one folder
LEFT_OUT_MAX = 32  # files named that were not taken
RUNSC = "runsc"  # gVisor's program
WORK = "/sandbox"  # the working folder as programs see it


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """What one run may use. Bytes and seconds."""

    seconds: int
    seconds_max: int
    memory_bytes: int
    disk_bytes: int
    files: int
    output_bytes: int
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPlan:
    """One zygote's orders.

    `visible` are folders and files shown read-only; `root` an empty folder; `uid` what root
    becomes.
    """

    level: str
    root: str
    visible: tuple[str, ...]
    preload: tuple[str, ...]
    uid: int
    spares: int
    bounds: RunLimits

    def to_json(self) -> bytes:
        """For the wire."""
        return json.dumps(asdict(self)).encode()


def from_json(text: bytes) -> SandboxPlan:
    """A plan from the wire."""
    told: dict[str, Any] = json.loads(text)
    told |= {
        "bounds": RunLimits(**told["bounds"]),
        "visible": tuple(told["visible"]),
        "preload": tuple(told["preload"]),
    }
    return SandboxPlan(**told)
