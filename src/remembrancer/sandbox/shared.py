"""One sandbox for several server processes: a service in a process of its own, and its clients.

A client sends one end of a new socket pair over the service's control socket, as the sandbox does
to its zygote, then the program over the other end, and reads the outcome from there. It closes
its end to stop the program.
"""

from __future__ import annotations

import json
import mmap
import select
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import fields
from typing import Any, NoReturn

from ..protocol.errors import Problem
from ..protocol.execution import Level
from ..protocol.status import SandboxState
from ..settings import Settings
from . import messages as wire
from .port import SandboxBusy, SandboxPort, SandboxRun, SandboxUnavailable, lost_twice
from .runner import Cancellation, RunCancelled, conversation
from .sandbox import LADDER, Sandbox

PROGRAMS_MAX = 320  # that run or wait, of all clients; further ones wait for a thread
_STATES: tuple[SandboxState, ...] = ("not started", "unavailable", *LADDER)


class SandboxChannel:
    """The sockets and the state that the service and its clients share. Make it before forking.

    It outlives the service: another one that is started on it gets the programs that wait.
    """

    def __init__(self) -> None:
        self.clients, self.service = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._state = mmap.mmap(-1, mmap.PAGESIZE)

    @property
    def state(self) -> SandboxState:
        """The state of the service's sandbox."""
        return _STATES[self._state[0]]

    def report(self, state: SandboxState) -> None:
        """Set the state of the service's sandbox."""
        self._state[0] = _STATES.index(state)


class SandboxService:
    """Runs the programs of all clients of a channel in one sandbox."""

    def __init__(self, settings: Settings, channel: SandboxChannel) -> None:
        self._sandbox, self._channel = Sandbox(settings), channel
        self._threads = ThreadPoolExecutor(PROGRAMS_MAX, "program")
        self._departures = Departures()

    def serve(self) -> None:
        """Serve until the last client has gone."""
        threading.Thread(target=self._start, name="sandbox", daemon=True).start()
        while True:
            message, descriptors, _, _ = socket.recv_fds(self._channel.service, 1, 1)
            if not message:
                return
            for descriptor in descriptors:
                self._threads.submit(self._answer, socket.socket(fileno=descriptor))

    def close(self) -> None:
        """Stop all programs."""
        self._sandbox.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _start(self) -> None:
        with suppress(Problem):  # the sandbox logs the cause and reports it to each run
            self._sandbox.start()
        self._channel.report(self._sandbox.state)

    def _answer(self, client: socket.socket) -> None:
        files: list[tuple[str, bytes]] = []
        with client, suppress(OSError, EOFError, RunCancelled):  # the client is gone
            request: dict[str, Any] = json.loads(wire.read_block(client.recv))
            try:
                with self._departures.watching(client) as cancellation:
                    run = self._sandbox.run(**request, cancellation=cancellation)
                report = {field.name: getattr(run, field.name) for field in fields(run)}
                files = report.pop("files")
                head: dict[str, Any] = {"run": report}
            except (SandboxBusy, SandboxUnavailable) as error:
                is_busy = isinstance(error, SandboxBusy)
                head = {"is_busy": is_busy, "problem": [error.detail, error.extra]}
            self._channel.report(self._sandbox.state)
            wire.send_outcome(client.fileno(), head, files)


class Departures:
    """Cancels the programs of clients that hang up."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._watched: dict[int, tuple[socket.socket, Cancellation]] = {}
        threading.Thread(target=self._work, name="departures", daemon=True).start()

    @contextmanager
    def watching(self, client: socket.socket) -> Iterator[Cancellation]:
        """Yield what is cancelled when the client hangs up during the block."""
        cancellation = Cancellation()
        self._watched[client.fileno()] = client, cancellation
        self._poll.register(client, select.EPOLLRDHUP | select.EPOLLONESHOT)
        try:
            yield cancellation
        finally:
            self._poll.unregister(client)
            del self._watched[client.fileno()]

    def _work(self) -> NoReturn:
        while True:
            for descriptor, _ in self._poll.poll():
                client, cancellation = self._watched.get(descriptor, (None, None))
                # it may be another one by now, with the number of the one that left
                if client and cancellation and _has_hung_up(client):
                    cancellation.request()


class RemoteSandbox(SandboxPort):
    """The sandbox of a service, for the programs of this process."""

    def __init__(self, settings: Settings, channel: SandboxChannel) -> None:
        super().__init__(settings)
        self._channel, self._sending = channel, threading.Lock()

    @property
    def state(self) -> SandboxState:
        """The state of the service's sandbox."""
        return self._channel.state

    def start(self) -> Level:
        """Return the confinement level of the service, which starts by itself.

        Raises SandboxUnavailable if it has none yet.
        """
        state = self.state
        for level in LADDER:
            if level == state:
                return level
        raise SandboxUnavailable("The sandbox has not started.", missing=[])

    def run(
        self,
        code: str,
        *,
        seconds: float | None = None,
        cancellation: Cancellation | None = None,
        account_id: int | None = None,
    ) -> SandboxRun:
        """Run a program; see SandboxPort.run."""
        cancellation = cancellation or Cancellation()
        request = {"code": code, "seconds": seconds, "account_id": account_id}
        # A program has no effect outside, so one whose service went away can run again.
        for _ in range(2):
            with suppress(OSError, EOFError):
                head, files = self._exchange(request, cancellation)
                if "problem" not in head:
                    return SandboxRun.from_report(head["run"], files)
                detail, extra = head["problem"]
                raise (SandboxBusy if head["is_busy"] else SandboxUnavailable)(detail, **extra)
            cancellation.check()
        raise lost_twice()

    def close(self) -> None:
        """Send no more programs. The service goes on for other processes."""
        self._channel.clients.close()

    def _exchange(
        self, request: dict[str, Any], cancellation: Cancellation
    ) -> tuple[dict[str, Any], list[tuple[str, bytes]]]:
        with conversation(self._channel.clients, self._sending, cancellation) as service:
            service.sendall(wire.encode_block(json.dumps(request).encode()))
            return wire.read_outcome(service.recv, self.bounds.disk_bytes)


def _has_hung_up(client: socket.socket) -> bool:
    poll = select.poll()
    try:
        poll.register(client, select.POLLRDHUP)
    except (OSError, ValueError):  # it is closed
        return False
    return bool(poll.poll(0))
