"""A worker: prepare one confined process, give it one job, watch it and send the outcome.

The zygote forks workers ahead of demand. A worker never runs any of the program's code itself, and
reads the program's files only after all of its processes are dead.
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
from dataclasses import dataclass, field
from typing import Any, NoReturn

from . import confine, kernel
from . import messages as wire
from . import root_filesystem as root
from .collect import collect, disk_usage
from .plan import (
    INODES_MAX,
    NS,
    OUTPUT_BYTES_LAST,
    REPORT_BYTES_MAX,
    WORK,
    SandboxPlan,
)

NOTE = struct.Struct("ci")  # event (READY, ACCEPTED, FAILED) and process id
READY, ACCEPTED, FAILED = b"G", b"T", b"E"
_CHUNK_BYTES = 1 << 16
_MEASURE_SECONDS = 0.05  # how often to measure a working folder that has no quota
_RECURSION_LIMIT = 20_000  # frames; above the nesting of folders possible between measurements


@dataclass(slots=True)
class OutputStream:
    """The output of one pipe: its first `bytes_max` bytes, and the count of all bytes."""

    bytes_max: int
    content: bytearray = field(default_factory=bytearray)
    total: int = 0

    def read(self, descriptor: int) -> bool:
        """Read the next chunk and store as much of it as fits. Return False at the end."""
        chunk = os.read(descriptor, _CHUNK_BYTES)
        self.total += len(chunk)
        self.content += chunk[: self.bytes_max - len(self.content)]
        return bool(chunk)

    @property
    def is_truncated(self) -> bool:
        """True if some of the output was not stored."""
        return self.total > len(self.content)


def work(plan: SandboxPlan, control: socket.socket, notes: int, memory_bytes_now: int) -> NoReturn:
    """Run one worker: report to the zygote through `notes`, run one job from `control`, exit."""
    try:
        kernel.die_with_parent()
        _serve(plan, control, notes, memory_bytes_now)
    except wire.TruncatedMessage:
        pass  # the server went away
    except OSError as error:
        if control.fileno() == -1:
            os._exit(1)  # the server went away after it sent the job
        with contextlib.suppress(OSError):  # the server and the zygote may be gone
            control.send(FAILED + _text_of(error))
            os.write(notes, NOTE.pack(FAILED, os.getpid()))
    os._exit(0)


def _serve(plan: SandboxPlan, control: socket.socket, notes: int, memory_bytes_now: int) -> None:
    folder = _create_working_folder(plan)
    try:
        ready = fork_ready_process(plan, folder, memory_bytes_now)
        os.write(notes, NOTE.pack(READY, os.getpid()))
        job = _accept_job(control)
        os.write(notes, NOTE.pack(ACCEPTED, os.getpid()))
        control.close()
        seconds, code = wire.read_job(job.recv)
        watch = RunWatch(plan, job.fileno(), ready, os.pidfd_open(ready.child))
        wire.send_outcome(job.fileno(), *watch.run(code, seconds))
    finally:
        if plan.level != NS:
            sys.setrecursionlimit(_RECURSION_LIMIT)
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyProcess:
    """A confined process that waits for its program.

    `child` is its process id. The other fields are descriptors: its working folder, the pipe for
    the code (to write), and the pipes for output, errors and report (to read).
    """

    child: int
    folder: int
    code: int
    output: int
    errors: int
    report: int


def fork_ready_process(plan: SandboxPlan, folder: str, memory_bytes_now: int) -> ReadyProcess:
    """Fork a process that is confined to `folder` and wait until it is ready.

    Raises OSError with the step that the kernel refused.
    """
    code_in, code_out = os.pipe()
    pipes = [os.pipe() for _ in range(4)]  # output, errors, report, readiness
    ends = (code_in, pipes[0][1], pipes[1][1], pipes[2][1], pipes[3][1])
    inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        _run_confined(plan, folder, memory_bytes_now, ends)
    for end in ends:
        os.close(end)
    (output, _), (errors, _), (report, _), (ready, _) = pipes
    if not os.read(ready, 1):
        why = os.read(report, REPORT_BYTES_MAX).decode("utf-8", "replace")
        raise OSError(why or "the confined process ended before it was ready")
    return ReadyProcess(
        child=child, folder=inside, code=code_out, output=output, errors=errors, report=report
    )


def _create_working_folder(plan: SandboxPlan) -> str:
    if plan.level != NS:
        return tempfile.mkdtemp(dir=plan.root)
    kernel.unshare(kernel.NEWNS | kernel.NEWPID | kernel.NEWIPC | kernel.NEWNET)
    root.mount_working_folder(plan)
    return WORK


def _run_confined(
    plan: SandboxPlan, folder: str, memory_bytes_now: int, ends: tuple[int, int, int, int, int]
) -> NoReturn:
    try:
        confine.confine_and_run(plan, folder, memory_bytes_now=memory_bytes_now, pipes=ends)
    except OSError as error:
        for end in (ends[3], 3):  # of the report, before or after the descriptors were arranged
            with contextlib.suppress(OSError):
                os.write(end, _text_of(error))
                break
    os._exit(97)


def _text_of(error: OSError) -> bytes:
    return str(error).encode("utf-8", "replace")


def _accept_job(control: socket.socket) -> socket.socket:
    """Wait for the next job and return its socket.

    The server passes the socket as a descriptor, so that no process but this one ever holds the
    program's text.
    """
    message, extras, _, _ = control.recvmsg(1, socket.CMSG_SPACE(4))
    if not message:
        raise wire.TruncatedMessage("the server went away")
    return socket.socket(fileno=array.array("i", extras[0][2])[0])


@dataclass(slots=True)
class RunWatch:
    """The supervisor of one running program.

    `server` is a descriptor that hangs up when the server goes away. `exit_descriptor` becomes
    readable when the program may have exited.
    """

    plan: SandboxPlan
    server: int
    ready: ReadyProcess
    exit_descriptor: int

    def run(self, code: bytes, seconds: float) -> tuple[dict[str, Any], list[tuple[str, bytes]]]:
        """Send the program to the confined process and wait until it exits or reaches a limit.

        Kill it, and return the outcome and the files.
        """
        start = time.monotonic()
        view = memoryview(code)
        while view:  # the process reads all of it before it runs anything, so this blocks briefly
            view = view[os.write(self.ready.code, view) :]
        os.close(self.ready.code)
        output, errors, report = self.ready.output, self.ready.errors, self.ready.report
        output_bytes = self.plan.bounds.output_bytes
        streams = {
            output: OutputStream(output_bytes),
            errors: OutputStream(output_bytes),
            report: OutputStream(REPORT_BYTES_MAX),
        }
        stopped = self._follow(streams, start + seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.ready.child, signal.SIGKILL)
        # The child is init of its pid namespace: when it is dead, so is all that it started.
        _, status, usage = os.wait4(self.ready.child, 0)
        wall_ms = (time.monotonic() - start) * 1_000
        for descriptor, stream in streams.items():
            _drain(descriptor, stream)
        collected = collect(self.ready.folder, self.plan.bounds)
        ending = os.waitstatus_to_exitcode(status)
        head = {
            "stopped": stopped,
            "exit_code": ending if ending >= 0 and stopped is None else None,
            "signal": _signal_name(-ending) if ending < 0 and stopped is None else None,
            "stdout": streams[output].content.decode("utf-8", "replace"),
            "stderr": streams[errors].content.decode("utf-8", "replace"),
            "stdout_truncated": streams[output].is_truncated,
            "stderr_truncated": streams[errors].is_truncated,
            **_parse_report(bytes(streams[report].content)),
            "left_out": collected.left_out,
            "not_named": collected.not_named,
            "wall_ms": wall_ms,
            "cpu_ms": (usage.ru_utime + usage.ru_stime) * 1_000,
            "max_rss_kb": usage.ru_maxrss,
        }
        return head, collected.files

    def _follow(self, streams: dict[int, OutputStream], deadline: float) -> str | None:
        """Read the pipes until the program exits. Return why it must be stopped, or None."""
        poll = select.poll()
        for descriptor in (*streams, self.exit_descriptor):
            poll.register(descriptor, select.POLLIN)
        poll.register(self.server, select.POLLHUP)
        has_quota = self.plan.level == NS  # gVisor's has none for the number of files
        while True:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return "timeout"
            timeout = remaining if has_quota else min(remaining, _MEASURE_SECONDS)
            ready = {descriptor for descriptor, _ in poll.poll(1_000 * timeout + 1)}
            if not has_quota and self._exceeds_disk_limits():
                return "disk"
            for descriptor in ready & streams.keys():
                if not streams[descriptor].read(descriptor):
                    poll.unregister(descriptor)
            if self.server in ready:
                return "cancelled"
            if self.exit_descriptor in ready and self._has_exited():
                return None
            if any(stream.total > OUTPUT_BYTES_LAST for stream in streams.values()):
                return "output"

    def _has_exited(self) -> bool:
        if os.waitid(os.P_PID, self.ready.child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return True
        os.read(self.exit_descriptor, 1)  # the signal was for another process
        return False

    def _exceeds_disk_limits(self) -> bool:
        size, count = disk_usage(self.ready.folder)
        return size > self.plan.bounds.disk_bytes or count > INODES_MAX


def _drain(descriptor: int, stream: OutputStream) -> None:
    """Read what is left in the pipe. Nothing writes to it any more."""
    os.set_blocking(descriptor, False)
    with contextlib.suppress(BlockingIOError):
        while stream.read(descriptor):
            pass


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _parse_report(raw: bytes) -> dict[str, Any]:
    """Return the fields of a program's report. The program can forge it, so check every type."""
    try:
        report = json.loads(raw)
    except (ValueError, RecursionError):
        report = {}
    report = report if isinstance(report, dict) else {}
    result, error = report.get("result"), report.get("error")
    return {
        "result": _replace_surrogates(result) if isinstance(result, str) else None,
        "result_truncated": report.get("result_truncated") is True,
        "error": _parse_error(error) if isinstance(error, dict) else None,
    }


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which JSON can express and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()


def _parse_error(error: dict[str, Any]) -> dict[str, Any]:
    texts = {
        name: _replace_surrogates(value) if isinstance(value := error.get(name), str) else ""
        for name in ("type", "message", "traceback")
    }
    line = error.get("line")
    is_line_number = isinstance(line, int) and not isinstance(line, bool) and 0 < line < 1 << 31
    return {**texts, "line": line if is_line_number else None}
