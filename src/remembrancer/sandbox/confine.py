"""Confine this process irrevocably, then wait for a program and run it.

The order of the steps matters: each one needs rights that the next one removes.
"""

from __future__ import annotations

import os
import resource
import signal
from functools import cache

from . import kernel, landlock, program, seccomp, syscalls
from .plan import DESCRIPTORS_MAX, GVISOR, ISOLATED_LEVELS, NS, UNSAFE, SandboxPlan
from .root_filesystem import DEVICES, tmp_is_free

_NICE = 5
# Without namespaces the kernel counts all processes of the user, including the server's.
_SHARED_PROCESSES_MAX = 4_096
_STANDARD_STREAMS = 3  # standard input, output and error


def confine_and_run(
    plan: SandboxPlan, folder: str, *, memory_bytes_now: int, pipes: tuple[int, int, int, int, int]
) -> None:
    """Confine this process to `folder`, report readiness, read the code and run it. Never return.

    `pipes`: code (read end), then standard output, standard error, report and readiness (write
    ends). Raises OSError when the kernel refuses a step.
    """
    code_pipe, report, ready = _arrange_descriptors(pipes)
    os.chdir(folder)
    os.setsid()
    os.nice(_NICE)
    if plan.level == NS:
        kernel.unshare(kernel.NEWUSER)  # no user of the new namespace is mapped to this process
    _limit(plan, memory_bytes_now)
    if plan.level == GVISOR:
        kernel.become_user(plan.uid)
    if plan.level != UNSAFE:
        kernel.drop_capabilities()
    kernel.die_with_parent()  # after the steps above, which reset it
    kernel.set_no_new_privileges()
    if plan.level != UNSAFE:
        if plan.level != GVISOR:  # gVisor has no Landlock, and its root holds nothing else
            _restrict_files(plan, folder)
        kernel.install_filter(call_filter(plan))
    os.write(ready, b"G")
    os.close(ready)
    code = bytearray()
    while chunk := os.read(code_pipe, 1 << 16):
        code += chunk
    os.close(code_pipe)
    program.run(code.decode("utf-8", "replace"), report)


def call_filter(plan: SandboxPlan) -> bytes:
    """Return the seccomp filter for a program's system calls.

    Where the filter is the same for all processes it is built once, before the forks, so that warm
    processes share its memory.
    """
    if plan.level in ISOLATED_LEVELS:
        return _isolated_filter()
    return seccomp.program(syscalls.machine(), isolated=False, own_pid=os.getpid())


@cache
def _isolated_filter() -> bytes:
    return seccomp.program(syscalls.machine(), isolated=True)


def _arrange_descriptors(pipes: tuple[int, int, int, int, int]) -> tuple[int, int, int]:
    """Keep standard input, output and error, and report, code and readiness as 3, 4 and 5.

    Close all other descriptors. Return those of code, report and readiness.
    """
    code, output, errors, report, ready = pipes
    null = os.open("/dev/null", os.O_RDONLY)
    first_free = max(*pipes, null) + 1
    sources = (null, output, errors, report, code, ready)
    for target, descriptor in enumerate(sources):
        os.dup2(descriptor, first_free + target)
    for target in range(len(sources)):
        os.dup2(first_free + target, target, inheritable=target < _STANDARD_STREAMS)
    os.closerange(len(sources), os.sysconf("SC_OPEN_MAX"))
    return 4, 3, 5


def _limit(plan: SandboxPlan, memory_bytes_now: int) -> None:
    bounds = plan.bounds
    limits = {
        resource.RLIMIT_AS: memory_bytes_now + bounds.memory_bytes,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: DESCRIPTORS_MAX,
        resource.RLIMIT_FSIZE: bounds.disk_bytes,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: 64,
        resource.RLIMIT_NPROC: _processes_max(plan),
        # A second line of defence: the worker enforces the wall-clock limit.
        resource.RLIMIT_CPU: bounds.seconds_max * bounds.threads,
    }
    if plan.level == GVISOR:  # gVisor supports neither of these two limits
        del limits[resource.RLIMIT_MSGQUEUE], limits[resource.RLIMIT_SIGPENDING]
    for name, maximum in limits.items():
        resource.setrlimit(name, (maximum, maximum))
    # Writing past the file size limit raises an error in the program instead of killing it.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def _processes_max(plan: SandboxPlan) -> int:
    """Return the limit of processes and threads. `bounds.threads` counts without the first one."""
    if plan.level not in ISOLATED_LEVELS:
        return _SHARED_PROCESSES_MAX
    return plan.bounds.threads + (plan.level != GVISOR)  # gVisor itself does not count the first


def _restrict_files(plan: SandboxPlan, folder: str) -> None:
    writable = [folder]
    if plan.level == NS and tmp_is_free(plan):
        writable.append("/tmp")  # noqa: S108 - bound to the working folder
    readable = [path for path in plan.visible if plan.level == NS or not path.startswith("/etc")]
    readable += (
        ["/etc"] if plan.level == NS else ["/etc/fonts", "/etc/ld.so.cache", "/etc/localtime"]
    )
    landlock.restrict(readable=readable, writable=writable, devices=DEVICES)
