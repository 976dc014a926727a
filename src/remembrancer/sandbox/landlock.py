"""Which files a process may touch, by the kernel's Landlock:

nothing but what is named here, no network, no signal to the outside.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Sequence

from . import kernel

ALONE_ABI_MIN = (
    6  # without namespaces: from here on it also keeps signals and abstract sockets in (Linux 6.12)
)
_VERSION = 1
_RULE_PATH = 1
_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_MAKE = (
    1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 12
)  # remove folders and files, make folders, files and symlinks
_REFER = 1 << 13
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE
_RIGHTS = {
    1: (1 << 13) - 1,
    2: (1 << 14) - 1,
    3: (1 << 15) - 1,
    4: (1 << 15) - 1,
}  # by ABI; from 5 on also device ioctls
_RIGHTS_5 = (1 << 16) - 1
_TCP = 3  # bind and connect, from ABI 4 on
_SCOPES = 3  # abstract sockets and signals, from ABI 6 on


def abi() -> int:
    """The kernel's version of Landlock; 0 when it has none or it is switched off."""
    try:
        return kernel.call("landlock_create_ruleset", None, 0, _VERSION)
    except OSError:
        return 0


def restrict(*, readable: Sequence[str], writable: Sequence[str], devices: Sequence[str]) -> None:
    """Let this process read what is below `readable`, change what is below `writable`, use
    `devices`, and nothing else, for good.

    Paths that do not exist are passed over. Raises Refused.
    """
    version = abi()
    rights = _RIGHTS.get(version, _RIGHTS_5)
    asked = struct.pack("QQQ", rights, _TCP if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = kernel.call("landlock_create_ruleset", asked, size, 0)
    try:
        for paths, access in (
            (
                readable,
                _EXECUTE | _READ | _LIST,
            ),  # execute is for the loader's sake: seccomp refuses execve
            (writable, _WRITE | _READ | _LIST | _TRUNCATE | _MAKE | _REFER),
            (devices, _WRITE | _READ),
        ):
            for path in paths:
                _allow(rules, path, access & rights)
        kernel.call("landlock_restrict_self", rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, access: int) -> None:
    try:
        found = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(found).st_mode):
            access &= _OF_FILES
        kernel.call("landlock_add_rule", rules, _RULE_PATH, struct.pack("=Qi", access, found), 0)
    finally:
        os.close(found)
