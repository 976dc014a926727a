"""Clones of this repository, and services that run from them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import needed
import pytest
from architecture.tree import ROOT
from command import captured

NOTHING_INSTALLED = ("-o", ".venv/.ready", "-o", ".venv/.serves")  # options of make


@dataclass(frozen=True, slots=True)
class Service:
    """A service that runs: what it printed first, and the environment of its user."""

    output: str
    environment: dict[str, str]

    @property
    def address(self) -> str:
        """The address that it listens on."""
        [address] = re.findall(r"listens on (\S+)", self.output)
        return str(address)

    @property
    def key(self) -> str:
        """The owner's first key."""
        [key] = re.findall(r"sk_[0-9a-f]{64}", self.output)
        return str(key)


def clone_of(folder: Path) -> Path:
    """Return a clone of this repository's commit, with the packages of this environment.

    It follows a branch, also where this repository is at a commit without one.
    """
    needed.program("git", "git")
    origin, clone = folder / "origin", folder / "remembrancer"
    for command, place in (
        (["clone", "--quiet", "--bare", str(ROOT), str(origin)], folder),
        (["update-ref", "refs/heads/main", "HEAD"], origin),
        (["symbolic-ref", "HEAD", "refs/heads/main"], origin),
        (["clone", "--quiet", str(origin), str(clone)], folder),
    ):
        subprocess.run(["git", *command], cwd=place, check=True)
    (clone / ".venv").symlink_to(sys.prefix)
    return clone


def earlier_clone_of(folder: Path) -> Path:
    """Return a clone at the commit before the last one."""
    clone = clone_of(folder)
    back = subprocess.run(["git", "reset", "--quiet", "--hard", "HEAD~1"], cwd=clone, check=False)
    if back.returncode:
        pytest.skip("this repository has no earlier commit")
    return clone


def user_of(home: Path, **variables: str) -> dict[str, str]:
    """Return the environment of a user with this home, whose services take any free port."""
    inherited = {
        name: text for name, text in os.environ.items() if not name.startswith("REMEMBRANCER_")
    }
    inherited.pop("XDG_CONFIG_HOME", None)
    own = {"HOME": str(home), "REMEMBRANCER_DATA": str(home / "data"), "REMEMBRANCER_PORT": "0"}
    return inherited | own | variables


def run_as(environment: dict[str, str], script: str, **options: Any) -> str:
    """Return the output of a script, which must succeed."""
    process = captured(["sh", "-ec", script], env=environment, **options)
    assert process.returncode == 0, process.stderr + process.stdout
    return process.stdout


@contextmanager
def served(script: str, folder: Path, environment: dict[str, str]) -> Iterator[Service]:
    """Run a script whose last command serves, until the block ends."""
    with subprocess.Popen(
        ["sh", "-ec", script],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as server:
        output = ""
        for line in server.stdout or ():
            output += line
            if "3. " in line or "keys create" in line:
                break
        try:
            yield Service(output, environment)
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.communicate()  # until all its processes have ended
