"""Build the seccomp filter of programs: an allowlist of system calls; all others fail with EPERM.

A forbidden call returns an error instead of killing the process, so that a library which makes an
unexpected call can handle it. Sandboxes that kill lost 0.1 % of harmless runs this way. Only calls
through another ABI (32-bit, x32), which no harmless program makes, kill the process.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Sequence

from . import syscalls

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN, _AND = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x50000
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_X32 = 0x40000000
_CLONE_NEW, _CLONE_THREAD = 0x7E020000 | 0x80, 0x10000  # any new namespace; a thread
_AF_UNIX, _SOCK_STREAM, _SOCK_KIND = 1, 1, 0xF
# FIONREAD FIONBIO TCGETS TIOCGWINSZ FIONCLEX FIOCLEX
_IOCTLS = (0x541B, 0x5421, 0x5401, 0x5413, 0x5450, 0x5451)
# Duplicates, flags and locks, but not F_SETOWN, which makes the kernel send signals.
_FCNTLS = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032)
_PRCTLS = (3, 15, 16, 0x53564D41)  # GET_DUMPABLE SET_NAME GET_NAME SET_VMA
_DENY = _ERRNO | errno.EPERM

Instruction = tuple[int, int, int, int]  # code, steps to skip if true, if false, value


def program(machine: str, *, isolated: bool, own_pid: int = 0) -> bytes:
    """Return the filter for `machine`, one of syscalls.MACHINES, as classic BPF.

    `isolated` means that the process has a pid namespace and a root of its own, so that it may
    signal every process and change the metadata of every file it sees. Otherwise it may signal only
    `own_pid`. Raises KeyError for another machine.
    """
    numbers = syscalls.numbers(machine)
    out: list[Instruction] = [
        (_LOAD, 0, 0, _MACHINE),
        (_EQUAL, 1, 0, syscalls.AUDIT[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        out += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    rules: dict[str, list[Instruction]] = {
        "clone": _threads_only(),
        "socketpair": _stream_pairs_only(),
        "ioctl": _one_of(1, _IOCTLS),
        "fcntl": _one_of(1, _FCNTLS),
        "prctl": _one_of(0, _PRCTLS),
        "prlimit64": _one_of(0, (0,)),
        # The flags of clone3 are behind a pointer; on ENOSYS the C library falls back to clone.
        "clone3": [(_RETURN, 0, 0, _ERRNO | errno.ENOSYS)],
        "openat2": [(_RETURN, 0, 0, _ERRNO | errno.ENOSYS)],
    }
    signals: list[Instruction] = [(_RETURN, 0, 0, _ALLOW)] if isolated else _one_of(0, (own_pid,))
    rules |= {"kill": signals, "tgkill": signals} | ({"tkill": signals} if isolated else {})
    rules |= {name: [(_RETURN, 0, 0, _ALLOW if isolated else _ERRNO)] for name in syscalls.METADATA}
    rules |= {name: [(_RETURN, 0, 0, _ERRNO | errno.EOPNOTSUPP)] for name in syscalls.ATTRIBUTES}
    rules |= {name: [(_RETURN, 0, 0, _ALLOW)] for name in syscalls.UNCONDITIONAL}
    for name, rule in rules.items():
        if name in numbers:
            out += [(_EQUAL, 0, len(rule), numbers[name]), *rule]
    out.append((_RETURN, 0, 0, _DENY))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in out)


def _argument(position: int) -> int:
    """Return the offset of the argument's low half (little-endian); the high half is 4 further."""
    return _ARGUMENTS + 8 * position


def _one_of(position: int, values: Sequence[int], mask: int | None = None) -> list[Instruction]:
    """Return instructions that allow a call if the argument at `position` is one of `values`.

    Its high half must be 0; `mask` is applied to the low half first.
    """
    out: list[Instruction] = [
        (_LOAD, 0, 0, _argument(position) + 4),
        (_EQUAL, 1, 0, 0),
        (_RETURN, 0, 0, _DENY),
        (_LOAD, 0, 0, _argument(position)),
    ]
    if mask is not None:
        out.append((_AND, 0, 0, mask))
    for value in values:
        out += [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW)]
    return [*out, (_RETURN, 0, 0, _DENY)]


def _threads_only() -> list[Instruction]:
    return [
        (_LOAD, 0, 0, _argument(0)),
        (_ANY_BIT, 0, 1, _CLONE_NEW),
        (_RETURN, 0, 0, _DENY),
        (_ANY_BIT, 0, 1, _CLONE_THREAD),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _DENY),
    ]


def _stream_pairs_only() -> list[Instruction]:
    # asyncio needs a stream pair. A datagram pair could send to any socket on the machine that has
    # a path.
    return [
        (_LOAD, 0, 0, _argument(0)),
        (_EQUAL, 1, 0, _AF_UNIX),
        (_RETURN, 0, 0, _DENY),
        *_one_of(1, (_SOCK_STREAM,), _SOCK_KIND),
    ]
