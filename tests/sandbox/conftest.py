"""A sandbox that works, started once for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remembrancer.sandbox.sandbox import Sandbox
from remembrancer.settings import Settings


@pytest.fixture(scope="session")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """The sandbox at its default level. Tests that would harm it make their own."""
    made = Sandbox(settings(tmp_path_factory.mktemp("sandbox")))
    yield made
    made.close()


def settings(folder: Path, **more: object) -> Settings:
    """The defaults, over a folder of the test's own."""
    return Settings(data=folder, **more)  # type: ignore[arg-type]
