"""The seccomp filter for both processors, evaluated as the kernel does."""

from __future__ import annotations

import errno
import platform
import struct
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from rounds import LONG, rounds

from remembrancer.sandbox import seccomp, syscalls
from remembrancer.sandbox.sandbox import Sandbox

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


NUMBERS = [*range(480), *range(512, 548), 1_000, 0xFFFF, 0x3FFFFFFF]
X32 = 0x40000000  # the other ABI of x86-64: its calls kill the process
_SWEEP = """
import ctypes, errno, json, os
libc = ctypes.CDLL(None, use_errno=True)
text = ctypes.create_string_buffer(b"/etc/passwd\\0" + b"x" * 4096)
blank = ctypes.create_string_buffer(4096)
TEXT, BLANK = ctypes.addressof(text), ctypes.addressof(blank)
ODD = [
    (0, 0, 0, 0, 0, 0), (-1,) * 6, (1, 1, 1, 1, 1, 1), (TEXT, BLANK, 64, 0, 0, 0),
    (BLANK, TEXT, BLANK, 1, TEXT, 0), (-100, TEXT, 0, 0, 0, 0), (0x7FFFFFFFFFFFFFFF,) * 6,
    (2, 3, 0, 0, 0, 0), (10, 2, 0, 0, 0, 0), (0x10000000, 0, 0, 0, 0, 0), (os.getpid(), 0, 0, 0, 0, 0),
    (1, TEXT, 0xFFFF, 0, BLANK, 0), (4096, 4096, 4096, 4096, 4096, 4096),
]
for place, words in enumerate(ODD):
    ctypes.set_errno(0)
    value = libc.syscall(ctypes.c_long(@NUMBER@), *map(ctypes.c_long, words))
    name = errno.errorcode.get(ctypes.get_errno(), "?") if value == -1 else "0"
    os.write(2, f"{place}:{name} ".encode())
"""
# By number on x86-64: calls that must do nothing, with whatever arguments.
FORBIDDEN = {
    41: "socket", 42: "connect", 43: "accept", 49: "bind", 50: "listen", 57: "fork", 58: "vfork",
    59: "execve", 101: "ptrace", 103: "syslog", 105: "setuid", 106: "setgid", 113: "setreuid",
    116: "setgroups", 117: "setresuid", 135: "personality", 136: "ustat", 153: "vhangup",
    154: "modify_ldt", 155: "pivot_root", 156: "sysctl", 159: "adjtimex", 161: "chroot",
    163: "acct", 164: "settimeofday", 165: "mount", 166: "umount2", 167: "swapon", 169: "reboot",
    170: "sethostname", 172: "iopl", 173: "ioperm", 174: "create_module", 175: "init_module",
    179: "quotactl", 203: "sched_setaffinity", 212: "lookup_dcookie", 216: "remap_file_pages",
    227: "clock_settime", 237: "mbind", 246: "kexec_load", 248: "add_key", 250: "keyctl",
    253: "inotify_init", 272: "unshare", 298: "perf_event_open", 300: "fanotify_init",
    304: "open_by_handle_at", 308: "setns", 310: "process_vm_readv", 311: "process_vm_writev",
    312: "kcmp", 313: "finit_module", 317: "seccomp", 319: "memfd_create", 320: "kexec_file_load",
    321: "bpf", 322: "execveat", 323: "userfaultfd", 425: "io_uring_setup", 428: "open_tree",
    429: "move_mount", 430: "fsopen", 432: "fsmount", 434: "pidfd_open", 438: "pidfd_getfd",
    440: "process_madvise", 443: "quotactl_fd", 447: "memfd_secret", 448: "process_mrelease",
    463: "setxattrat", 467: "open_tree_attr",
}  # fmt: skip


def sweep(box: Sandbox, number: int) -> tuple[str, list[str]]:
    """Try a number with all arguments; return how the program ended, and each result."""
    run = box.run(_SWEEP.replace("@NUMBER@", str(number)), seconds=0.4)
    how = run.stopped or (f"signal {run.signal}" if run.signal else "ended")
    return how, [word.partition(":")[2] for word in run.stderr.split() if ":" in word]


@pytest.mark.long
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")
def test_no_system_call_gets_out_with_odd_arguments(box: Sandbox) -> None:
    """Forbidden calls always fail, unknown ones too, and the sandbox goes on after each."""
    numbers = NUMBERS if LONG else sorted({*NUMBERS[::12], *list(FORBIDDEN)[::6]})
    with ThreadPoolExecutor(2) as pool:
        verdicts = dict(zip(numbers, pool.map(lambda n: sweep(box, n), numbers), strict=True))

    ends = Counter(how for how, _ in verdicts.values())
    passes = sum("0" in results for _, results in verdicts.values())
    print(  # noqa: T201  the verdict in figures (pytest -s)
        f"\n{len(verdicts)} calls, {passes} ever succeed; their programs: {dict(ends)}"
    )
    for number, (how, results) in verdicts.items():
        if number in FORBIDDEN or number >= 480:
            assert how == "ended", (number, how)
            assert "0" not in results, (number, FORBIDDEN.get(number), results)
    assert len(verdicts) >= rounds(50, 500)
    assert box.run("print('alive')").stdout == "alive\n"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86-64 has this ABI")
@pytest.mark.parametrize("number", [X32 | 1, X32 | 59, X32 | 512])
def test_call_through_another_abi_kills_the_program(box: Sandbox, number: int) -> None:
    assert sweep(box, number)[0] == "signal SIGSYS"
