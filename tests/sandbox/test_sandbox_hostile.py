"""Hostile programs are contained, as root and as a user; a positive control must fail."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import needed
import pytest
from command import captured
from rounds import LONG
from sandbox.hostile import HARMLESS
from sandbox.surroundings import left_on_the_host

_SCRIPT = Path(__file__).parent / "hostile.py"
_STRANGER = 58461  # a user without files
_PARTS = 4  # of the programs in gVisor, so that no test takes minutes


def run_hostile_programs(level: str, uid: int | None, *part: str) -> dict[str, Any]:
    """Run the programs in a separate process, in a folder that any user can enter."""
    with tempfile.TemporaryDirectory() as folder:
        user = [] if uid is None else [str(uid)]
        words = [sys.executable, str(_SCRIPT), level, folder, *user, *part]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        finished = captured(words, env=environment, timeout=580 if LONG else 110)
    assert finished.returncode == 0, finished.stderr
    result: dict[str, Any] = json.loads(finished.stdout)
    return result


def users() -> list[int | None]:
    """Return the users to test: the current one; in `make test-long` also an unprivileged one."""
    return [None, _STRANGER] if os.getuid() == 0 and LONG else [None]


@dataclass(frozen=True, slots=True)
class Attacks:
    """What the programs reached, by level and user, and what they left behind."""

    results: dict[tuple[str, int | None], dict[str, Any]]
    left: set[str]


@pytest.fixture(scope="module")
def attacks() -> Attacks:
    """Run the programs at all levels at the same time: they wait most of the time."""
    stranger = _STRANGER if os.getuid() == 0 else None
    runs = [*(("ns", uid) for uid in users()), ("landlock", stranger), ("unsafe", None)]
    before = left_on_the_host()
    with ThreadPoolExecutor() as callers:
        results = dict(
            zip(runs, callers.map(lambda run: run_hostile_programs(*run), runs), strict=True)
        )
    return Attacks(results, left_on_the_host() - before)


@pytest.mark.long
@pytest.mark.parametrize("uid", users())
def test_hostile_programs_are_contained_by_namespaces(attacks: Attacks, uid: int | None) -> None:
    result = attacks.results["ns", uid]

    assert result["level"] == "ns"
    assert len(result["programs"]) >= 48 + 30
    assert {name: wrong for name, wrong in result["programs"].items() if wrong} == {}
    assert attacks.left == set()
    assert result["left"] == []


def test_hostile_programs_are_contained_by_landlock_alone(attacks: Attacks) -> None:
    [result] = [one for (level, _), one in attacks.results.items() if level == "landlock"]

    assert result["level"] == "landlock"
    assert {name: wrong for name, wrong in result["programs"].items() if wrong} == {}


@pytest.mark.long
@pytest.mark.skipif(not LONG, reason="test_sandbox_gvisor.py runs some; each takes a second")
@pytest.mark.parametrize("part", range(_PARTS))
def test_hostile_programs_are_contained_by_gvisor(part: int) -> None:
    """All programs, in containers of their own."""
    needed.program("runsc", "runsc")
    result = run_hostile_programs("gvisor", None, f"{part}/{_PARTS}")

    assert result["level"] == "gvisor"
    assert len(result["programs"]) >= 18
    assert {name: wrong for name, wrong in result["programs"].items() if wrong} == {}
    assert result["left"] == []


def test_hostile_programs_succeed_without_confinement(attacks: Attacks) -> None:
    """The positive control: if this fails, the suite no longer detects breaches."""
    result = attacks.results["unsafe", None]

    assert sorted(result["programs"]) == sorted(HARMLESS)
    assert [name for name, wrong in result["programs"].items() if not wrong] == []
