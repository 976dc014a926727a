"""The zygote: a fresh process with an empty environment that loads the libraries once, locks itself
in, and forks workers ahead of demand.

It never reads a program, so no byte of one can be in what the next is forked from.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn

from . import confine, kernel
from . import plan as plans
from . import root_filesystem as root
from .plan import NS, UNSAFE, WORK, SandboxPlan
from .worker import FAILED, NOTE, READY, TAKEN, work

_PLAN_BYTES_MAX = 1 << 17
_HOST_NAME = b"sandbox"
# workers that may end before their job in the zygote's life; more mean that something is very wrong
_LOST_MAX = 20


def main(descriptor: int) -> NoReturn:
    """Serve the server at the other end of the socket `descriptor` until it goes away."""
    control = socket.socket(fileno=descriptor)
    plan = plans.from_json(control.recv(_PLAN_BYTES_MAX))
    try:
        os.setsid()
        _give_way()
        statm = os.open("/proc/self/statm", os.O_RDONLY)
        _lock_in(plan)
        _load(plan)
        pages = int(os.pread(statm, 100, 0).split()[0])
        os.close(statm)
        _Nursery(plan, control, pages * resource.getpagesize()).keep()
    except OSError as error:
        told = {"step": getattr(error, "step", "zygote"), "why": str(error)}
        control.send(FAILED + json.dumps(told).encode())
    os._exit(1)


def _give_way() -> None:
    """When the machine runs out of memory, the kernel is to end a sandbox before anything else."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")


def _lock_in(plan: SandboxPlan) -> None:
    if plan.level == NS:
        _leave(plan)
    elif os.getuid() == 0 and plan.level != UNSAFE:
        kernel.become(plan.uid)
    os.chdir(WORK if plan.level == NS else plan.root)
    if plan.level != UNSAFE:
        kernel.set_dumpable(yes=False)


def _leave(plan: SandboxPlan) -> None:
    """Get namespaces and a root of our own.

    Root builds it as root, so that nothing in it is the programs' to change.
    """
    others = kernel.NEWNS | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWCGROUP
    user, group = os.getuid(), os.getgid()
    process = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY)
    if user == 0:
        kernel.unshare(others)
        kernel.set_host_name(_HOST_NAME)
        root.build(plan)
        kernel.become(plan.uid)
        user = group = plan.uid
        kernel.set_dumpable(yes=True)  # for the maps below, which belong to root otherwise
        kernel.unshare(kernel.NEWUSER | kernel.NEWNS)
        _map_user(process, user, group)
    else:
        kernel.unshare(kernel.NEWUSER | others)
        _map_user(process, user, group)
        kernel.set_host_name(_HOST_NAME)
        root.build(plan)
    os.close(process)


def _map_user(process: int, user: int, group: int) -> None:
    for name, text in (
        ("setgroups", b"deny"),
        ("uid_map", b"0 %d 1" % user),
        ("gid_map", b"0 %d 1" % group),
    ):
        try:
            file = os.open(name, os.O_WRONLY, dir_fd=process)
        except OSError as error:
            raise kernel.KernelError(f"open {name}", error.errno or 1) from error
        try:
            os.write(file, text)
        except OSError as error:
            raise kernel.KernelError(f"write {name}", error.errno or 1) from error
        finally:
            os.close(file)


def _load(plan: SandboxPlan) -> None:
    """Import what programs will want, draw one figure so that fonts and image writers are warm, and
    keep it from being copied.
    """
    sys.path[:] = [
        path
        for path in sys.path
        if any(path == seen or path.startswith(f"{seen}/") for seen in plan.visible)
    ]
    for name in plan.preload:
        try:
            module: Any = importlib.import_module(name)
        except ImportError:
            continue  # a package that is not installed, or not for this machine
        if name == "matplotlib.pyplot":
            module.plot([0, 1], label="warm")
            module.legend()
            module.title("warm")
            module.savefig("warm.png")
            module.close("all")
    confine.call_filter(plan)
    gc.collect()
    gc.freeze()


class _Nursery:
    """The workers that wait for a job, always `plan.spares` of them."""

    def __init__(self, plan: SandboxPlan, control: socket.socket, memory_bytes_now: int) -> None:
        self._plan, self._control, self._memory_bytes_now = plan, control, memory_bytes_now
        self._notes, self._notes_out = os.pipe()
        self._woken, self._wake = os.pipe()
        for descriptor in (self._notes, self._wake):
            os.set_blocking(descriptor, False)
        os.set_blocking(self._woken, False)
        self._waiting: set[int] = set()
        self._lost = 0
        self._told_ready = False

    def keep(self) -> None:
        """Keep them until the server goes away."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        for _ in range(self._plan.spares):
            self._fork()
        poll = select.poll()
        poll.register(self._notes, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        poll.register(self._control, 0)  # POLLHUP comes unasked
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == self._control.fileno():
                    os._exit(0)
                if descriptor == self._woken:
                    os.read(self._woken, 4_096)
                    self._reap()
                else:
                    self._hear_all()

    def _hear_all(self) -> None:
        """Read all notes there are: each was written whole."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self._hear(*NOTE.unpack(os.read(self._notes, NOTE.size)))

    def _hear(self, what: bytes, pid: int) -> None:
        if what == READY and not self._told_ready:
            self._told_ready = True
            self._control.send(READY)
        elif what == TAKEN:
            self._waiting.discard(pid)
            self._fork()
        elif what == FAILED:
            os._exit(1)  # the worker has told the server why

    def _reap(self) -> None:
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._hear_all()  # what it told before it ended: most of the dead had taken a job
            if pid in self._waiting:
                self._waiting.discard(pid)
                self._lost += 1
                if self._lost > _LOST_MAX:
                    os._exit(1)
                self._fork()

    def _fork(self) -> None:
        pid = os.fork()
        if pid:
            self._waiting.add(pid)
            return
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor in (self._notes, self._woken, self._wake):
            os.close(descriptor)
        work(self._plan, self._control, self._notes_out, self._memory_bytes_now)
