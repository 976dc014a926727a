"""Run each program in a gVisor container of its own.

gVisor (runsc) is a kernel in user space: a program cannot reach a vulnerability of the host's
kernel. It is opt-in, because a container takes a second to start where a fork takes milliseconds.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from . import messages as wire
from .isolated_process import BOOTSTRAP, OPTIONS, PACKAGE_FOLDER, environment
from .plan import RUNSC, WORK, SandboxPlan
from .root_filesystem import make_mount_point
from .runner import Cancellation, Runner, WorkerLost

_START_SECONDS_MAX = 60  # for a container to start, and to import what a program imports
# Of the guest, never of the program.
_CAPABILITIES = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SYS_ADMIN",
]
_NAMESPACES = ("pid", "network", "ipc", "uts", "mount")


class GvisorRunner(Runner):
    """Runs programs in gVisor containers.

    `plan.root` holds the bundle and runsc's state. Raises WorkerLost if runsc is not on the path.
    """

    def __init__(self, plan: SandboxPlan) -> None:
        super().__init__()
        runsc = shutil.which(RUNSC)
        if runsc is None:
            raise WorkerLost("runsc is not on the path")
        self._plan = plan
        state = Path(plan.root) / "state"
        state.mkdir(mode=0o700, exist_ok=True)
        self._runsc = [
            runsc,
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
        self, code: str, seconds: float, cancellation: Cancellation
    ) -> tuple[dict[str, Any], list[tuple[str, bytes]]]:
        """Run one program in a new container. See Runner.run."""
        name = f"remembrancer-{secrets.token_hex(8)}"
        command = [*self._runsc, "run", f"--bundle={self._bundle}", name]
        job = wire.encode_block(self._plan.to_json()) + wire.encode_job(code, seconds)
        process = subprocess.Popen(  # noqa: S603 - no word of it comes from outside
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdin
        assert process.stdout
        timer = threading.Timer(seconds + _START_SECONDS_MAX, process.kill)
        timer.start()
        try:
            with process.stdin, process.stdout, cancellation.stopping(process.kill):
                process.stdin.write(job)
                process.stdin.flush()
                return wire.read_outcome(process.stdout.read, self._plan.bounds.disk_bytes)
        except (OSError, EOFError, ValueError) as error:
            cancellation.check()
            raise WorkerLost(f"container: {error}") from error
        finally:
            timer.cancel()
            process.kill()
            process.wait()
            self._remove(name)

    def close(self) -> None:
        """Delete the bundle."""
        shutil.rmtree(self._bundle, ignore_errors=True)

    def _remove(self, name: str) -> None:
        subprocess.run(  # noqa: S603 - no word of it comes from outside
            [*self._runsc, "delete", "--force", name],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )


def _make_bundle(bundle: Path, plan: SandboxPlan) -> None:
    """Create an OCI bundle (runtime specification 1.0): a root with mount points, and a config."""
    root = bundle / "rootfs"
    shutil.rmtree(bundle, ignore_errors=True)
    interpreter = os.path.realpath(sys.executable)
    size = f"size={plan.bounds.disk_bytes}"
    mounts: list[dict[str, Any]] = [
        _mount(WORK, "tmpfs", size, "mode=700", "nosuid", "nodev"),
        # else gVisor mounts one without a limit, which would fill the machine's memory
        _mount("/tmp", "tmpfs", size, "mode=1777", "nosuid", "nodev"),  # noqa: S108  in the container
    ]
    package = str(Path(PACKAGE_FOLDER) / __name__.partition(".")[0])
    mounts += [
        _mount(path, "bind", "ro", "nosuid", "nodev", source=path)
        for path in {*plan.visible, interpreter, package}
        if make_mount_point(root, path)
    ]
    for path in ("/proc", "/sys", "/dev", "/tmp", WORK):  # noqa: S108 - mount points in the bundle
        (root / path[1:]).mkdir(exist_ok=True)
    paths = [PACKAGE_FOLDER, *filter(plan.can_read, sys.path)]
    code = BOOTSTRAP.format(paths=paths, module="gvisor_guest", arguments="")
    config = {
        "ociVersion": "1.0.0",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": [interpreter, *OPTIONS, "-c", code],
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
    (bundle / "config.json").write_text(json.dumps(config), "utf-8")


def _mount(destination: str, kind: str, *options: str, source: str | None = None) -> dict[str, Any]:
    bind_option = ["bind"] if kind == "bind" else []
    return {
        "destination": destination,
        "type": kind,
        "source": source or kind,
        "options": [*bind_option, *options],
    }
