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
from dataclasses import dataclass
from typing import Any, NoReturn

from . import confine, kernel
from . import messages as wire
from . import root_filesystem as root
from .collect import CollectedFiles, collect, disk_usage
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
    content: bytearray
    total: int = 0

    def add(self, chunk: bytes) -> None:
        """Count the chunk and store as much of it as fits."""
        self.total += len(chunk)
        room = self.bytes_max - len(self.content)
        if room > 0:
            self.content += chunk[:room]

    def read(self, descriptor: int) -> bool:
        """Read and add the next chunk. Return False at the end of the stream."""
        chunk = os.read(descriptor, _CHUNK_BYTES)
        self.add(chunk)
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
        failure = {"step": getattr(error, "step", "worker"), "why": str(error)}
        with contextlib.suppress(OSError):  # the server and the zygote may be gone
            control.send(FAILED + json.dumps(failure).encode())
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
        run = RunWatch(
            plan=plan,
            server=job.fileno(),
            ready=ready,
            exit_descriptor=os.pidfd_open(ready.child),
        )
        run.start(code, seconds)
        head, collected = run.wait()
        wire.send_outcome(job.fileno(), head, [content for _, content in collected.files])
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
    inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        ends = (code_in, *(end[1] for end in pipes))
        _run_confined(plan, folder, memory_bytes_now, ends)
    for end in (code_in, *(pipe[1] for pipe in pipes)):
        os.close(end)
    output, errors, report, ready = (pipe[0] for pipe in pipes)
    if not os.read(ready, 1):
        raise _parse_refusal(os.read(report, REPORT_BYTES_MAX))
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
    plan: SandboxPlan, folder: str, memory_bytes_now: int, ends: tuple[int, ...]
) -> NoReturn:
    code, output, errors, report, ready = ends
    try:
        confine.confine_and_run(
            plan,
            folder,
            memory_bytes_now=memory_bytes_now,
            pipes=(code, output, errors, report, ready),
        )
    except OSError as error:
        failure = {"step": getattr(error, "step", "confine"), "why": str(error)}
        for end in (report, 3):  # before or after the descriptors were arranged
            try:
                os.write(end, json.dumps(failure).encode())
                break
            except OSError:
                continue
    os._exit(97)


def _parse_refusal(message: bytes) -> OSError:
    try:
        failure = json.loads(message)
        error = kernel.KernelError(str(failure["step"]), 1)
        error.strerror = str(failure["why"])
    except (ValueError, KeyError, TypeError):
        return OSError("the confined process ended before it was ready")
    return error


def _accept_job(control: socket.socket) -> socket.socket:
    """Wait for the next job and return its socket.

    The server passes the socket as a descriptor, so that no process but this one ever holds the
    program's text.
    """
    message, extras, _, _ = control.recvmsg(1, socket.CMSG_SPACE(4))
    if not message:
        raise wire.TruncatedMessage("the server went away")
    return socket.socket(fileno=array.array("i", extras[0][2])[0])


@dataclass(slots=True, kw_only=True)
class RunWatch:
    """The supervisor of one running program.

    `server` is a descriptor that hangs up when the server goes away. `exit_descriptor` becomes
    readable when the program may have exited. `start_seconds` and `deadline` are readings of the
    monotonic clock.
    """

    plan: SandboxPlan
    server: int
    ready: ReadyProcess
    exit_descriptor: int
    start_seconds: float = 0.0
    deadline: float = 0.0

    def start(self, code: bytes, seconds: float) -> None:
        """Send the program to the confined process. Its time limit starts now."""
        self.start_seconds = time.monotonic()
        self.deadline = self.start_seconds + seconds
        view = memoryview(code)
        while view:  # the process reads all of it before it runs anything, so this blocks briefly
            view = view[os.write(self.ready.code, view) :]
        os.close(self.ready.code)

    def wait(self) -> tuple[dict[str, Any], CollectedFiles]:
        """Wait until the program exits or reaches a limit; kill it; return outcome and files."""
        output_bytes = self.plan.bounds.output_bytes
        output, errors, report = self.ready.output, self.ready.errors, self.ready.report
        streams = {
            output: OutputStream(output_bytes, bytearray()),
            errors: OutputStream(output_bytes, bytearray()),
            report: OutputStream(REPORT_BYTES_MAX, bytearray()),
        }
        stopped = self._follow(streams)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.ready.child, signal.SIGKILL)
        # The child is init of its pid namespace: when it is dead, so is all that it started.
        _, status, usage = os.wait4(self.ready.child, 0)
        wall_ms = (time.monotonic() - self.start_seconds) * 1_000
        for descriptor, stream in streams.items():
            _drain(descriptor, stream)
        collected = collect(self.ready.folder, self.plan.bounds)
        code = os.waitstatus_to_exitcode(status)
        head = {
            "stopped": stopped,
            "exit_code": code if code >= 0 and stopped is None else None,
            "signal": _signal_name(-code) if code < 0 and stopped is None else None,
            "stdout": streams[output].content.decode("utf-8", "replace"),
            "stderr": streams[errors].content.decode("utf-8", "replace"),
            "stdout_truncated": streams[output].is_truncated,
            "stderr_truncated": streams[errors].is_truncated,
            **_parse_report(bytes(streams[report].content)),
            "files": [(name, len(content)) for name, content in collected.files],
            "left_out": collected.left_out,
            "not_named": collected.not_named,
            "wall_ms": wall_ms,
            "cpu_ms": (usage.ru_utime + usage.ru_stime) * 1_000,
            "max_rss_kb": usage.ru_maxrss,
        }
        return head, collected

    def _follow(self, streams: dict[int, OutputStream]) -> str | None:
        """Read the pipes until the program exits. Return why it must be stopped, or None."""
        poll = select.poll()
        for descriptor in (*streams, self.exit_descriptor):
            poll.register(descriptor, select.POLLIN)
        poll.register(self.server, select.POLLHUP)
        has_quota = self.plan.level == NS  # gVisor's has none for the number of files
        while True:
            remaining = self.deadline - time.monotonic()
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
