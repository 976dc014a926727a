"""System calls that the standard library does not offer: namespaces, mounts, capabilities, prctl.

Each function raises KernelError, which names the step that failed.
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
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
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
    """The kernel refused a step, which the message names."""

    def __init__(self, step: str, number: int) -> None:
        super().__init__(number, f"{step}: {os.strerror(number)}")


def _check(result: int, step: str) -> int:
    if result < 0:
        raise KernelError(step, ctypes.get_errno())
    return result


def call(name: str, *arguments: int | bytes | None) -> int:
    """Make a system call by name and return its result."""
    if name not in _numbers:
        raise KernelError(name, 38)  # ENOSYS
    values: list[Any] = [
        ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments
    ]
    return _check(_libc.syscall(ctypes.c_long(_numbers[name]), *values), name)


def unshare(flags: int) -> None:
    """Move this process into new namespaces (`flags`: NEW…). NEWPID applies to its children."""
    names = [
        name
        for name in ("NEWUSER", "NEWNS", "NEWPID", "NEWNET", "NEWIPC", "NEWUTS", "NEWCGROUP")
        if flags & globals()[name]
    ]
    _check(_libc.unshare(flags), f"unshare {' '.join(names)}")


def mount(
    source: str, target: str, kind: str | None = None, flags: int = 0, data: str | None = None
) -> None:
    """Mount a file system: mount(2)."""
    raw_source, raw_target, raw_kind, raw_data = (
        None if text is None else text.encode() for text in (source, target, kind, data)
    )
    _check(
        _libc.mount(raw_source, raw_target, raw_kind, ctypes.c_ulong(flags), raw_data),
        f"mount {kind or 'bind'}",
    )


def bind_read_only(source: str, target: str) -> None:
    """Bind-mount `source` and all mounts below it at `target`: read-only, nosuid and nodev."""
    mount(source, target, None, MS_BIND | MS_REC)
    attributes = struct.pack("QQQQ", _MOUNT_ATTR_RDONLY_NOSUID_NODEV, 0, 0, 0)
    call("mount_setattr", _AT_FDCWD, target.encode(), _AT_RECURSIVE, attributes, len(attributes))


def pivot_root(folder: str, old: str) -> None:
    """Make the mounted `folder` the root and detach the old root.

    `old` is an empty folder in it.
    """
    os.chdir(folder)
    call("pivot_root", b".", old.encode())
    os.chdir("/")
    _check(_libc.umount2(f"/{old}".encode(), _MNT_DETACH), "umount of the old root")
    Path(f"/{old}").rmdir()


def set_host_name(name: bytes) -> None:
    """Set the host name that programs see; needs a UTS namespace of its own."""
    _check(_libc.sethostname(name, len(name)), "sethostname")


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the parent's thread ends.

    A change of user, capabilities or user namespace resets this.
    """
    _check(_libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0), "prctl PDEATHSIG")


def set_dumpable(*, yes: bool) -> None:
    """Set whether this process is dumpable.

    If it is, processes of the same user may trace it, and it owns its files in /proc.
    """
    _check(_libc.prctl(_PR_SET_DUMPABLE, int(yes), 0, 0, 0), "prctl DUMPABLE")


def become_user(uid: int) -> None:
    """Switch to user `uid` irrevocably, with the group of the same number and no other."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def drop_capabilities() -> None:
    """Drop all capabilities, including those that executing a file could restore."""
    for capability in range(64):  # more than exist; the kernel refuses the rest, which is harmless
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    call("capset", struct.pack("II", _CAP_VERSION_3, 0), b"\0" * 24)


def set_no_new_privileges() -> None:
    """Forbid gaining privileges through execve. Landlock and seccomp require it."""
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl NO_NEW_PRIVS")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def install_filter(program: bytes) -> None:
    """Install a seccomp filter (classic BPF, 8 bytes per instruction) on this thread.

    Threads and processes that it starts inherit the filter.
    """
    bpf_program = _Program(len(program) // 8, program)
    _check(
        _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(bpf_program), 0, 0),
        "prctl SECCOMP",
    )
