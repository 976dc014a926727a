"""Hostile programs are contained, as root and as a user; a positive control must fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from sandbox.hostile import HARMLESS
from sandbox.surroundings import left_on_the_host

_SCRIPT = Path(__file__).parent / "hostile.py"
_STRANGER = 58461  # a user who owns nothing


def assaulted(level: str, uid: int | None) -> dict[str, Any]:
    """What the programs came to, run by a process of its own in a folder that any user can be
    given. It ends when all they started has.
    """
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, str(_SCRIPT), level, folder, *([] if uid is None else [str(uid)])]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        done = subprocess.run(
            words, capture_output=True, text=True, env=environment, check=False, timeout=110
        )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def users() -> list[int | None]:
    """As whom to try: as ourselves, and when that is root, as nobody in particular, too."""
    return [None, _STRANGER] if os.getuid() == 0 else [None]


@pytest.mark.parametrize("uid", users())
def test_no_hostile_program_gets_through_namespaces(uid: int | None) -> None:
    files = left_on_the_host()

    found = assaulted("ns", uid)

    assert found["level"] == "ns"
    assert len(found["programs"]) >= 48 + 30
    assert {name: wrong for name, wrong in found["programs"].items() if wrong} == {}
    assert left_on_the_host() - files == set()


def test_no_hostile_program_gets_through_landlock_alone() -> None:
    uid = _STRANGER if os.getuid() == 0 else None

    found = assaulted("landlock", uid)

    assert found["level"] == "landlock"
    assert {name: wrong for name, wrong in found["programs"].items() if wrong} == {}


def test_the_same_programs_get_through_where_nothing_confines_them() -> None:
    """The positive control: should this fail, the suite has lost its teeth."""
    found = assaulted("unsafe", None)

    assert sorted(found["programs"]) == sorted(HARMLESS)
    assert [name for name, wrong in found["programs"].items() if not wrong] == []
