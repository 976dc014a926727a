"""The sandbox as the server knows it:

starts when first needed, climbs down the ladder of levels no further than allowed, runs programs.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import math
import os
import shutil
import stat
import sys
import sysconfig
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..protocol import limits
from ..protocol.errors import TooManyRequests, Unavailable
from ..protocol.execution import Level
from ..protocol.status import SandboxState
from ..settings import Settings
from . import self_test as selftest
from .gvisor_runner import GvisorRunner
from .plan import GVISOR, LANDLOCK, NS, UNSAFE, WORK, RunLimits, SandboxPlan
from .probe import missing
from .runner import Runner, WorkerLost
from .zygote_runner import ZygoteRunner

log = logging.getLogger("remembrancer.sandbox")

LADDER: tuple[Level, ...] = (GVISOR, NS, LANDLOCK, UNSAFE)  # strongest first
PRELOAD = ("numpy", "numpy.random", "numpy.linalg", "numpy.fft", "matplotlib.pyplot")
# of one zygote: all forks share one layout of memory, which is not to be learned from thousands of
# runs
_RUNS_MAX = 2_000
_START_SECONDS_MAX = 30
_GRACE_SECONDS = 10  # for a worker to end a program, take its files and answer
_RETRY_SECONDS = 60  # a machine that could not confine a minute ago can not now
_SHOWN = (
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/lib",
    "/lib64",
    "/usr/share/fonts",
    "/usr/share/zoneinfo",
)
_SHOWN_FILES = ("/etc/ld.so.cache", "/etc/fonts", "/etc/localtime")


class SandboxUnavailable(Unavailable):
    """Programs cannot be run safely on this machine, so none is run. `missing` says what it lacks
    and how to mend it.
    """


class SandboxBusy(TooManyRequests):
    """All places of the sandbox are taken, and so is its queue. Wait as many seconds as the header
    `Retry-After` says.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRun:
    """How a program ended. Times in milliseconds.

    `stopped`: why it was stopped (`timeout`, `output`, `disk`), None when it ended itself. `error`
    has type, message, line and traceback, as the program itself told it. `files` are name and
    content; `left_out` name and why; `not_named` how many more were left out.
    """

    level: Level
    stopped: str | None
    exit_code: int | None
    signal: str | None
    stdout: str
    stderr: str
    stdout_truncated: bool
    stderr_truncated: bool
    result: str | None
    result_truncated: bool
    error: dict[str, Any] | None
    files: list[tuple[str, bytes]]
    left_out: list[tuple[str, str]]
    not_named: int
    wall_ms: float
    cpu_ms: float
    max_rss_kb: int


class Sandbox:
    """Where programs run.

    One a server; safe to use from many threads. Costs nothing until it is started.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._parallel = settings.sandbox_parallel or os.cpu_count() or 1
        self._places = threading.Semaphore(self._parallel)
        self.repairs = threading.BoundedSemaphore(
            limits.REPAIRS_MAX
        )  # programs that wait for models, each in a thread of the server
        self._changing = threading.Lock()  # of what follows
        self._starting = threading.Lock()
        self._inside = 0  # runs at work or waiting
        self._closed = False
        self._candidate: Runner | None = None  # that is being tested
        self._runner: Runner | None = None
        self._level: Level | None = None
        self._refused: tuple[float, SandboxUnavailable] | None = None  # when, and why
        self.bounds = RunLimits(
            seconds=settings.sandbox_seconds,
            seconds_max=limits.RUN_SECONDS_MAX,
            memory_bytes=settings.sandbox_memory_bytes,
            disk_bytes=settings.sandbox_disk_bytes,
            files=settings.sandbox_files_max,
            output_bytes=settings.sandbox_output_bytes,
            threads=settings.sandbox_threads,
        )

    @property
    def state(self) -> SandboxState:
        """The level it works at, or that it was not started, or could not be."""
        if self._level is not None:
            return self._level
        return "unavailable" if self._refused else "not started"

    def start(self) -> Level:
        """Be ready for programs; the level they are confined at.

        Idempotent. Raises SandboxUnavailable.
        """
        with self._starting:
            if self._runner is None or self._level is None:
                if self._refused and time.monotonic() - self._refused[0] < _RETRY_SECONDS:
                    raise self._refused[1]
                self._runner, self._level = self._climb_down()
                said = log.warning if self._level == UNSAFE else log.info
                said(
                    "sandbox: level %s%s",
                    self._level,
                    ": programs are NOT confined" if self._level == UNSAFE else "",
                )
            return self._level

    def run(self, code: str, *, seconds: float | None = None) -> SandboxRun:
        """Run a program for at most so many seconds. Raises SandboxUnavailable, SandboxBusy."""
        seconds = min(seconds or self.bounds.seconds, self.bounds.seconds_max)
        with self._changing:
            if self._inside >= self._parallel + self._settings.sandbox_queue_max:
                raise SandboxBusy(retry_after=max(1, math.ceil(self.bounds.seconds / 2)))
            self._inside += 1
        try:
            with self._places:
                return self._run(code, seconds)
        finally:
            with self._changing:
                self._inside -= 1

    def close(self) -> None:
        """End what runs, and let go; also of a start that is under way.

        Idempotent. No program is run afterwards.
        """
        self._closed = True
        if candidate := self._candidate:
            # its self-test ends at once, and with it the start that holds the lock
            candidate.close()
        with self._starting:
            runner, self._runner, self._level = self._runner, None, None
        if runner:
            runner.close()
            self._tidy()

    def _run(self, code: str, seconds: float) -> SandboxRun:
        for attempt in (
            1,
            2,
        ):  # a program changes nothing outside, so it can be run again when the runner went away under it
            runner, level = self._hold()
            try:
                head, files = runner.run(code, seconds, self.bounds.disk_bytes)
                return _run_of(head, files, level)
            except WorkerLost as error:
                log.warning(
                    "sandbox: run lost (%s)%s", error, ", starting anew" if attempt == 1 else ""
                )
                self._drop(runner)
            finally:
                self._let_go(runner)
        raise SandboxUnavailable(
            "The sandbox lost this program twice. The machine may be out of memory; the server's log has more.",
            missing=[],
        )

    def _hold(self) -> tuple[Runner, Level]:
        while True:
            level = self.start()
            with self._changing:
                runner = self._runner
                if runner is None:  # somebody else lost it just now
                    continue
                runner.in_use += 1
                runner.runs += 1
                if runner.runs == _RUNS_MAX:
                    threading.Thread(target=self._renew, args=(runner,), name="sandbox").start()
                return runner, level

    def _let_go(self, runner: Runner) -> None:
        with self._changing:
            runner.in_use -= 1
            done = runner.retired and runner.in_use == 0
        if done:
            runner.close()

    def _drop(self, runner: Runner) -> None:
        with self._starting, self._changing:
            if self._runner is runner:
                self._runner = None
            runner.retired = True

    def _renew(self, old: Runner) -> None:
        """Put a new runner in the place of one that has done its share; what runs there ends in
        peace.
        """
        with self._starting:
            if self._runner is not old or self._level is None:
                return
            try:
                fresh = self._made(self._level)
            except WorkerLost as error:
                log.warning("sandbox: no new runner (%s), the old one stays", error)
                return
            with self._changing:
                self._runner, old.retired = fresh, True
                done = old.in_use == 0
        if done:
            old.close()

    def _tidy(self) -> None:
        """Take away what runs of a server that was killed left behind."""
        for left in (self._folder() / "root", _shared_folder(self._settings)):
            if left.exists():
                shutil.rmtree(left, ignore_errors=True)

    def _climb_down(self) -> tuple[Runner, Level]:
        self._tidy()
        levels = levels_from(self._settings.sandbox_min_level)
        why: list[str] = []
        for level in levels:
            if self._closed:
                raise SandboxUnavailable("The service is stopping.", missing=[])
            try:
                return self._tested(level), level
            except (WorkerLost, selftest.SelfTestFailed) as error:
                why.append(f"{level}: {error}")
                log.warning("sandbox: level %s cannot be had: %s", level, error)
        if self._closed:
            raise SandboxUnavailable("The service is stopping.", missing=[])
        found = {
            one.primitive: one for level in levels if level != UNSAFE for one in missing(level)
        }
        told = [
            {"primitive": one.primitive, "why": one.why, "remedy": one.remedy}
            for one in found.values()
        ]
        mend = " ".join(
            f"Missing: {one.primitive} ({one.why}); mend it: {one.remedy}."
            for one in found.values()
        )
        said = f"Programs cannot be run safely on this machine, so none is run. {mend or '; '.join(why)}"
        refused = SandboxUnavailable(said, missing=told)
        self._refused = (time.monotonic(), refused)
        raise refused

    def _made(self, level: Level) -> Runner:
        plan = self._plan(level)
        return GvisorRunner(plan) if level == GVISOR else ZygoteRunner(plan)

    def _tested(self, level: Level) -> Runner:
        runner = self._candidate = self._made(level)

        def run(code: str, seconds: float) -> dict[str, Any]:
            return runner.run(code, seconds, self.bounds.disk_bytes)[0]

        if self._closed:  # before it could be seen that there is something to close
            runner.close()
            raise WorkerLost("the service is stopping")
        try:
            selftest.check(run, self.bounds, level, self._folder())
        except BaseException:
            runner.close()
            raise
        finally:
            self._candidate = None
        return runner

    def _folder(self) -> Path:
        folder = self._settings.data_folder / "sandbox"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    def _plan(self, level: str) -> SandboxPlan:
        root = self._folder() / "root"
        root.mkdir(mode=0o700, exist_ok=True)
        shown = visible()
        data = self._settings.data_folder.resolve()
        for path in shown:
            if data.is_relative_to(path):
                raise WorkerLost(
                    f"the data folder lies in {path}, which programs may read: move it"
                )
            if level == NS and Path(path).is_relative_to(WORK):
                raise WorkerLost(f"{path} lies where the programs' own folder is to be: move it")
        if level == LANDLOCK and os.getuid() == 0:
            root = _shared_folder(self._settings)
            try:
                _give(root, self._settings.sandbox_uid)
            except OSError as error:
                raise WorkerLost(str(error)) from error
        return SandboxPlan(
            level=level,
            root=str(root),
            visible=shown,
            preload=PRELOAD,
            uid=self._settings.sandbox_uid,
            spares=self._parallel,
            bounds=self.bounds,
        )


def levels_from(lowest: str) -> tuple[Level, ...]:
    """The levels to try, strongest first, where `lowest` is the weakest that will do.

    gVisor only for who asks: its runs take a second.
    """
    return tuple(
        level for level in LADDER[: LADDER.index(lowest) + 1] if level != GVISOR or lowest == GVISOR
    )


def visible() -> tuple[str, ...]:
    """What programs may read:

    the system's and this interpreter's libraries, fonts, time zones. No program files, no home, no
    data.
    """
    ours = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    ours += [path for path in sys.path if path.endswith(("/site-packages", "/dist-packages"))]
    ours.append(str(Path(sys.base_prefix) / "lib"))
    there = sorted(
        {path for path in (*_SHOWN, *_SHOWN_FILES, *ours) if path and Path(path).exists()}
    )
    return tuple(path for path in there if not any(path.startswith(f"{other}/") for other in there))


def _shared_folder(settings: Settings) -> Path:
    """Where the programs' folders are when the user that root becomes must reach them:

    the server's own folders are closed to it.
    """
    named = hashlib.sha256(str(settings.data_folder.resolve()).encode()).hexdigest()[:16]
    return Path("/dev/shm") / f"remembrancer-sandbox-{named}"  # noqa: S108 - `_give` makes sure whose it is


def _give(folder: Path, uid: int) -> None:
    """Make `folder` and give it to `uid`.

    Raises OSError when somebody else made it, or a link in its place.
    """
    if not folder.exists():
        folder.mkdir(mode=0o700)
        os.chown(folder, uid, uid, follow_symlinks=False)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != uid:
        raise OSError(errno.EEXIST, f"{folder} is somebody else's")


def _run_of(head: dict[str, Any], files: list[tuple[str, bytes]], level: Level) -> SandboxRun:
    left_out = [(str(name), str(why)) for name, why in head.pop("left_out")]
    return SandboxRun(level=level, files=files, left_out=left_out, **head)
