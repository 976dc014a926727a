"""A sweep over all system calls with odd arguments: a verdict for each, from within the sandbox.

Each number is tried in a program, and so in a process tree, of its own. The verdicts do not come
from the filter's own table, but from what the kernel did.
"""

from __future__ import annotations

import platform
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from rounds import LONG, rounds

from remembrancer.sandbox.sandbox import Sandbox

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
