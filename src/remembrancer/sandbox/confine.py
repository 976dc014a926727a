"""Confine this process, for good, then wait for a program and run it.

The order matters: each step needs what the next takes away.
"""

from __future__ import annotations

import os
import resource
import signal
from functools import cache

from . import kernel, landlock, program, seccomp, syscalls
from .plan import ALONE, DESCRIPTORS_MAX, GVISOR, NS, UNSAFE, SandboxPlan
from .root_filesystem import DEVICES, tmp_is_free

_NICE = 5
_ALONE_THREADS_MAX = (
    4_096  # without namespaces the kernel counts all processes of the user, the server's too
)
_STANDARD = 3  # standard input, output and error


def run_when_told(
    plan: SandboxPlan, folder: str, *, memory_bytes_now: int, pipes: tuple[int, int, int, int, int]
) -> None:
    """Confine this process to `folder`, say so, wait for the code, run it. Never returns.

    `pipes`: code to read, standard output, standard error, report and readiness to write. Raises
    OSError when a step is refused.
    """
    code_at, report, ready = _arrange(pipes)
    os.chdir(folder)
    os.setsid()
    os.nice(_NICE)
    if plan.level == NS:
        kernel.unshare(kernel.NEWUSER)  # one in which this process is nobody
    _limit(plan, memory_bytes_now)
    if plan.level == GVISOR:
        kernel.become(plan.uid)
    if plan.level != UNSAFE:
        kernel.drop_capabilities()
    kernel.die_with_parent()  # not earlier: the two above take it away
    kernel.no_new_privileges()
    if plan.level != UNSAFE:
        if plan.level != GVISOR:  # which has no Landlock, and nothing to show but its own
            _restrict_files(plan, folder)
        kernel.install_filter(call_filter(plan))
    os.write(ready, b"G")
    os.close(ready)
    code = bytearray()
    while piece := os.read(code_at, 1 << 16):
        code += piece
    os.close(code_at)
    program.run(code.decode("utf-8", "replace"), report)


def call_filter(plan: SandboxPlan) -> bytes:
    """Which calls a program may make.

    Made once and then only read where it is the same for all, which saves each warm process memory.
    """
    return (
        _same_for_all()
        if plan.level in ALONE
        else seccomp.program(syscalls.machine(), alone=False, own_pid=os.getpid())
    )


@cache
def _same_for_all() -> bytes:
    return seccomp.program(syscalls.machine(), alone=True)


def _arrange(pipes: tuple[int, int, int, int, int]) -> tuple[int, int, int]:
    """Leave this process the standard three, and code, report and readiness as 3, 4 and 5; close
    all else. The last three.
    """
    code, output, errors, report, ready = pipes
    nothing = os.open("/dev/null", os.O_RDONLY)
    beyond = max(*pipes, nothing) + 1
    wanted = (nothing, output, errors, report, code, ready)
    for place, descriptor in enumerate(wanted):
        os.dup2(descriptor, beyond + place)
    for place in range(len(wanted)):
        os.dup2(beyond + place, place, inheritable=place < _STANDARD)
    os.closerange(len(wanted), os.sysconf("SC_OPEN_MAX"))
    return 4, 3, 5


def _limit(plan: SandboxPlan, memory_bytes_now: int) -> None:
    bounds = plan.bounds
    both = {
        resource.RLIMIT_AS: memory_bytes_now + bounds.memory_bytes,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: DESCRIPTORS_MAX,
        resource.RLIMIT_FSIZE: bounds.disk_bytes,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: 64,
        resource.RLIMIT_NPROC: bounds.threads if plan.level in ALONE else _ALONE_THREADS_MAX,
        resource.RLIMIT_CPU: bounds.seconds_max
        * bounds.threads,  # the worker watches the clock; this is for a worker that cannot
    }
    if plan.level == GVISOR:  # its kernel has neither such queues nor this limit
        del both[resource.RLIMIT_MSGQUEUE], both[resource.RLIMIT_SIGPENDING]
    for what, most in both.items():
        resource.setrlimit(what, (most, most))
    signal.signal(
        signal.SIGXFSZ, signal.SIG_IGN
    )  # a file that is too long is an error the program sees, not its end


def _restrict_files(plan: SandboxPlan, folder: str) -> None:
    writable = [folder]
    if plan.level == NS and tmp_is_free(plan):
        writable.append("/tmp")  # noqa: S108 - the working folder again
    readable = [path for path in plan.visible if plan.level == NS or not path.startswith("/etc")]
    readable += (
        ["/etc"] if plan.level == NS else ["/etc/fonts", "/etc/ld.so.cache", "/etc/localtime"]
    )
    landlock.restrict(readable=readable, writable=writable, devices=DEVICES)
