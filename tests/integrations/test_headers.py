"""The program that gives Claude Code the headers of its MCP requests."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from remembrancer.install.options import headers_command


@pytest.fixture
def key_file(home: Path) -> Path:
    """A key file where the guide says."""
    path = home / ".config" / "remembrancer" / "key"
    path.parent.mkdir(parents=True)
    path.touch(mode=0o600)
    path.write_text("sk_file\n", "utf-8")
    return path


def run_program(home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        shlex.split(headers_command()),
        env={"HOME": str(home), "PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_headers_have_the_key_of_the_file(home: Path, key_file: Path) -> None:
    process = run_program(home)

    assert json.loads(process.stdout) == {"Authorization": "Bearer sk_file"}


def test_environment_comes_before_the_file(home: Path, key_file: Path) -> None:
    process = run_program(home, REMEMBRANCER_KEY="sk_environment")

    assert json.loads(process.stdout) == {"Authorization": "Bearer sk_environment"}


def test_file_that_others_can_read_is_refused(home: Path, key_file: Path) -> None:
    key_file.chmod(0o644)
    process = run_program(home)

    assert (process.returncode, process.stdout) == (1, "")
    assert "chmod 600" in process.stderr


def test_missing_key_is_an_error(home: Path) -> None:
    process = run_program(home)

    assert (process.returncode, process.stdout) == (1, "")
    assert "REMEMBRANCER_KEY" in process.stderr
