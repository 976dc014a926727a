"""The zygote: load the libraries once, confine this process, and fork workers ahead of demand.

The zygote starts with an empty environment and never reads a program, so a forked worker cannot
contain any data of an earlier program.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
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
from .worker import ACCEPTED, FAILED, NOTE, READY, work

_PLAN_BYTES_MAX = 1 << 17
_HOST_NAME = b"sandbox"
# Workers that may die before they accept a job. More mean that every worker fails: give up.
_LOST_MAX = 20


def main(descriptor: int) -> NoReturn:
    """Supply the server at the other end of the socket `descriptor` with workers until it exits."""
    control = socket.socket(fileno=descriptor)
    plan = plans.from_json(control.recv(_PLAN_BYTES_MAX))
    try:
        os.setsid()
        with contextlib.suppress(OSError):  # when memory runs out, the kernel kills these first
            Path("/proc/self/oom_score_adj").write_text("1000", "ascii")
        statm = os.open("/proc/self/statm", os.O_RDONLY)
        _confine(plan)
        _preload(plan)
        pages = int(os.pread(statm, 100, 0).split()[0])
        os.close(statm)
        _WorkerPool(plan, control, pages * resource.getpagesize()).serve()
    except OSError as error:
        control.send(FAILED + str(error).encode("utf-8", "replace"))
    os._exit(1)


def _confine(plan: SandboxPlan) -> None:
    if plan.level == NS:
        _enter_namespaces(plan)
    elif os.getuid() == 0 and plan.level != UNSAFE:
        kernel.become_user(plan.uid)
    os.chdir(WORK if plan.level == NS else plan.root)
    if plan.level != UNSAFE:
        kernel.set_dumpable(yes=False)


def _enter_namespaces(plan: SandboxPlan) -> None:
    """Enter new namespaces and build a root file system.

    If the server runs as root, root owns these files, so that programs cannot change them.
    """
    others = kernel.NEWNS | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWCGROUP
    user, group = os.getuid(), os.getgid()
    process = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY)
    if user == 0:
        kernel.unshare(others)
        kernel.set_host_name(_HOST_NAME)
        root.build(plan)
        kernel.become_user(plan.uid)
        user = group = plan.uid
        kernel.set_dumpable(yes=True)  # otherwise root owns the map files below
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
        step = f"open {name}"
        try:
            with os.fdopen(os.open(name, os.O_WRONLY, dir_fd=process), "wb", buffering=0) as file:
                step = f"write {name}"
                file.write(text)
        except OSError as error:
            raise kernel.KernelError(step, error.errno or 1) from error


def _preload(plan: SandboxPlan) -> None:
    """Import the libraries of `plan.preload` and draw a figure, to load fonts and image writers.

    Freeze the garbage collector afterwards, so that forks keep sharing the memory.
    """
    sys.path[:] = filter(plan.can_read, sys.path)
    for name in plan.preload:
        try:
            module: Any = importlib.import_module(name)
        except ImportError:
            continue  # not installed, or not available for this machine
        if name == "matplotlib.pyplot":
            module.plot([0, 1], label="warm")
            module.legend()
            module.title("warm")
            module.savefig("warm.png")
            module.close("all")
    confine.call_filter(plan)
    gc.collect()
    gc.freeze()


class _WorkerPool:
    """The workers that wait for a job: always `plan.spares` of them."""

    def __init__(self, plan: SandboxPlan, control: socket.socket, memory_bytes_now: int) -> None:
        self._plan, self._control, self._memory_bytes_now = plan, control, memory_bytes_now
        self._notes, self._notes_out = os.pipe()
        self._wake_reader, self._wake_writer = os.pipe()
        for descriptor in (self._notes, self._wake_reader, self._wake_writer):
            os.set_blocking(descriptor, False)
        self._waiting: set[int] = set()
        self._lost = 0
        self._ready_sent = False

    def serve(self) -> None:
        """Fork workers as they are needed, until the server goes away."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        for _ in range(self._plan.spares):
            self._fork()
        poll = select.poll()
        poll.register(self._notes, select.POLLIN)
        poll.register(self._wake_reader, select.POLLIN)
        poll.register(self._control, 0)  # POLLHUP is always reported
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == self._control.fileno():
                    os._exit(0)
                if descriptor == self._wake_reader:
                    os.read(self._wake_reader, 4_096)
                    self._reap()
                else:
                    self._read_notes()

    def _read_notes(self) -> None:
        """Handle all notes in the pipe. Each was written atomically."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self._handle_note(*NOTE.unpack(os.read(self._notes, NOTE.size)))

    def _handle_note(self, event: bytes, pid: int) -> None:
        if event == READY and not self._ready_sent:
            self._ready_sent = True
            self._control.send(READY)
        elif event == ACCEPTED:
            self._waiting.discard(pid)
            self._fork()
        elif event == FAILED:
            os._exit(1)  # the worker has sent the reason to the server

    def _reap(self) -> None:
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._read_notes()  # most workers that exit had accepted a job
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
        for descriptor in (self._notes, self._wake_reader, self._wake_writer):
            os.close(descriptor)
        work(self._plan, self._control, self._notes_out, self._memory_bytes_now)
