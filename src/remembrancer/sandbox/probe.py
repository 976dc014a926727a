"""Find the kernel primitives that this machine lacks, and the commands that enable them.

Each primitive is tried in a process of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import kernel, landlock, seccomp, syscalls
from .isolated_process import start
from .plan import GVISOR, LANDLOCK, NS, RUNSC

_SECONDS_MAX = 20
_NAMESPACES = (
    kernel.NEWNS | kernel.NEWPID | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWCGROUP
)
_REMEDIES = {
    RUNSC: (
        "sudo apt-get install -y runsc (Debian), or see https://gvisor.dev/docs/user_guide/install/"
    ),
    "processor": "use an x86_64 or aarch64 machine; programs cannot be confined on others",
    "user namespaces": (
        "sudo sysctl -w user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1 "
        "(Debian), "
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu 24.04 and later), "
        "or in a container: docker run --security-opt seccomp=unconfined "
        "--security-opt apparmor=unconfined ..."
    ),
    "namespaces": (
        "run the server as a user other than root, or docker run --cap-add SYS_ADMIN "
        "--security-opt seccomp=unconfined --security-opt apparmor=unconfined ..."
    ),
    "mounts": (
        "docker run --security-opt apparmor=unconfined --security-opt systempaths=unconfined ..."
    ),
    "landlock": (
        "boot Linux 5.13 or later with landlock in the kernel's lsm= list: sudo sed -i "
        "'s/^GRUB_CMDLINE_LINUX=\"/&lsm=landlock,lockdown,yama,integrity,apparmor /' "
        "/etc/default/grub && sudo update-grub && sudo reboot"
    ),
    "landlock scopes": "boot Linux 6.12 or later (Landlock ABI 6)",
    "seccomp": "boot a kernel with CONFIG_SECCOMP_FILTER=y",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingPrimitive:
    """A kernel primitive that this machine lacks, the reason, and a command that enables it."""

    primitive: str
    why: str
    remedy: str


def missing(level: str) -> list[MissingPrimitive]:
    """Return the primitives that `level` needs and this machine lacks.

    Empty if the level failed for another reason.
    """
    if level == GVISOR:
        failures = [] if shutil.which(RUNSC) else [(RUNSC, "it is not on the path")]
    else:
        with start("probe", repr(level), level=level) as process:
            output, _ = process.communicate(timeout=_SECONDS_MAX)
        try:
            failures = json.loads(output)
        except ValueError:
            return []
    return [
        MissingPrimitive(primitive=name, why=reason, remedy=_REMEDIES[name])
        for name, reason in failures
    ]


def main(level: str) -> None:
    """Print the primitives that `level` lacks as JSON: pairs of name and reason."""
    checks: dict[str, Callable[[], None]] = {
        "processor": _processor,
        "seccomp": _seccomp,
        "landlock": _landlock,
    }
    if level == NS:
        checks |= {
            "namespaces" if os.getuid() == 0 else "user namespaces": _namespaces,
            "mounts": _mounts,
        }
    elif level == LANDLOCK:
        checks["landlock scopes"] = _scopes
    failures = [(name, reason) for name, check in checks.items() if (reason := _failure(check))]
    sys.stdout.write(json.dumps(failures))


def _failure(check: Callable[[], None]) -> str:
    """Run the check in a child process and return why it failed; empty if it passed."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            check()
        except OSError as error:
            os.write(writing, str(error).encode())
        os._exit(0)
    os.close(writing)
    message = os.read(reading, 4_096).decode("utf-8", "replace")
    os.close(reading)
    _, status = os.waitpid(pid, 0)
    return message or ("" if status == 0 else f"ended with status {status}")


def _processor() -> None:
    if syscalls.machine() not in syscalls.MACHINES:
        raise OSError(38, f"this one is {syscalls.machine()}")


def _seccomp() -> None:
    _processor()
    kernel.set_no_new_privileges()
    kernel.install_filter(seccomp.program(syscalls.machine(), isolated=True))


def _landlock() -> None:
    if landlock.abi() < 1:
        raise OSError(38, "this kernel has no Landlock, or it is disabled")


def _scopes() -> None:
    if landlock.abi() < landlock.SCOPES_ABI_MIN:
        raise OSError(
            38, f"this kernel has ABI {landlock.abi()}, but {landlock.SCOPES_ABI_MIN} is needed"
        )


def _namespaces() -> None:
    kernel.unshare(_NAMESPACES if os.getuid() == 0 else kernel.NEWUSER | _NAMESPACES)


def _mounts() -> None:
    user = os.getuid()
    _namespaces()
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1")):
            Path(f"/proc/self/{name}").write_text(text, "ascii")
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", "/usr/lib", "tmpfs", kernel.MS_NOSUID, "size=64k")
    kernel.bind_read_only("/dev", "/usr/lib")
