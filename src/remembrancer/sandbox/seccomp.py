"""Which calls of the kernel a program may make, as a filter the kernel runs: an allowlist, whose
answer to the rest is "not permitted".

Never a kill: an unforeseen call of a library then is an error the program can handle, not a mystery
(others lost 0.1 % of honest runs so). Only calls of a foreign kind (32 bits, x32), which no honest
program makes, end the process.
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
_CLONE_NEW, _CLONE_THREAD = (
    0x7E020000 | 0x80,
    0x10000,
)  # any new namespace; a thread of this process
_AF_UNIX, _SOCK_STREAM, _SOCK_KIND = 1, 1, 0xF
_IOCTLS = (
    0x541B,
    0x5421,
    0x5401,
    0x5413,
    0x5450,
    0x5451,
)  # FIONREAD FIONBIO TCGETS TIOCGWINSZ FIONCLEX FIOCLEX
_FCNTLS = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    36,
    37,
    38,
    1030,
    1032,
)  # copies, flags and locks; not F_SETOWN, which makes the kernel send signals
_PRCTLS = (3, 15, 16, 0x53564D41)  # GET_DUMPABLE SET_NAME GET_NAME SET_VMA
_DENY = _ERRNO | errno.EPERM

Instruction = tuple[int, int, int, int]  # code, steps to skip if true, if false, value


def program(machine: str, *, alone: bool, own_pid: int = 0) -> bytes:
    """The filter for `machine` (of syscalls.MACHINES).

    `alone`: the process has a pid namespace and a root of its own, so that it may signal and mark
    whatever it sees; else it may signal `own_pid` only. Raises KeyError for another machine.
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
    asked: dict[str, list[Instruction]] = {
        "clone": _threads_only(),
        "socketpair": _stream_pairs_only(),
        "ioctl": _one_of(1, _IOCTLS),
        "fcntl": _one_of(1, _FCNTLS),
        "prctl": _one_of(0, _PRCTLS),
        "prlimit64": _one_of(0, (0,)),
        "clone3": [
            (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)
        ],  # its flags are behind a pointer; the C library falls back to clone
        "openat2": [(_RETURN, 0, 0, _ERRNO | errno.ENOSYS)],
    }
    signals: list[Instruction] = [(_RETURN, 0, 0, _ALLOW)] if alone else _one_of(0, (own_pid,))
    asked |= {"kill": signals, "tgkill": signals} | ({"tkill": signals} if alone else {})
    asked |= {name: [(_RETURN, 0, 0, _ALLOW if alone else _ERRNO)] for name in syscalls.MARKS}
    asked |= {name: [(_RETURN, 0, 0, _ERRNO | errno.EOPNOTSUPP)] for name in syscalls.ATTRIBUTES}
    asked |= {name: [(_RETURN, 0, 0, _ALLOW)] for name in syscalls.PLAIN}
    for name, answer in asked.items():
        if name in numbers:
            out += [(_EQUAL, 0, len(answer), numbers[name]), *answer]
    out.append((_RETURN, 0, 0, _DENY))
    return b"".join(struct.pack("HBBI", *one) for one in out)


def _argument(place: int) -> int:
    return (
        _ARGUMENTS + 8 * place
    )  # the low half on a little-endian machine, as both are; the high half is 4 further


def _one_of(place: int, values: Sequence[int], mask: int | None = None) -> list[Instruction]:
    """Allow when the argument at `place` is one of `values`, whose high half is 0."""
    found: list[Instruction] = [
        (_LOAD, 0, 0, _argument(place) + 4),
        (_EQUAL, 1, 0, 0),
        (_RETURN, 0, 0, _DENY),
    ]
    found.append((_LOAD, 0, 0, _argument(place)))
    if mask is not None:
        found.append((_AND, 0, 0, mask))
    for value in values:
        found += [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW)]
    return [*found, (_RETURN, 0, 0, _DENY)]


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
    # asyncio needs a pair; a pair of datagram sockets could send to any socket of the machine that
    # has a path
    return [
        (_LOAD, 0, 0, _argument(0)),
        (_EQUAL, 1, 0, _AF_UNIX),
        (_RETURN, 0, 0, _DENY),
        *_one_of(1, (_SOCK_STREAM,), _SOCK_KIND),
    ]
