"""One started sandbox per test process, because the self-test of each takes seconds."""

from __future__ import annotations

import atexit
import tempfile
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from remembrancer.protocol.execution import Level
from remembrancer.protocol.status import SandboxState
from remembrancer.sandbox.runner import Runner
from remembrancer.sandbox.sandbox import Sandbox
from remembrancer.settings import Settings


class SharedSandbox(Sandbox):
    """The sandbox of one application: own queue and state, programs in the shared processes."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._values = tuple(
            (name, value)
            for name, value in sorted(asdict(settings).items())
            if name.startswith("sandbox_")
        )
        self._shared: Sandbox | None = None

    @property
    def state(self) -> SandboxState:
        """The state of the shared sandbox, `not started` before the first use."""
        return self._shared.state if self._shared else "not started"

    def start(self) -> Level:
        """Start the shared sandbox of these settings."""
        self._shared = _shared_sandbox(self._values)
        return self._shared.start()

    def close(self) -> None:
        """Leave the shared sandbox to the next test."""

    def _acquire_runner(self) -> tuple[Runner, Level]:
        self.start()
        assert self._shared is not None
        return self._shared._acquire_runner()

    def _release_runner(self, runner: Runner) -> None:
        assert self._shared is not None
        self._shared._release_runner(runner)

    def _discard_runner(self, runner: Runner) -> None:
        assert self._shared is not None
        self._shared._discard_runner(runner)


@cache
def _shared_sandbox(values: tuple[tuple[str, Any], ...]) -> Sandbox:
    folder = tempfile.TemporaryDirectory(prefix="shared-sandbox-")
    sandbox = Sandbox(Settings(data=Path(folder.name), **dict(values)))
    atexit.register(folder.cleanup)
    atexit.register(sandbox.close)
    return sandbox
