"""Choice of a confinement level: never below the minimum; a refusal names what is missing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import captured

from remembrancer.sandbox.sandbox import Sandbox
from remembrancer.settings import read

# A process under a filter like a container's: no new namespaces and no mounts (and, on the second
# line, no Landlock).
_CONTAINER = """
import json, struct, sys
from pathlib import Path
from remembrancer.protocol.errors import Unavailable
from remembrancer.settings import Settings
from remembrancer.sandbox import kernel, sandbox, syscalls

numbers = {"x86_64": [272, 165, 155, 308], "aarch64": [97, 40, 41, 268]}[syscalls.machine()] + json.loads(sys.argv[3])
rows = [(0x20, 0, 0, 0)] + [row for n in numbers for row in ((0x15, 0, 1, n), (0x06, 0, 0, 0x50001))] + [(0x06, 0, 0, 0x7FFF0000)]
kernel.set_no_new_privileges()
kernel.install_filter(b"".join(struct.pack("HBBI", *row) for row in rows))
settings = Settings(data=Path(sys.argv[1]), sandbox_min_level=sys.argv[2], embedder="none")
box = sandbox.Sandbox(settings)
try:
    outcome = {"level": box.run("print(1)").level}
except Unavailable as refused:
    outcome = {"detail": refused.detail, "missing": refused.extra["missing"]}
box.close()
if sys.argv[4:]:
    from remembrancer.cli.doctor import run_checks
    parts = {one.part: [one.state, one.detail, one.remedy] for one in run_checks(settings)}
    outcome["doctor"] = {part: result for part, result in parts.items() if "sandbox" in part}
print(json.dumps(outcome))
"""
NO_LANDLOCK = [444, 445, 446]


Outcome = dict[str, Any]
Container = Callable[..., Outcome]


@pytest.fixture
def in_a_container(tmp_path: Path) -> Container:
    """Run a program in the sandbox of a server in a container; return the outcome.

    With the word `doctor` also what `remembrancer doctor` says of the sandbox there.
    """

    def run(min_level: str, refused: list[int], *words: str) -> Outcome:
        opened = "from sandbox.hostile import open_up; open_up()\n" if os.getuid() == 0 else ""
        script = [sys.executable, "-c", opened + _CONTAINER, str(tmp_path), min_level]
        path = os.pathsep.join(one for one in sys.path if one)
        finished = captured(
            [*script, json.dumps(refused), *words],
            env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"},
            timeout=60,
        )
        assert finished.returncode == 0, finished.stderr
        outcome: Outcome = json.loads(finished.stdout)
        return outcome

    return run


def test_without_namespaces_no_program_runs_and_doctor_says_why(in_a_container: Container) -> None:
    """`remembrancer doctor` shows the confinement (specification.md#sandbox-unavailable)."""
    outcome = in_a_container("ns", [], "doctor")
    report = outcome["doctor"]
    state, detail, _ = report.pop("sandbox")

    assert "level" not in outcome
    assert {one["primitive"] for one in outcome["missing"]} & {"namespaces", "user namespaces"}
    assert all(one["why"] and one["remedy"] in outcome["detail"] for one in outcome["missing"])
    assert (state, detail) == ("wrong", "programs cannot run safely, so none are run")
    assert "sandbox: mounts" in report
    assert all(state == "wrong" and detail and remedy for state, detail, remedy in report.values())


def test_operator_can_allow_landlock(in_a_container: Container) -> None:
    """Then `remembrancer doctor` names the missing parts of a stronger level."""
    outcome = in_a_container("landlock", [], "doctor")

    assert outcome["level"] == "landlock"
    assert outcome["doctor"]["sandbox"][:2] == [
        "ok",
        "level landlock, tested with hostile programs",
    ]
    assert outcome["doctor"]["sandbox: mounts"][0] == "notice"


def test_without_landlock_every_missing_primitive_is_named(in_a_container: Container) -> None:
    outcome = in_a_container("landlock", NO_LANDLOCK)

    assert "level" not in outcome
    assert {"landlock", "landlock scopes"} <= {one["primitive"] for one in outcome["missing"]}
    assert "mounts" in {one["primitive"] for one in outcome["missing"]}


def test_unconfined_runs_need_the_explicit_setting_and_report_it(in_a_container: Container) -> None:
    outcome = in_a_container("unsafe", NO_LANDLOCK, "doctor")

    assert outcome["level"] == "unsafe"
    assert outcome["doctor"]["sandbox"][:2] == ["notice", "level unsafe: programs are NOT confined"]


def test_a_relative_data_folder_confines_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`serve --data memory` runs programs at the level of the same folder with its whole path."""
    monkeypatch.chdir(tmp_path)
    box = Sandbox(read({"REMEMBRANCER_DATA": "memory"}))
    try:
        assert box.run("print(6 * 7)").stdout == "42\n"
    finally:
        box.close()
