"""The seccomp filter for both processors, evaluated as the kernel does."""

from __future__ import annotations

import errno
import struct

import pytest

from remembrancer.sandbox import seccomp, syscalls

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS, ENOTSUP, NOTHING = (
    0x50000 | number for number in (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, 0)
)
KERNEL_NUMBERS = {  # from the tables of the kernel
    "x86_64": {
        "read": 0,
        "openat": 257,
        "clone": 56,
        "prlimit64": 302,
        "landlock_restrict_self": 446,
    },
    "aarch64": {
        "read": 63,
        "openat": 56,
        "clone": 220,
        "prlimit64": 261,
        "landlock_restrict_self": 446,
    },
}
REFUSED = {  # forbidden calls: number on x86_64, on aarch64
    "socket": (41, 198), "connect": (42, 203), "execve": (59, 221), "execveat": (322, 281), "ptrace": (101, 117), "mount": (165, 40),
    "unshare": (272, 97), "setns": (308, 268), "io_uring_setup": (425, 425), "bpf": (321, 280), "memfd_create": (319, 279),
    "process_vm_readv": (310, 270), "add_key": (248, 217), "userfaultfd": (323, 282), "seccomp": (317, 277), "pidfd_open": (434, 434),
    "shmget": (29, 194), "perf_event_open": (298, 241), "setuid": (105, 146), "chroot": (161, 51), "reboot": (169, 142),
}  # fmt: skip


def decide(
    machine: str, number: int, *arguments: int, alone: bool = True, audit: int | None = None
) -> int:
    """Return the filter's decision on a call."""
    data = struct.pack("<IIQ", number, syscalls.AUDIT[machine] if audit is None else audit, 0)
    data += struct.pack("<6Q", *arguments, *([0] * (6 - len(arguments))))
    rows = list(struct.iter_unpack("HBBI", seccomp.program(machine, isolated=alone, own_pid=77)))
    place = content = 0
    while True:
        code, yes, no, value = rows[place]
        place += 1
        if code == 0x20:
            (content,) = struct.unpack_from("<I", data, value)
        elif code == 0x54:
            content &= value
        elif code == 0x06:
            return int(value)
        else:
            true = {0x15: content == value, 0x35: content >= value, 0x45: bool(content & value)}[
                code
            ]
            place += yes if true else no


@pytest.mark.parametrize("machine", syscalls.MACHINES)
def test_syscall_numbers_match_the_kernel(machine: str) -> None:
    numbers = syscalls.numbers(machine)

    assert {name: numbers[name] for name in KERNEL_NUMBERS[machine]} == KERNEL_NUMBERS[machine]
    assert len(set(numbers.values())) == len(numbers)


@pytest.mark.parametrize("machine", syscalls.MACHINES)
def test_unlisted_calls_are_not_permitted(machine: str) -> None:
    column = syscalls.MACHINES[machine]

    assert {
        name: decide(machine, numbers[column]) for name, numbers in REFUSED.items()
    } == dict.fromkeys(REFUSED, EPERM)
    assert decide(machine, 9_999) == EPERM


@pytest.mark.parametrize("machine", syscalls.MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("read", (0,), ALLOW),
        ("openat", (0,), ALLOW),
        ("clone", (0x3D0F00,), ALLOW),  # the C library's flags for a thread
        ("clone", (17,), EPERM),  # the C library's flags for a fork
        ("clone", (0x3D0F00 | 0x10000000,), EPERM),  # a thread in a new user namespace
        ("clone3", (0, 0), ENOSYS),
        ("socketpair", (1, 1), ALLOW),
        ("socketpair", (1, 1 | 0x80000), ALLOW),  # close on exec
        ("socketpair", (1, 2), EPERM),
        ("socketpair", (2, 1), EPERM),
        ("ioctl", (1, 0x5413), ALLOW),
        ("ioctl", (1, 0x5412), EPERM),  # TIOCSTI injects terminal input
        ("ioctl", (1, 0x5413 | 1 << 32), EPERM),
        ("fcntl", (1, 2), ALLOW),
        ("fcntl", (1, 8), EPERM),  # F_SETOWN
        ("fcntl", (1, 10), EPERM),  # F_SETSIG
        ("prlimit64", (0,), ALLOW),
        ("prlimit64", (123,), EPERM),
        ("prctl", (15,), ALLOW),
        ("prctl", (4,), EPERM),
        ("getxattr", (0,), ENOTSUP),
        ("fchmodat", (0,), ALLOW),
        ("kill", (5,), ALLOW),
    ],
)
def test_some_calls_depend_on_their_arguments(
    machine: str, name: str, arguments: tuple[int, ...], answer: int
) -> None:
    assert decide(machine, syscalls.numbers(machine)[name], *arguments) == answer


@pytest.mark.parametrize("machine", syscalls.MACHINES)
def test_program_without_namespaces_can_signal_only_itself(machine: str) -> None:
    numbers = syscalls.numbers(machine)

    assert decide(machine, numbers["kill"], 77, alone=False) == ALLOW
    assert decide(machine, numbers["kill"], 78, alone=False) == EPERM
    assert decide(machine, numbers["tkill"], 77, alone=False) == EPERM
    assert decide(machine, numbers["fchmodat"], alone=False) == NOTHING


def test_calls_of_another_abi_kill_the_process() -> None:
    assert decide("x86_64", 20, audit=0x40000003) == KILL  # 32 bits
    assert decide("x86_64", 0x40000000) == KILL  # x32
    assert decide("aarch64", 20, audit=0x40000028) == KILL
