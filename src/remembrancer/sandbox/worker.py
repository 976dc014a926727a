"""A worker: forked ahead of demand, it keeps one confined process ready, gives it one job, watches
it, ends it, and tells the outcome.

It never runs a line of the program itself, and reads what the program left only when all of it is
dead.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any, NoReturn

from . import confine, kernel
from . import messages as wire
from . import root_filesystem as root
from .collect import CollectedFiles, collect, used
from .plan import ALONE, INODES_MAX, NS, OUTPUT_BYTES_LAST, REPORT_BYTES_MAX, WORK, SandboxPlan

NOTE = struct.Struct("ci")  # what happened (READY, TAKEN, FAILED), and to which process
READY, TAKEN, FAILED = b"G", b"T", b"E"
_PIECE = 1 << 16
_LOOK_SECONDS = 0.05  # how often the working folder is measured where nothing else bounds it
_DEEP = 20_000  # frames: more than folders can be nested before that is noticed


@dataclass(slots=True)
class OutputStream:
    """What came out of one pipe. `seen` counts what was not kept, too."""

    keep_most: int
    kept: bytearray
    seen: int = 0

    def add(self, piece: bytes) -> None:
        """Count it, and keep what there is room for."""
        self.seen += len(piece)
        room = self.keep_most - len(self.kept)
        if room > 0:
            self.kept += piece[:room]

    def read(self, descriptor: int) -> bool:
        """Add the next piece there is; whether there was one, which there is not at the end."""
        piece = os.read(descriptor, _PIECE)
        self.add(piece)
        return bool(piece)

    @property
    def cut(self) -> bool:
        """Whether something was not kept."""
        return self.seen > len(self.kept)


def work(plan: SandboxPlan, control: socket.socket, notes: int, memory_bytes_now: int) -> NoReturn:
    """Be one worker: tell the zygote through `notes`, take one job from `control`, end."""
    try:
        kernel.die_with_parent()
        _serve(plan, control, notes, memory_bytes_now)
    except wire.TruncatedMessage:
        pass  # the server went away
    except OSError as error:
        if control.fileno() == -1:
            os._exit(1)  # the server went away after it gave the job
        with contextlib.suppress(OSError):  # both may be gone: then nobody waits for this worker
            control.send(
                FAILED
                + json.dumps({"step": getattr(error, "step", "worker"), "why": str(error)}).encode()
            )
            os.write(notes, NOTE.pack(FAILED, os.getpid()))
    os._exit(0)


def _serve(plan: SandboxPlan, control: socket.socket, notes: int, memory_bytes_now: int) -> None:
    folder = _folder(plan)
    try:
        ready = get_ready(plan, folder, memory_bytes_now)
        os.write(notes, NOTE.pack(READY, os.getpid()))
        job = _taken(control)
        os.write(notes, NOTE.pack(TAKEN, os.getpid()))
        control.close()
        seconds, code = wire.read_job(job.recv)
        run = RunWatch(
            plan=plan, server=job.fileno(), ready=ready, ended=os.pidfd_open(ready.child)
        )
        run.begin(code, seconds)
        head, left = run.watch()
        wire.send_outcome(job.fileno(), head, [content for _, content in left.taken])
    finally:
        if plan.level != NS:
            sys.setrecursionlimit(_DEEP)
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyProcess:
    """A confined process that waits for its program, and descriptors:

    its folder, where its code goes in, and what to read of it.
    """

    child: int
    folder: int
    code: int
    output: int
    errors: int
    report: int


def get_ready(plan: SandboxPlan, folder: str, memory_bytes_now: int) -> ReadyProcess:
    """Fork a process that is confined to `folder`.

    Raises OSError with the step that was refused.
    """
    code_in, code_out = os.pipe()
    pipes = [os.pipe() for _ in range(4)]  # output, errors, report, readiness
    inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        ends = (code_in, *(end[1] for end in pipes))
        _confined(plan, folder, memory_bytes_now, ends)
    for end in (code_in, *(pipe[1] for pipe in pipes)):
        os.close(end)
    output, errors, report, ready = (pipe[0] for pipe in pipes)
    if not os.read(ready, 1):
        raise _refusal(os.read(report, REPORT_BYTES_MAX))
    return ReadyProcess(
        child=child, folder=inside, code=code_out, output=output, errors=errors, report=report
    )


def _folder(plan: SandboxPlan) -> str:
    if plan.level != NS:
        return tempfile.mkdtemp(dir=plan.root)
    kernel.unshare(kernel.NEWNS | kernel.NEWPID | kernel.NEWIPC | kernel.NEWNET)
    root.give_working_folder(plan)
    return WORK


def _confined(
    plan: SandboxPlan, folder: str, memory_bytes_now: int, ends: tuple[int, ...]
) -> NoReturn:
    code, output, errors, report, ready = ends
    try:
        confine.run_when_told(
            plan,
            folder,
            memory_bytes_now=memory_bytes_now,
            pipes=(code, output, errors, report, ready),
        )
    except OSError as error:
        said = {"step": getattr(error, "step", "confine"), "why": str(error)}
        for end in (report, 3):  # as it was before the pipes were arranged, or after
            try:
                os.write(end, json.dumps(said).encode())
                break
            except OSError:
                continue
    os._exit(97)


def _refusal(said: bytes) -> OSError:
    try:
        told = json.loads(said)
        refused = kernel.KernelError(str(told["step"]), 1)
        refused.strerror = str(told["why"])
    except (ValueError, KeyError, TypeError):
        return OSError("the confined process ended before it was ready")
    return refused


def _taken(control: socket.socket) -> socket.socket:
    """The next job's own socket.

    The server passes it as a descriptor, so that no process but this one ever holds the program's
    text.
    """
    message, extras, _, _ = control.recvmsg(1, socket.CMSG_SPACE(4))
    if not message:
        raise wire.TruncatedMessage("the server went away")
    return socket.socket(fileno=array.array("i", extras[0][2])[0])


@dataclass(slots=True, kw_only=True)
class RunWatch:
    """One program at work.

    `server` is a descriptor that hangs up when the server goes away, `ended` one that can be read
    once the program may have ended.
    """

    plan: SandboxPlan
    server: int
    ready: ReadyProcess
    ended: int
    started: float = 0.0
    deadline: float = 0.0

    def begin(self, code: bytes, seconds: float) -> None:
        """Give the program to the confined process; the clock runs from here."""
        self.started = time.monotonic()
        self.deadline = self.started + seconds
        view = memoryview(code)
        while view:  # it reads until the end before it runs anything, so this cannot block for long
            view = view[os.write(self.ready.code, view) :]
        os.close(self.ready.code)

    def watch(self) -> tuple[dict[str, Any], CollectedFiles]:
        """Wait until it ends or has used up what it may, end all of it, and say how it went."""
        most = self.plan.bounds.output_bytes
        output, errors, report = self.ready.output, self.ready.errors, self.ready.report
        streams = {output: OutputStream(most, bytearray()), errors: OutputStream(most, bytearray())}
        streams[report] = OutputStream(REPORT_BYTES_MAX, bytearray())
        stopped = self._follow(streams)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.ready.child, signal.SIGKILL)
        _, status, usage = os.wait4(
            self.ready.child, 0
        )  # it was the first of its pid namespace: whatever it started is dead, too
        wall_ms = (time.monotonic() - self.started) * 1_000
        for descriptor, stream in streams.items():
            _drain(descriptor, stream)
        left = collect(self.ready.folder, self.plan.bounds)
        code = os.waitstatus_to_exitcode(status)
        head = {
            "stopped": stopped,
            "exit_code": code if code >= 0 and stopped is None else None,
            "signal": _signal_name(-code) if code < 0 and stopped is None else None,
            "stdout": streams[output].kept.decode("utf-8", "replace"),
            "stderr": streams[errors].kept.decode("utf-8", "replace"),
            "stdout_truncated": streams[output].cut,
            "stderr_truncated": streams[errors].cut,
            **_reported(bytes(streams[report].kept)),
            "files": [(name, len(content)) for name, content in left.taken],
            "left_out": left.left_out,
            "not_named": left.not_named,
            "wall_ms": wall_ms,
            "cpu_ms": (usage.ru_utime + usage.ru_stime) * 1_000,
            "max_rss_kb": usage.ru_maxrss,
        }
        return head, left

    def _follow(self, streams: dict[int, OutputStream]) -> str | None:
        """Read its pipes until it has ended (None) or must be stopped (why)."""
        poll = select.poll()
        for descriptor in (*streams, self.ended):
            poll.register(descriptor, select.POLLIN)
        poll.register(self.server, select.POLLHUP)
        bounded = self.plan.level in ALONE
        while True:
            left = self.deadline - time.monotonic()
            if left <= 0:
                return "timeout"
            happened = poll.poll(1_000 * (left if bounded else min(left, _LOOK_SECONDS)) + 1)
            if not bounded and _over(used(self.ready.folder), self.plan):
                return "disk"
            which = {descriptor for descriptor, _ in happened}
            for descriptor in which & streams.keys():
                if not streams[descriptor].read(descriptor):
                    poll.unregister(descriptor)
            if self.server in which:
                return "cancelled"
            if self.ended in which and self._has_ended():
                return None
            if any(stream.seen > OUTPUT_BYTES_LAST for stream in streams.values()):
                return "output"

    def _has_ended(self) -> bool:
        if os.waitid(os.P_PID, self.ready.child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return True
        os.read(self.ended, 1)  # it was about something else
        return False


def _over(found: tuple[int, int], plan: SandboxPlan) -> bool:
    return found[0] > plan.bounds.disk_bytes or found[1] > INODES_MAX


def _drain(descriptor: int, stream: OutputStream) -> None:
    """Take what already lies in the pipe: nobody writes any more."""
    os.set_blocking(descriptor, False)
    try:
        while stream.read(descriptor):
            pass
    except BlockingIOError:
        pass


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _reported(said: bytes) -> dict[str, Any]:
    """What the program's end says, with every type checked:

    the program may have written it itself.
    """
    try:
        told = json.loads(said)
    except (ValueError, RecursionError):
        told = {}
    told = told if isinstance(told, dict) else {}
    result, error = told.get("result"), told.get("error")
    return {
        "result": _text(result) if isinstance(result, str) else None,
        "result_truncated": told.get("result_truncated") is True,
        "error": _error(error) if isinstance(error, dict) else None,
    }


def _text(said: str) -> str:
    """It as a text that can be sent on: a lone surrogate, which JSON can spell, is no character."""
    return said.encode("utf-8", "replace").decode()


def _error(told: dict[str, Any]) -> dict[str, Any]:
    texts = {
        name: _text(value) if isinstance(value := told.get(name), str) else ""
        for name in ("type", "message", "traceback")
    }
    line = told.get("line")
    return {
        **texts,
        "line": line
        if isinstance(line, int) and not isinstance(line, bool) and 0 < line < 1 << 31
        else None,
    }
