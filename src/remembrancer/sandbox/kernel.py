"""What the standard library has no words for:

namespaces, mounts, capabilities, prctl. Each raises OSError naming its step.
"""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path
from typing import Any

from . import syscalls

NEWNS, NEWUTS, NEWIPC, NEWUSER = 0x20000, 0x4000000, 0x8000000, 0x10000000
NEWPID, NEWNET, NEWCGROUP = 0x20000000, 0x40000000, 0x2000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = (
    1,
    2,
    4,
    8,
    32,
    4096,
    16384,
    1 << 18,
)
_MOUNT_ATTR_RDONLY_NOSUID_NODEV, _AT_FDCWD, _AT_RECURSIVE = 1 | 2 | 4, -100, 0x8000
_MNT_DETACH = 2
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP = 1, 4, 24
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 38, 22, 47, 4
_SECCOMP_MODE_FILTER = 2
_CAP_VERSION_3 = 0x20080522
_SIGKILL = 9

_libc = ctypes.CDLL(None, use_errno=True)
_numbers = syscalls.numbers(syscalls.machine()) if syscalls.machine() in syscalls.MACHINES else {}


class KernelError(OSError):
    """The kernel refused a step; `step` names it."""

    def __init__(self, step: str, number: int) -> None:
        super().__init__(number, f"{step}: {os.strerror(number)}")
        self.step = step


def _checked(outcome: int, step: str) -> int:
    if outcome < 0:
        raise KernelError(step, ctypes.get_errno())
    return outcome


def call(name: str, *arguments: int | bytes | None) -> int:
    """Make a call that the C library has no function for; its outcome. Raises Refused."""
    if name not in _numbers:
        raise KernelError(name, 38)  # ENOSYS
    given: list[Any] = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return _checked(_libc.syscall(ctypes.c_long(_numbers[name]), *given), name)


def unshare(flags: int) -> None:
    """Leave the namespaces that `flags` (NEW...) name, for new ones.

    NEWPID takes effect for children.
    """
    named = [
        name
        for name in ("NEWUSER", "NEWNS", "NEWPID", "NEWNET", "NEWIPC", "NEWUTS", "NEWCGROUP")
        if flags & globals()[name]
    ]
    _checked(_libc.unshare(flags), f"unshare {' '.join(named)}")


def mount(
    source: str, target: str, kind: str | None = None, flags: int = 0, data: str | None = None
) -> None:
    """mount(2)."""
    words = [None if word is None else word.encode() for word in (source, target, kind, data)]
    _checked(
        _libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]),
        f"mount {kind or 'bind'}",
    )


def bind_read_only(source: str, target: str) -> None:
    """Show `source`, with what is mounted below it, at `target`:

    nobody can write there, no bit or device there has power.
    """
    mount(source, target, None, MS_BIND | MS_REC)
    attributes = struct.pack("QQQQ", _MOUNT_ATTR_RDONLY_NOSUID_NODEV, 0, 0, 0)
    call("mount_setattr", _AT_FDCWD, target.encode(), _AT_RECURSIVE, attributes, len(attributes))


def pivot_root(folder: str, old: str) -> None:
    """Make the mounted `folder` the root, and let go of all that was mounted before; `old` is an
    empty folder in it.
    """
    os.chdir(folder)
    call("pivot_root", b".", old.encode())
    os.chdir("/")
    _checked(_libc.umount2(f"/{old}".encode(), _MNT_DETACH), "umount of the old root")
    Path(f"/{old}").rmdir()


def set_host_name(name: bytes) -> None:
    """Name the machine as programs see it; needs an own UTS namespace."""
    _checked(_libc.sethostname(name, len(name)), "sethostname")


def die_with_parent() -> None:
    """Be killed when the parent's thread ends.

    A change of user, capabilities or user namespace takes it away again.
    """
    _checked(_libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0), "prctl PDEATHSIG")


def set_dumpable(*, yes: bool) -> None:
    """Whether a process of the same user may look into this one, and whether its files in /proc are
    its own.
    """
    _checked(_libc.prctl(_PR_SET_DUMPABLE, int(yes), 0, 0, 0), "prctl DUMPABLE")


def become(uid: int) -> None:
    """Be another user, with the group of the same number and no other, for good."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def drop_capabilities() -> None:
    """Give up all capabilities, also those a file could give back."""
    for capability in range(
        64
    ):  # more than there are; those beyond the last are refused, which is as good
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    call("capset", struct.pack("II", _CAP_VERSION_3, 0), b"\0" * 24)


def no_new_privileges() -> None:
    """No program started from here gains anything. Landlock and seccomp ask for it."""
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl NO_NEW_PRIVS")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def install_filter(program: bytes) -> None:
    """Put a seccomp filter (classic BPF, 8 bytes an instruction) on this thread and all that come
    of it.
    """
    held = _Program(len(program) // 8, program)
    _checked(
        _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(held), 0, 0),
        "prctl SECCOMP",
    )
