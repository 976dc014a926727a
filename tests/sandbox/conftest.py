"""Fixtures of the sandbox tests: a working sandbox, started once per test process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remembrancer.sandbox.sandbox import Sandbox
from remembrancer.settings import Settings


@pytest.fixture(scope="session")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Return the sandbox at its default level. Destructive tests create their own."""
    instance = Sandbox(settings(tmp_path_factory.mktemp("sandbox")))
    yield instance
    instance.close()


def settings(folder: Path, **more: object) -> Settings:
    """Return default settings for a folder of the test."""
    return Settings(data=folder, **more)  # type: ignore[arg-type]
