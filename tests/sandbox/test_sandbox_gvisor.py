"""The level `gvisor`, if runsc is installed; starting it runs the self-test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import needed
import pytest
from command import captured
from sandbox.conftest import settings
from sandbox.hostile import breaches
from sandbox.hostile_programs import programs
from sandbox.surroundings import surroundings

from remembrancer.sandbox.port import SandboxUnavailable
from remembrancer.sandbox.sandbox import Sandbox

DISK_MIB = 16


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Return a sandbox of containers."""
    needed.program("runsc", "runsc")
    folder = tmp_path_factory.mktemp("gvisor")
    instance = Sandbox(
        settings(folder, sandbox_min_level="gvisor", sandbox_disk_bytes=DISK_MIB << 20)
    )
    yield instance
    instance.close()


def test_program_runs_in_gvisor(box: Sandbox) -> None:
    run = box.run(
        "import os\nopen('a.txt', 'w').write('x')\nos.mkdir('d')\nprint(os.uname().nodename, "
        "os.getpid() > 1, os.getuid() > 0)\n6 * 7"
    )

    assert (run.level, run.exit_code, run.result) == ("gvisor", 0, "42")
    assert run.stdout == "sandbox True True\n"
    assert run.files == [("a.txt", b"x")]


def test_no_folder_takes_more_than_the_disk_limit(box: Sandbox) -> None:
    """Else programs would fill the machine's memory, in which these folders are."""
    run = box.run(
        "import os\n"
        "for folder in ('.', '/tmp', '/dev/shm', '/run', '/var/tmp'):\n"
        "    written = 0\n"
        "    try:\n"
        f"        for n in range({2 * DISK_MIB}):\n"
        "            with open(f'{folder}/fill-{n}', 'wb') as file:\n"
        "                written += file.write(bytes(1 << 20))\n"
        "    except OSError: pass\n"
        f"    print(written <= {DISK_MIB} << 20)\n"
        "    for n in range(written >> 20): os.remove(f'{folder}/fill-{n}')\n",
        seconds=30,
    )

    assert run.stdout == "True\n" * 5


def test_endless_program_is_stopped(box: Sandbox) -> None:
    run = box.run("print('begun')\nwhile True: pass", seconds=0.5)

    assert (run.stopped, run.stdout) == ("timeout", "begun\n")


def test_server_and_container_files_are_unreachable(box: Sandbox, tmp_path: Path) -> None:
    with surroundings(tmp_path) as around:
        run = box.run(
            around.insert_targets(
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
            )
        )
        reached = around.changed_targets()

    assert (run.exit_code, run.stdout, reached) == (0, "", [])


def test_hostile_programs_are_contained(box: Sandbox, tmp_path: Path) -> None:
    """A few of them; `make test-long` runs all (test_sandbox_hostile.py)."""
    with surroundings(tmp_path) as around:
        wrong = {
            name: breaches(box, around, name, code, lasting=lasting)
            for name, code, lasting in programs(plotting=False)[::26]
        }

    assert len(wrong) >= 3
    assert {name: reached for name, reached in wrong.items() if reached} == {}


def test_container_is_removed_after_its_run(box: Sandbox) -> None:
    box.run("1")

    state = box._settings.data_folder / "sandbox" / "root" / "state"
    listing = captured(["runsc", f"--root={state}", "list", "--quiet"], check=True)
    assert listing.stdout == ""


def test_without_runsc_no_program_runs_and_the_error_has_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    instance = Sandbox(settings(tmp_path, sandbox_min_level="gvisor"))

    with pytest.raises(SandboxUnavailable) as refused:
        instance.run("1")

    assert [one["primitive"] for one in refused.value.extra["missing"]] == ["runsc"]
    assert "apt-get install -y runsc" in refused.value.detail
