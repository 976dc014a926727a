"""The server's side of the zygote, which forks a process for each program."""

from __future__ import annotations

import socket
import subprocess
import threading
from typing import Any

from . import messages as wire
from .isolated_process import start
from .plan import SandboxPlan
from .runner import Cancellation, Runner, WorkerLost, conversation
from .worker import FAILED, READY

_START_SECONDS_MAX = 30
GRACE_SECONDS = 10  # for a worker to kill a program, collect its files and reply


class ZygoteRunner(Runner):
    """Runs programs in forks of one zygote. Raises WorkerLost if the zygote does not start."""

    def __init__(self, plan: SandboxPlan) -> None:
        super().__init__()
        self._send_lock = threading.Lock()
        self._content_bytes_max = plan.bounds.disk_bytes
        self._control, remote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._process = start(
                "zygote", str(remote.fileno()), level=plan.level, descriptors=(remote.fileno(),)
            )
        finally:
            remote.close()
        self._control.settimeout(_START_SECONDS_MAX)
        try:
            self._control.send(plan.to_json())
            reply = self._control.recv(1 << 16)
        except OSError as error:
            reply = str(error).encode()
        if reply != READY:
            self.close()
            why = reply.removeprefix(FAILED).decode("utf-8", "replace")
            raise WorkerLost(why or "the sandbox process ended before it was ready")

    def run(
        self, code: str, seconds: float, cancellation: Cancellation
    ) -> tuple[dict[str, Any], list[tuple[str, bytes]]]:
        """Run one program in a fork. See Runner.run."""
        try:
            with conversation(self._control, self._send_lock, cancellation) as worker:
                worker.settimeout(seconds + GRACE_SECONDS)
                worker.sendall(wire.encode_job(code, seconds))
                return wire.read_outcome(worker.recv, self._content_bytes_max)
        except (OSError, EOFError) as error:
            cancellation.check()
            raise WorkerLost(str(error)) from error

    def close(self) -> None:
        """Stop the zygote and all its workers. Idempotent."""
        self._control.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)
        if self._process.stdout:
            self._process.stdout.close()
