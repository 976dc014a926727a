"""The parent of several worker processes: it listens, hands connections out, replaces workers.

It never has a second thread and never opens the store while workers run, so that it can fork at any
time. A worker gets a connection as a whole: the one with the fewest open connections.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import pickle
import select
import selectors
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from ..sandbox.shared import SandboxChannel, SandboxService
from ..settings import Settings, end_with, processors, set_variable
from ..store import IS_SHAREABLE
from .slots import SharedNumbers, Slot

WORKERS_MAX_BY_DEFAULT = 8  # each takes about 100 MB for itself
STOP_SECONDS_MAX = 30  # for workers to finish their requests
FAILURES_MAX = 5  # processes of a place in a row that ended before they were ready
_BACKOFF_SECONDS = 0.5  # doubled with each failure
_BUSY_SECONDS = 0.01  # before a connection is offered again
_PATIENCE_SECONDS = 3.0  # for all workers to be ready before the first connection is accepted
_ACCEPTED_AT_ONCE = 64
_MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108  files of our own in a folder of our own
_log = logging.getLogger(__name__)


class WorkersFail(Exception):
    """The worker processes end again and again before they serve. The log says why."""


def workers_of(settings: Settings) -> int:
    """Return the number of worker processes for these settings on this machine."""
    if not IS_SHAREABLE:
        return 1
    return settings.workers or min(processors(), WORKERS_MAX_BY_DEFAULT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The parts that a worker process gets from its parent."""

    slot: Slot
    sandbox: SandboxChannel
    ready: int  # descriptor: a byte written to it wakes the parent


class Supervisor:
    """Runs `work` in worker processes and the sandbox in one more, until it is told to stop."""

    def __init__(
        self,
        settings: Settings,
        listener: socket.socket,
        work: Callable[[Place], None],
        *,
        in_child: Callable[[], None],
    ) -> None:
        """Prepare the channels. `in_child` releases in a child what only the parent may hold."""
        self._settings, self._listener = settings, listener
        self._work, self._in_child = work, in_child
        count = workers_of(settings)
        self._numbers = SharedNumbers(count)
        self._slots = [Slot(number, self._numbers) for number in range(count)]
        self._sandbox, self._sandbox_pid, self._sandbox_at_s = SandboxChannel(), 0, 0.0
        self._wakeup, self._ready = os.pipe()
        self._report, self._reports = os.pipe()  # errors of processes that could not begin
        os.set_blocking(self._report, False)
        self._has_served = False
        self._patient_until_s = time.monotonic() + _PATIENCE_SECONDS
        os.set_blocking(self._wakeup, False)
        os.set_blocking(self._ready, False)
        self._signals: set[int] = set()
        self._waiting: socket.socket | None = None  # a connection that no worker took yet
        self._turn = 0

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM. Raises WorkersFail."""
        folder = _share_metrics(self._settings.data_folder)
        # imported here: see _share_metrics; 6 MB that the workers share
        from prometheus_client import multiprocess

        self._forget_metrics: Callable[[int], None] = multiprocess.mark_process_dead
        gc.freeze()  # the collector would write to every page that the processes share
        handled = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
        before = {number: signal.signal(number, self._note) for number in handled}
        signal.set_wakeup_fd(self._ready, warn_on_full_buffer=False)
        try:
            self._serve()
        finally:
            self._stop()
            signal.set_wakeup_fd(-1)
            for number, handler in before.items():
                signal.signal(number, handler)
            shutil.rmtree(folder, ignore_errors=True)

    def _note(self, number: int, _frame: object) -> None:
        self._signals.add(number)

    def _serve(self) -> None:
        self._listener.setblocking(False)
        selector = selectors.DefaultSelector()
        selector.register(self._wakeup, selectors.EVENT_READ)
        is_listening = False
        while not self._signals & {signal.SIGTERM, signal.SIGINT}:
            if signal.SIGHUP in self._signals:
                self._signals.discard(signal.SIGHUP)
                self._numbers.count_reload()
                self._tell(signal.SIGHUP)
            self._signals.discard(signal.SIGCHLD)
            self._reap()
            seconds = self._start_missing()
            if self._waiting is not None:
                self._hand_out(self._waiting)
            wants = self._waiting is None and self._can_serve()
            if wants != is_listening:
                if wants:
                    selector.register(self._listener, selectors.EVENT_READ)
                else:  # connections wait in the listener's backlog
                    selector.unregister(self._listener)
                is_listening = wants
            timeout = seconds if self._waiting is None else _BUSY_SECONDS
            for key, _ in selector.select(timeout):
                if key.fileobj is self._listener:
                    self._accept()
                else:
                    with suppress(BlockingIOError):
                        os.read(self._wakeup, 4096)

    def _can_serve(self) -> bool:
        """Return True if a worker is ready; at the beginning, if all are or some time has passed.

        Else the first one that is ready would get all of the first connections.
        """
        ready = sum(slot.is_ready for slot in self._slots)
        self._has_served |= ready == len(self._slots)
        return ready > 0 and (self._has_served or time.monotonic() > self._patient_until_s)

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connection, _address = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:  # such as no more descriptors
                _log.warning("a connection was not accepted: %s", error)
                time.sleep(_BUSY_SECONDS)
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._hand_out(connection)
            if self._waiting is not None:
                return

    def _hand_out(self, connection: socket.socket) -> None:
        """Pass a connection to the worker with the fewest, in turn among equals."""
        self._turn += 1
        count = len(self._slots)
        ready = [slot for slot in self._slots if slot.is_ready]
        for slot in sorted(
            ready, key=lambda one: (one.connections, (one.number - self._turn) % count)
        ):
            if slot.send(connection):
                connection.close()
                self._waiting = None
                return
        self._waiting = connection

    def _start_missing(self) -> float | None:
        """Start processes that are missing; return the seconds until the next one is due."""
        now, due = time.monotonic(), []
        for slot in self._slots:
            if slot.pid:
                continue
            if slot.start_at_s <= now:
                slot.prepare()
                place = Place(slot=slot, sandbox=self._sandbox, ready=self._ready)
                slot.pid = self._fork(partial(self._work, place), slot)
            else:
                due.append(slot.start_at_s - now)
        # not beside workers that may find the settings wrong, which is told alone
        if not self._sandbox_pid and any(slot.is_ready for slot in self._slots):
            if self._sandbox_at_s <= now:
                self._sandbox_pid = self._fork(self._serve_programs, None)
            else:
                due.append(self._sandbox_at_s - now)
        return min(due, default=None)

    def _fork(self, work: Callable[[], None], slot: Slot | None) -> int:
        """Start a process that does `work`; return its id."""
        parent = os.getpid()
        if pid := os.fork():
            return pid
        status = 1
        try:
            self._become_child(parent, slot)
            work()
            status = 0
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
        except KeyboardInterrupt:
            status = 0
        except BaseException as error:  # noqa: BLE001  the parent reports it
            _log.debug("a process of the server failed", exc_info=True)
            self._send_error(error)
        finally:
            logging.shutdown()
            # without the parent's own clean-up, which is further up this stack
            os._exit(status)

    def _become_child(self, parent: int, slot: Slot | None) -> None:
        """Release what is the parent's, and die with it."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        if slot is not None:  # when it can read its settings again, it looks at the numbers
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        end_with(parent)
        self._in_child()
        self._listener.close()
        os.close(self._wakeup)
        if self._waiting is not None:
            self._waiting.close()
        for one in self._slots:
            if one is slot:
                one.parent.close()
            else:
                one.close()
        if slot is not None:
            self._sandbox.service.close()

    def _serve_programs(self) -> NoReturn:
        signal.signal(signal.SIGTERM, stop_process)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the parent decides
        self._sandbox.clients.close()
        service = SandboxService(self._settings, self._sandbox)
        try:
            service.serve()
        finally:
            service.close()
            os._exit(0)  # its threads may wait for programs of workers that are gone

    def _reap(self) -> None:
        """Note the processes that ended.

        Raises WorkersFail, or the error of a worker that ended before any one has served.
        """
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            self._note_end(pid, os.waitstatus_to_exitcode(status))

    def _note_end(self, pid: int, status: int) -> None:
        if pid == self._sandbox_pid:
            self._sandbox_pid, self._sandbox_at_s = 0, time.monotonic() + _BACKOFF_SECONDS
            self._sandbox.report("not started")
            _log.warning("the sandbox process ended (%d), starting another", status)
        for slot in self._slots:
            if slot.pid != pid:
                continue
            was_ready = slot.is_ready
            slot.pid = 0
            self._forget_metrics(pid)  # its gauges; its counters stay
            self._has_served |= was_ready
            error = self._read_error()
            if error is not None and not self._has_served:
                raise error
            slot.failures = 0 if was_ready else slot.failures + 1
            if slot.failures == FAILURES_MAX:
                raise WorkersFail(f"{FAILURES_MAX} worker processes ended before they were ready")
            pause_s = 0.0 if was_ready else _BACKOFF_SECONDS * 2**slot.failures
            slot.start_at_s = time.monotonic() + pause_s
            cause = f": {error}" if error is not None else ""
            _log.error("worker %d ended (%d)%s; starting another", slot.number, status, cause)

    def _send_error(self, error: BaseException) -> None:
        """Pass on why this process ends."""
        try:
            report = pickle.dumps(error)
            pickle.loads(report)  # noqa: S301  of our own; not every error can be made again
        except Exception:  # noqa: BLE001  of any kind
            report = pickle.dumps(WorkersFail(f"{type(error).__name__}: {error}"))
        if len(report) < select.PIPE_BUF:
            os.write(self._reports, report)

    def _read_error(self) -> BaseException | None:
        with suppress(BlockingIOError):
            report = os.read(self._report, select.PIPE_BUF)
            error: BaseException = pickle.loads(report)  # noqa: S301  of our own
            return error
        return None

    def _tell(self, number: int) -> None:
        for slot in self._slots:
            if slot.pid:
                with suppress(ProcessLookupError):
                    os.kill(slot.pid, number)

    def _stop(self) -> None:
        """Stop the workers, then the sandbox."""
        self._listener.close()
        if self._waiting is not None:
            self._waiting.close()
        self._tell(signal.SIGTERM)
        self._signals.clear()
        self._wait({slot.pid for slot in self._slots if slot.pid}, STOP_SECONDS_MAX)
        if self._sandbox_pid:
            with suppress(ProcessLookupError):
                os.kill(self._sandbox_pid, signal.SIGTERM)
            self._wait({self._sandbox_pid}, STOP_SECONDS_MAX)

    def _wait(self, pids: set[int], seconds: float) -> None:
        """Wait until these processes have ended; kill them after so many seconds."""
        until_s = time.monotonic() + seconds
        is_killed = False
        while pids:
            for pid in list(pids):
                with suppress(ChildProcessError):
                    if os.waitpid(pid, os.WNOHANG)[0] == 0:
                        continue
                pids.discard(pid)
            if pids and not is_killed and time.monotonic() > until_s:
                is_killed = True
                for pid in pids:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            if signal.SIGINT in self._signals:  # a second one: at once
                until_s = 0.0
            if pids:
                time.sleep(_BUSY_SECONDS)


def _share_metrics(data_folder: Path) -> Path:
    """Make the folder in which the workers share their metrics, in memory.

    Not in the data folder: writing to a mapped file of a full disk ends a process.
    """
    name = hashlib.blake2b(str(data_folder.resolve()).encode(), digest_size=8).hexdigest()
    base = _MEMORY_FOLDER if os.access(_MEMORY_FOLDER, os.W_OK) else Path(tempfile.gettempdir())
    folder = base / f"remembrancer-{os.geteuid()}-{name}"
    try:
        with suppress(FileNotFoundError):
            if folder.lstat().st_uid == os.geteuid():
                shutil.rmtree(folder)  # of a parent that was killed
        folder.mkdir(mode=0o700)
    except OSError:  # somebody else's
        folder = Path(tempfile.mkdtemp(prefix="remembrancer-"))
    # read by the library when it is imported, which nothing did before
    set_variable("PROMETHEUS_MULTIPROC_DIR", str(folder))
    return folder


def stop_process(_signal: int, _frame: object) -> NoReturn:
    """Handle SIGTERM: end this process, and clean up before.

    uvicorn raises the signal again after its shutdown. By default that would kill the process
    before the store is closed.
    """
    raise SystemExit(0)
