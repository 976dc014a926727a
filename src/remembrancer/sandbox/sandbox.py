"""The sandbox on the server's side: choose a confinement level, run programs, replace runners.

It starts at first use and takes the strongest level that works on this machine, but none below the
configured minimum.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import math
import os
import re
import shutil
import stat
import sys
import sysconfig
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..fair_queue import FairPlaces
from ..protocol.execution import Level
from ..protocol.status import SandboxState
from ..settings import Settings
from . import self_test
from .gvisor_runner import GvisorRunner
from .plan import GVISOR, LANDLOCK, NS, UNSAFE, WORK, SandboxPlan
from .port import SandboxBusy, SandboxPort, SandboxRun, SandboxUnavailable, lost_twice
from .probe import missing
from .runner import Cancellation, Runner, WorkerLost
from .zygote_runner import ZygoteRunner

log = logging.getLogger("remembrancer.sandbox")

LADDER: tuple[Level, ...] = (GVISOR, NS, LANDLOCK, UNSAFE)  # strongest first
PRELOAD = ("numpy", "numpy.random", "numpy.linalg", "numpy.fft")
# Loaded before the first program that names it, and kept for all later ones: it takes two thirds of
# the memory of a sandbox, and most of its start.
PLOTTING = "matplotlib.pyplot"
_NAMES_PLOTTING = re.compile("matplotlib|pylab|mpl_toolkits")
# Runs per zygote. All its forks share one memory layout, which programs could learn over many runs.
_RUNS_MAX = 2_000
_RETRY_SECONDS = 60  # after a failed start
_CHECK_SECONDS = 0.2  # how often a queued program checks that its client waits
_VISIBLE_FOLDERS = (
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/lib",
    "/lib64",
    "/usr/share/fonts",
    "/usr/share/zoneinfo",
)
_VISIBLE_FILES = ("/etc/ld.so.cache", "/etc/fonts", "/etc/localtime")


class Sandbox(SandboxPort):
    """Runs programs. One per server; safe to use from many threads; no processes until started."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._settings = settings
        self._parallel = settings.sandbox_parallel or os.cpu_count() or 1
        self.places = FairPlaces(self._parallel, settings.sandbox_queue_max)
        self._state_lock = threading.Lock()  # guards the fields below
        self._start_lock = threading.Lock()
        self._closed = False
        self._candidate: Runner | None = None  # the runner under test
        self._runner: Runner | None = None
        self._level: Level | None = None
        self._has_plotting = False  # in the runners from now on
        # Monotonic time of the last failed start, and its error.
        self._start_failure: tuple[float, SandboxUnavailable] | None = None

    @property
    def state(self) -> SandboxState:
        """The confinement level, `not started`, or `unavailable`."""
        if self._level is not None:
            return self._level
        return "unavailable" if self._start_failure else "not started"

    def start(self) -> Level:
        """Start the sandbox and return its confinement level.

        Idempotent. Raises SandboxUnavailable.
        """
        with self._start_lock:
            if self._runner is None or self._level is None:
                failed_at_s, failure = self._start_failure or (-math.inf, None)
                if failure and time.monotonic() - failed_at_s < _RETRY_SECONDS:
                    raise failure
                self._runner, self._level = self._start_strongest_level()
                if self._level == UNSAFE:
                    log.warning("sandbox: level %s: programs are NOT confined", self._level)
                else:
                    log.info("sandbox: level %s", self._level)
            return self._level

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
        seconds = min(seconds or self.bounds.seconds, self.bounds.seconds_max)
        if not self.places.take(account_id, cancellation.check, _CHECK_SECONDS):
            raise SandboxBusy(retry_after=max(1, math.ceil(self.bounds.seconds / 2)))
        start = time.monotonic()
        try:
            return self._run(code, seconds, cancellation)
        finally:
            self.places.give_back(account_id, time.monotonic() - start)

    def close(self) -> None:
        """Stop all programs and release resources; abort a start in progress.

        Idempotent. Later runs fail.
        """
        self._closed = True
        if candidate := self._candidate:
            # This ends the self-test, and with it the start that holds the lock.
            candidate.close()
        with self._start_lock:
            runner, self._runner, self._level = self._runner, None, None
        if runner:
            runner.close()
            self._remove_leftovers()

    def _run(self, code: str, seconds: float, cancellation: Cancellation) -> SandboxRun:
        self._load_plotting_for(code)
        # A program has no effect outside, so one whose runner went away can run again.
        for attempt in (1, 2):
            runner, level = self._acquire_runner()
            try:
                head, files = runner.run(code, seconds, cancellation)
                return SandboxRun.from_report({"level": level, **head}, files)
            except WorkerLost as error:
                log.warning("sandbox: run lost (%s)%s", error, ", retrying" if attempt == 1 else "")
                self._discard_runner(runner)
            finally:
                self._release_runner(runner)
        raise lost_twice()

    def _load_plotting_for(self, code: str) -> None:
        """Replace the runner by one that has PLOTTING, before the first program that names it.

        If that fails, programs import it themselves.
        """
        if _NAMES_PLOTTING.search(code) and self.start() != GVISOR and not self._has_plotting:
            self._has_plotting = True
            if (runner := self._runner) is not None:
                self._replace_runner(runner)

    def _acquire_runner(self) -> tuple[Runner, Level]:
        while True:
            level = self.start()
            with self._state_lock:
                runner = self._runner
                if runner is None:  # another thread has just discarded it
                    continue
                runner.in_use += 1
                runner.runs += 1
                if runner.runs == _RUNS_MAX:
                    threading.Thread(
                        target=self._replace_runner, args=(runner,), name="sandbox"
                    ).start()
                return runner, level

    def _release_runner(self, runner: Runner) -> None:
        with self._state_lock:
            runner.in_use -= 1
            is_idle = runner.retired and runner.in_use == 0
        if is_idle:
            runner.close()

    def _discard_runner(self, runner: Runner) -> None:
        with self._start_lock, self._state_lock:
            if self._runner is runner:
                self._runner = None
            runner.retired = True

    def _replace_runner(self, old: Runner) -> None:
        """Replace a runner, and let its programs finish."""
        with self._start_lock:
            if self._runner is not old or self._level is None:
                return
            try:
                new = self._create_runner(self._level)
            except WorkerLost as error:
                log.warning("sandbox: new runner failed (%s), keeping the old one", error)
                return
            with self._state_lock:
                self._runner, old.retired = new, True
                is_idle = old.in_use == 0
        if is_idle:
            old.close()

    def _remove_leftovers(self) -> None:
        """Delete the files that a killed server left behind."""
        for folder in (self._folder() / "root", _shared_folder(self._settings)):
            if folder.exists():
                shutil.rmtree(folder, ignore_errors=True)

    def _start_strongest_level(self) -> tuple[Runner, Level]:
        self._remove_leftovers()
        levels = levels_from(self._settings.sandbox_min_level)
        failures: list[str] = []
        for level in levels:
            if self._closed:
                break
            try:
                return self._create_tested_runner(level), level
            except (WorkerLost, self_test.SelfTestFailed) as error:
                failures.append(f"{level}: {error}")
                if not self._closed:
                    log.warning("sandbox: level %s is not available: %s", level, error)
        if self._closed:
            raise SandboxUnavailable("The service is stopping.", missing=[])
        primitives = {
            primitive.primitive: primitive
            for level in levels
            if level != UNSAFE
            for primitive in missing(level)
        }.values()
        reasons = [
            f"Missing: {primitive.primitive} ({primitive.why}); to fix: {primitive.remedy}."
            for primitive in primitives
        ]
        unavailable = SandboxUnavailable(
            "The sandbox cannot confine programs on this machine, so it runs none. "
            + (" ".join(reasons) or "; ".join(failures)),
            missing=[asdict(primitive) for primitive in primitives],
        )
        self._start_failure = (time.monotonic(), unavailable)
        raise unavailable

    def _create_runner(self, level: Level) -> Runner:
        plan = self._plan(level)
        return GvisorRunner(plan) if level == GVISOR else ZygoteRunner(plan)

    def _create_tested_runner(self, level: Level) -> Runner:
        runner = self._candidate = self._create_runner(level)

        def run(code: str, seconds: float) -> dict[str, Any]:
            return runner.run(code, seconds, Cancellation())[0]

        if self._closed:  # close() may have run before the candidate was set
            runner.close()
            raise WorkerLost("the service is stopping")
        try:
            self_test.check(run, self.bounds, level, self._folder())
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
        visible_paths = visible()
        data = self._settings.data_folder.resolve()
        for path in visible_paths:
            if data.is_relative_to(path):
                raise WorkerLost(
                    f"the data folder lies in {path}, which programs may read: move it"
                )
            if level == NS and Path(path).is_relative_to(WORK):
                raise WorkerLost(f"{path} lies in {WORK}, the working folder of programs: move it")
        if level == LANDLOCK and os.getuid() == 0:
            root = _shared_folder(self._settings)
            try:
                _create_owned_folder(root, self._settings.sandbox_uid)
            except OSError as error:
                raise WorkerLost(str(error)) from error
        return SandboxPlan(
            level=level,
            root=str(root),
            visible=visible_paths,
            preload=(*PRELOAD, PLOTTING) if self._has_plotting else PRELOAD,
            uid=self._settings.sandbox_uid,
            spares=self._parallel,
            bounds=self.bounds,
        )


def levels_from(lowest: str) -> tuple[Level, ...]:
    """Return the levels to try, strongest first; `lowest` is the weakest allowed.

    gVisor is tried only if it is the minimum, because its runs take a second.
    """
    return tuple(
        level for level in LADDER[: LADDER.index(lowest) + 1] if level != GVISOR or lowest == GVISOR
    )


def visible() -> tuple[str, ...]:
    """Return the paths that programs may read: libraries, fonts and time zones.

    The libraries are those of the system and of this interpreter. Executables, home folders and the
    data folder are not visible.
    """
    libraries = [
        sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")
    ]
    libraries += [path for path in sys.path if path.endswith(("/site-packages", "/dist-packages"))]
    libraries.append(str(Path(sys.base_prefix) / "lib"))
    candidates = (*_VISIBLE_FOLDERS, *_VISIBLE_FILES, *libraries)
    paths = sorted({path for path in candidates if path and Path(path).exists()})
    return tuple(path for path in paths if not any(path.startswith(f"{other}/") for other in paths))


def _shared_folder(settings: Settings) -> Path:
    """Return the folder for working folders when a root server runs programs as another user.

    That user cannot enter the data folder.
    """
    digest = hashlib.sha256(str(settings.data_folder.resolve()).encode()).hexdigest()[:16]
    # `_create_owned_folder` checks the owner.
    return Path("/dev/shm") / f"remembrancer-sandbox-{digest}"  # noqa: S108 - made with mode 0700


def _create_owned_folder(folder: Path, uid: int) -> None:
    """Create `folder` with owner `uid`.

    Raises OSError if it exists with another owner, or as a link.
    """
    if not folder.exists():
        folder.mkdir(mode=0o700)
        os.chown(folder, uid, uid, follow_symlinks=False)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != uid:
        raise OSError(errno.EEXIST, f"{folder} belongs to another user")
