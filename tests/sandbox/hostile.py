"""Run the hostile programs in the real sandbox and print their breaches as JSON.

Usage: `python hostile.py LEVEL FOLDER [UID] [PART/PARTS]`.

With a UID, root becomes that user first, in a mount namespace where any user can reach the
interpreter; with 0 it stays root there.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, cast

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE.parent))  # run as a script

from sandbox.hostile_programs import programs  # noqa: E402 - needs the path above
from sandbox.surroundings import Surroundings, surroundings  # noqa: E402 - the same

from remembrancer.protocol.execution import Level  # noqa: E402 - the same
from remembrancer.sandbox import kernel, sandbox  # noqa: E402 - the same
from remembrancer.settings import Settings  # noqa: E402 - the same

_MS_MOVE = 8192
_PR_SET_CHILD_SUBREAPER = 36
# run unconfined as a positive control: these programs touch only the canaries
HARMLESS = (
    "read server db (0600, server uid)",
    "read other tenant file",
    "read /proc/<server>/environ",
    "read /proc/<server>/maps",
    "tcp to host loopback",
    "unix pathname socket to host",
    "abstract unix socket to host",
    "prlimit the server",
    "overwrite canary via rename/link",
)


def open_up() -> None:
    """Make this interpreter reachable for every user, in a mount namespace of its own."""
    kernel.unshare(kernel.NEWNS)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    prefix = Path(sys.base_prefix)
    closed = [folder for folder in reversed(prefix.parents) if not folder.stat().st_mode & 0o001]
    if closed:
        content = tempfile.mkdtemp()
        kernel.mount(str(prefix), content, None, kernel.MS_BIND | kernel.MS_REC)
        kernel.mount("tmpfs", str(closed[0]), "tmpfs", 0, "size=64k,mode=755")
        prefix.mkdir(parents=True)
        kernel.mount(content, str(prefix), None, _MS_MOVE)
        Path(content).rmdir()


def become(uid: int) -> None:
    """Switch to an unprivileged user."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    kernel.set_dumpable(yes=True)


def wait_for_descendants() -> None:
    """Wait for all descendants of this process, orphans included."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def breaches(
    box: sandbox.Sandbox, around: Surroundings, name: str, code: str, *, lasting: bool
) -> list[str]:
    """Run a program; return what it has reached."""
    code = around.insert_targets(code)
    run = box.run(code, seconds=0.4 if lasting else 10)
    wrong = [line for line in run.stdout.splitlines() if line.startswith("ESCAPE")]
    wrong += around.changed_targets()
    wrong += [f"file {file}" for file, content in run.files if b"canary" in content]
    if lasting and run.stopped is None and run.signal is None and run.exit_code == 0:
        wrong.append("not ended")
    if name == "same RNG stream across runs" and box.run(code).stdout == run.stdout:
        wrong.append("same numbers")
    return wrong


def assault(level: Level, folder: Path, part: int = 0, parts: int = 1) -> dict[str, Any]:
    """Run all programs, or one part of them.

    Return the level and each program's breaches (empty if contained).
    """
    kernel.call("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    sandbox.LADDER = (level,)  # no weaker or stronger level
    place = folder / "canaries"
    place.mkdir()
    settings = Settings(
        data=folder / "data",
        sandbox_min_level=level,
        sandbox_parallel=2,
        sandbox_memory_bytes=256 << 20,
    )
    box = sandbox.Sandbox(settings)
    result: dict[str, Any] = {"level": box.start(), "programs": {}}
    plotting = importlib.util.find_spec("matplotlib") is not None
    try:
        with surroundings(place) as around:
            for name, code, lasting in programs(plotting=plotting)[part::parts]:
                if level == "unsafe" and name not in HARMLESS:
                    continue
                wrong = breaches(box, around, name, code, lasting=lasting)
                if level not in {"unsafe", "gvisor"}:  # each container of gVisor has one program
                    is_alive = box.run("print('alive')").stdout == "alive\n"
                    wrong += [] if is_alive else ["the sandbox is gone"]
                result["programs"][name] = wrong
    finally:
        box.close()
    wait_for_descendants()
    result["left"] = [
        str(path)
        for path in (sandbox._shared_folder(settings), folder / "data" / "sandbox" / "root")
        if path.exists()
    ]
    return result


if __name__ == "__main__":
    words = [*sys.argv[1:]]
    part, parts = (
        map(int, words.pop().split("/")) if "/" in words[-1] and len(words) > 2 else (0, 1)
    )
    if len(words) > 2:
        os.chown(words[1], int(words[2]), int(words[2]))
        open_up()
        if words[2] != "0":
            become(int(words[2]))
    sys.stdout.write(json.dumps(assault(cast(Level, words[0]), Path(words[1]), part, parts)))
