"""Restrict a process's access with Landlock: files by path, no network, no outgoing signals."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Sequence

from . import kernel

# Required without namespaces: from this version (Linux 6.12) Landlock also restricts signals and
# abstract sockets.
SCOPES_ABI_MIN = 6
_VERSION = 1
_RULE_PATH = 1
_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 14
# Remove folders and files; create folders, files and symlinks.
_CREATE_REMOVE = 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 12
_REFER = 1 << 13
_FILE_RIGHTS = _EXECUTE | _WRITE | _READ | _TRUNCATE
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}  # by ABI version
_RIGHTS_5 = (1 << 16) - 1  # from ABI 5: also device ioctls
_TCP = 3  # bind and connect, from ABI 4
_SCOPES = 3  # abstract sockets and signals, from ABI 6


def abi() -> int:
    """Return the kernel's Landlock version; 0 if it has none or it is disabled."""
    try:
        return kernel.call("landlock_create_ruleset", None, 0, _VERSION)
    except OSError:
        return 0


def restrict(*, readable: Sequence[str], writable: Sequence[str], devices: Sequence[str]) -> None:
    """Allow this process to read below `readable`, change below `writable` and use `devices`.

    All other access is denied irrevocably. Paths that do not exist are skipped. Raises KernelError.
    """
    version = abi()
    rights = _RIGHTS.get(version, _RIGHTS_5)
    attributes = struct.pack(
        "QQQ", rights, _TCP if version >= 4 else 0, _SCOPES if version >= 6 else 0
    )
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = kernel.call("landlock_create_ruleset", attributes, size, 0)
    try:
        for paths, access in (
            # The dynamic loader maps libraries as executable; seccomp refuses execve.
            (readable, _EXECUTE | _READ | _LIST),
            (writable, _WRITE | _READ | _LIST | _TRUNCATE | _CREATE_REMOVE | _REFER),
            (devices, _WRITE | _READ),
        ):
            for path in paths:
                _allow(rules, path, access & rights)
        kernel.call("landlock_restrict_self", rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            access &= _FILE_RIGHTS
        kernel.call(
            "landlock_add_rule", rules, _RULE_PATH, struct.pack("=Qi", access, descriptor), 0
        )
    finally:
        os.close(descriptor)
