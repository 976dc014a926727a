"""The zygote from the server's side: started once, it forks a process for each program."""

from __future__ import annotations

import array
import json
import socket
import subprocess
import threading
from typing import Any

from . import messages as wire
from .isolated_process import start
from .plan import SandboxPlan
from .runner import Runner, WorkerLost
from .worker import READY

_START_SECONDS_MAX = 30
GRACE_SECONDS = 10  # for a worker to end a program, take its files and answer


class ZygoteRunner(Runner):
    """Programs in forks of one zygote. Raises Lost with what it said when it does not start."""

    def __init__(self, plan: SandboxPlan) -> None:
        super().__init__()
        self._sending = threading.Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._process = start(
                "zygote", str(theirs.fileno()), level=plan.level, descriptors=(theirs.fileno(),)
            )
        finally:
            theirs.close()
        self._control.settimeout(_START_SECONDS_MAX)
        try:
            self._control.send(plan.to_json())
            said = self._control.recv(1 << 16)
        except OSError as error:
            said = str(error).encode()
        if said != READY:
            self.close()
            raise WorkerLost(_refusal(said))

    def run(
        self, code: str, seconds: float, content_bytes_max: int
    ) -> tuple[dict[str, Any], list[tuple[str, bytes]]]:
        """The outcome of one program. Raises Lost."""
        ours, theirs = socket.socketpair()
        with ours:
            ours.settimeout(seconds + GRACE_SECONDS)
            try:
                with theirs, self._sending:
                    descriptor = array.array("i", [theirs.fileno()])
                    self._control.sendmsg(
                        [b"J"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptor)]
                    )
                ours.sendall(wire.job(code, seconds))
                return wire.read_outcome(ours.recv, content_bytes_max)
            except (OSError, EOFError) as error:
                raise WorkerLost(str(error)) from error

    def close(self) -> None:
        """End it and all its workers. Idempotent."""
        self._control.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)
        if self._process.stdout:
            self._process.stdout.close()


def _refusal(said: bytes) -> str:
    try:
        return str(json.loads(said[1:])["why"])
    except (ValueError, KeyError, TypeError):
        return said.decode("utf-8", "replace") or "the sandbox's process ended before it was ready"
