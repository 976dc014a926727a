"""Which primitives this machine gives us, tried one by one in a process of its own, and what to do
about those it does not.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass

from . import kernel, landlock, seccomp, syscalls
from .isolated_process import start
from .plan import GVISOR, LANDLOCK, NS, RUNSC

_SECONDS_MAX = 20
_NAMESPACES = (
    kernel.NEWNS | kernel.NEWPID | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWCGROUP
)
_REMEDIES = {
    RUNSC: "sudo apt-get install -y runsc (Debian), or as https://gvisor.dev/docs/user_guide/install/ says",
    "processor": "programs can be confined on x86_64 and aarch64 only",
    "user namespaces": (
        "sudo sysctl -w user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1 (Debian), "
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu 24.04 and later), "
        "or in a container: docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined ..."
    ),
    "namespaces": (
        "run the server as another user than root, "
        "or docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined ..."
    ),
    "mounts": "docker run --security-opt apparmor=unconfined --security-opt systempaths=unconfined ...",
    "landlock": "boot Linux 5.13 or later with landlock in the kernel's lsm= list: sudo sed -i "
    "'s/^GRUB_CMDLINE_LINUX=\"/&lsm=landlock,lockdown,yama,integrity,apparmor /' /etc/default/grub && sudo update-grub && sudo reboot",
    "landlock scopes": "boot Linux 6.12 or later (Landlock ABI 6)",
    "seccomp": "boot a kernel with CONFIG_SECCOMP_FILTER=y",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingPrimitive:
    """A primitive that this machine does not give, why not, and the command that mends it."""

    primitive: str
    why: str
    remedy: str


def missing(level: str) -> list[MissingPrimitive]:
    """What `level` needs and this machine does not give; empty when all is there (and something
    else was wrong).
    """
    if level == GVISOR:
        return (
            []
            if shutil.which(RUNSC)
            else [
                MissingPrimitive(
                    primitive=RUNSC, why="it is not on the path", remedy=_REMEDIES[RUNSC]
                )
            ]
        )
    with start("probe", repr(level), level=level) as process:
        said, _ = process.communicate(timeout=_SECONDS_MAX)
    try:
        found = json.loads(said)
    except ValueError:
        return []
    return [
        MissingPrimitive(primitive=name, why=why, remedy=_REMEDIES[name]) for name, why in found
    ]


def main(level: str) -> None:
    """Print, as JSON, the primitives that `level` lacks, each with why."""
    wanted: dict[str, Callable[[], None]] = {
        "processor": _processor,
        "seccomp": _seccomp,
        "landlock": _landlock,
    }
    if level == NS:
        wanted |= {
            "namespaces" if os.getuid() == 0 else "user namespaces": _namespaces,
            "mounts": _mounts,
        }
    elif level == LANDLOCK:
        wanted["landlock scopes"] = _scopes
    found = [(name, why) for name, attempt in wanted.items() if (why := _tried(attempt))]
    sys.stdout.write(json.dumps(found))


def _tried(attempt: Callable[[], None]) -> str:
    """Why it failed, in a child that it cannot leave changed; empty when it did not."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            attempt()
        except OSError as error:
            os.write(writing, str(error).encode())
        os._exit(0)
    os.close(writing)
    said = os.read(reading, 4_096).decode("utf-8", "replace")
    os.close(reading)
    _, status = os.waitpid(pid, 0)
    return said or ("" if status == 0 else f"ended with status {status}")


def _processor() -> None:
    if syscalls.machine() not in syscalls.MACHINES:
        raise OSError(38, f"this one is {syscalls.machine()}")


def _seccomp() -> None:
    _processor()
    kernel.no_new_privileges()
    kernel.install_filter(seccomp.program(syscalls.machine(), alone=True))


def _landlock() -> None:
    if landlock.abi() < 1:
        raise OSError(38, "this kernel has no Landlock, or it is switched off")


def _scopes() -> None:
    if landlock.abi() < landlock.ALONE_ABI_MIN:
        raise OSError(
            38, f"this kernel has ABI {landlock.abi()}, and {landlock.ALONE_ABI_MIN} is needed"
        )


def _namespaces() -> None:
    kernel.unshare(_NAMESPACES if os.getuid() == 0 else kernel.NEWUSER | _NAMESPACES)


def _mounts() -> None:
    user = os.getuid()
    _namespaces()
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - the standard library's open, as everywhere here
                file.write(text)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", "/usr/lib", "tmpfs", kernel.MS_NOSUID, "size=64k")
    kernel.bind_read_only("/dev", "/usr/lib")
