"""The level `gvisor`, where runsc is installed. Its start runs the hostile programs there, too."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import needed
import pytest
from sandbox.conftest import settings
from sandbox.surroundings import surroundings

from remembrancer.sandbox.sandbox import Sandbox, SandboxUnavailable, levels_from


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox of containers."""
    needed.program("runsc", "runsc")
    made = Sandbox(settings(tmp_path_factory.mktemp("gvisor"), sandbox_min_level="gvisor"))
    yield made
    made.close()


def test_a_program_runs_in_a_kernel_of_its_own(box: Sandbox) -> None:
    run = box.run(
        "import os\nopen('a.txt', 'w').write('x')\nos.mkdir('d')\nprint(os.uname().nodename, os.getpid() > 1, os.getuid() > 0)\n6 * 7"
    )

    assert (run.level, run.exit_code, run.stdout, run.result) == (
        "gvisor",
        0,
        "sandbox True True\n",
        "42",
    )
    assert run.files == [("a.txt", b"x")]


def test_what_it_draws_comes_back(box: Sandbox) -> None:
    run = box.run("import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nNone", seconds=60)

    assert [(name, content[:4]) for name, content in run.files] == [("figure-1.png", b"\x89PNG")]


def test_a_program_that_never_ends_is_ended(box: Sandbox) -> None:
    run = box.run("print('begun')\nwhile True: pass", seconds=0.5)

    assert (run.stopped, run.stdout) == ("timeout", "begun\n")


def test_neither_the_server_nor_the_containers_own_files_are_reached(
    box: Sandbox, tmp_path: Path
) -> None:
    with surroundings(tmp_path) as around:
        run = box.run(
            around.aimed(
                "import os, socket, subprocess\n"
                "def attempt(name, act):\n"
                "    try: act()\n"
                "    except OSError: return\n"
                "    print('ESCAPE', name)\n"
                "attempt('file', lambda: open('@C@/server.db').read())\n"
                "attempt('tcp', lambda: socket.create_connection(('127.0.0.1', @TCP@), 1))\n"
                "attempt('kill', lambda: os.kill(@PID@, 0))\n"
                "attempt('guest', lambda: os.kill(1, 0))\n"
                "attempt('proc', lambda: open('/proc/self/maps').read())\n"
                "attempt('library', lambda: open(os.__file__, 'a'))\n"
                "attempt('binary', lambda: subprocess.run([os.sys.executable]))\n"
                "attempt('root', lambda: os.setuid(0))\n"
            ),
        )
        reached = around.reached()

    assert (run.exit_code, run.stdout, reached) == (0, "", [])


def test_no_container_outlives_its_run(box: Sandbox) -> None:
    box.run("1")

    state = box._settings.data_folder / "sandbox" / "root" / "state"
    listed = subprocess.run(
        ["runsc", f"--root={state}", "list", "--quiet"], capture_output=True, text=True, check=True
    )
    assert listed.stdout == ""


def test_without_runsc_no_program_is_run_and_the_answer_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    made = Sandbox(settings(tmp_path, sandbox_min_level="gvisor"))

    with pytest.raises(SandboxUnavailable) as refused:
        made.run("1")

    assert [one["primitive"] for one in refused.value.extra["missing"]] == ["runsc"]
    assert "apt-get install -y runsc" in refused.value.detail


def test_nobody_gets_it_who_did_not_ask() -> None:
    assert [levels_from(name) for name in ("gvisor", "ns", "landlock", "unsafe")] == [
        ("gvisor",), ("ns",), ("ns", "landlock"), ("ns", "landlock", "unsafe")
    ]  # fmt: skip
