"""The program that gives Claude Code the headers of its MCP requests."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from command import captured

from remembrancer.install.config_files import headers_command


@pytest.fixture
def key_file(home: Path) -> Path:
    """A key file where the guide says."""
    path = home / ".config" / "remembrancer" / "key"
    path.parent.mkdir(parents=True)
    path.touch(mode=0o600)
    path.write_text("sk_file\n", "utf-8")
    return path


def run_program(home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return captured(
        shlex.split(headers_command()),
        env={"HOME": str(home), "PATH": os.environ["PATH"], **variables},
    )


def test_headers_have_the_key_of_the_environment_or_of_the_file(home: Path, key_file: Path) -> None:
    for variables, key in (
        ({}, "sk_file"),
        ({"REMEMBRANCER_KEY": "sk_environment"}, "sk_environment"),
    ):
        process = run_program(home, **variables)
        assert json.loads(process.stdout) == {"Authorization": f"Bearer {key}"}


def test_missing_key_and_file_that_others_can_read_are_errors(home: Path, key_file: Path) -> None:
    key_file.chmod(0o644)
    readable = run_program(home)
    key_file.unlink()
    missing = run_program(home)

    assert (readable.returncode, readable.stdout) == (missing.returncode, missing.stdout) == (1, "")
    assert "chmod 600" in readable.stderr
    assert "REMEMBRANCER_KEY" in missing.stderr
