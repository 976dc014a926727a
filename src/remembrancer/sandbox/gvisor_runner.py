"""Programs in gVisor: each in a container of its own, whose kernel is a program too (runsc), so
that a hole in ours is out of reach.

For who asks for it: a container takes a second where a fork takes milliseconds.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from . import messages as wire
from .isolated_process import OPTIONS, PACKAGE_FOLDER, environment
from .plan import RUNSC, WORK, SandboxPlan
from .runner import Runner, WorkerLost

_START_SECONDS_MAX = 60  # for a container to start, and to import what a program imports
PLAN_SIZE = struct.Struct("<I")
_CAPABILITIES = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SYS_ADMIN",
]  # the guest's, never the program's
_NAMESPACES = ("pid", "network", "ipc", "uts", "mount")
_FIRST = "import sys; sys.path[:0] = {0!r}; from remembrancer.sandbox import gvisor_guest; gvisor_guest.main()"


class GvisorRunner(Runner):
    """Programs in containers.

    `plan.root` holds their bundle and runsc's own state. Raises Lost where runsc is not on the
    path.
    """

    def __init__(self, plan: SandboxPlan) -> None:
        super().__init__()
        found = shutil.which(RUNSC)
        if found is None:
            raise WorkerLost("runsc is not on the path")
        self._plan = plan
        state = Path(plan.root) / "state"
        state.mkdir(mode=0o700, exist_ok=True)
        self._runsc = [
            found,
            f"--root={state}",
            "--network=none",
            "--ignore-cgroups",
            *([] if os.getuid() == 0 else ["--rootless"]),
        ]
        self._bundle = Path(plan.root) / "bundle"
        try:
            _make_bundle(self._bundle, plan)
        except OSError as error:
            raise WorkerLost(str(error)) from error

    def run(
        self, code: str, seconds: float, content_bytes_max: int
    ) -> tuple[dict[str, Any], list[tuple[str, bytes]]]:
        """See Runner."""
        name = f"remembrancer-{secrets.token_hex(8)}"
        words = [*self._runsc, "run", f"--bundle={self._bundle}", name]
        plan = self._plan.to_json()
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )  # noqa: S603 - our own words
        assert process.stdin
        assert process.stdout
        timer = threading.Timer(seconds + _START_SECONDS_MAX, process.kill)
        timer.start()
        try:
            with process.stdin, process.stdout:
                process.stdin.write(PLAN_SIZE.pack(len(plan)) + plan + wire.job(code, seconds))
                process.stdin.flush()
                return wire.read_outcome(process.stdout.read, content_bytes_max)
        except (OSError, EOFError, ValueError) as error:
            raise WorkerLost(f"container: {error}") from error
        finally:
            timer.cancel()
            process.kill()
            process.wait()
            self._remove(name)

    def close(self) -> None:
        """See Runner."""
        shutil.rmtree(self._bundle, ignore_errors=True)

    def _remove(self, name: str) -> None:
        words = [*self._runsc, "delete", "--force", name]
        subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )  # noqa: S603 - our own words


def _make_bundle(bundle: Path, plan: SandboxPlan) -> None:
    """What runsc wants:

    a root with a place for everything that is shown in it, and a description (OCI runtime
    specification 1.0).
    """
    root = bundle / "rootfs"
    shutil.rmtree(bundle, ignore_errors=True)
    interpreter = os.path.realpath(sys.executable)
    mounts: list[dict[str, Any]] = [
        _mount(WORK, "tmpfs", f"size={plan.bounds.disk_bytes}", "mode=700", "nosuid", "nodev")
    ]
    for path in {
        *plan.visible,
        interpreter,
        str(Path(PACKAGE_FOLDER) / __name__.partition(".")[0]),
    }:
        place = root / path[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        if Path(path).is_symlink():  # /lib and /lib64 of a merged /usr
            place.symlink_to(Path(path).readlink())
            continue
        if Path(path).is_dir():
            place.mkdir(exist_ok=True)
        else:
            place.touch()
        mounts.append(_mount(path, "bind", "ro", "nosuid", "nodev", source=path))
    for path in ("/proc", "/sys", "/dev", "/tmp", WORK):  # noqa: S108 - a place in the bundle
        (root / path[1:]).mkdir(exist_ok=True)
    imported = [
        PACKAGE_FOLDER,
        *(
            path
            for path in sys.path
            if any(path == seen or path.startswith(f"{seen}/") for seen in plan.visible)
        ),
    ]
    described = {
        "ociVersion": "1.0.0",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": [interpreter, *OPTIONS, "-c", _FIRST.format(imported)],
            "env": [f"{name}={value}" for name, value in environment(WORK).items()],
            "cwd": WORK,
            "capabilities": dict.fromkeys(("bounding", "effective", "permitted"), _CAPABILITIES),
            "noNewPrivileges": True,
        },
        "root": {"path": "rootfs", "readonly": True},
        "hostname": "sandbox",
        "mounts": mounts,
        "linux": {"namespaces": [{"type": name} for name in _NAMESPACES]},
    }
    (bundle / "config.json").write_text(json.dumps(described), "utf-8")


def _mount(place: str, kind: str, *options: str, source: str | None = None) -> dict[str, Any]:
    bound = ["bind"] if kind == "bind" else []
    return {
        "destination": place,
        "type": kind,
        "source": source or kind,
        "options": [*bound, *options],
    }
