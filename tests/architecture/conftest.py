"""A server as `make run` starts it, for the examples of the documentation."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import scripted_model


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server on a fresh data folder, as `make run` starts it."""

    url: str
    key: str
    data: Path


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Start one server for all pages; address and key are read from its output."""
    data = tmp_path_factory.mktemp("data")
    environment = {**os.environ, "REMEMBRANCER_DATA": str(data)}
    with subprocess.Popen(
        [sys.executable, "-m", "remembrancer", "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        output = ""
        for line in process.stdout or ():
            output += line
            if "install claude-code" in line:
                break
        url, key = re.search(r"http://[\d.:]+", output), re.search(r"sk_[0-9a-f]{64}", output)
        try:
            assert url, f"{output}{process.stderr and process.poll() and process.stderr.read()}"
            assert key, output
            yield RunningServer(url[0], key[0], data)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)


@pytest.fixture(scope="session")
def model_url() -> Iterator[str]:
    """Start one scripted model for all pages."""
    with scripted_model.serving() as url:
        yield url
