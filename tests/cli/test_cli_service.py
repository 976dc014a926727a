"""`remembrancer service`: a unit that systemd accepts, written after it was shown."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import needed
import pytest
from command import Cli

from remembrancer.install.systemd import ServiceOptions, UnitInvalid, unit_text, verify

# Records its calls, and answers as a systemd that runs.
SYSTEMCTL = """#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in
    *is-system-running*) echo running ;;
    *is-active*) echo active ;;
    *is-enabled*) echo enabled ;;
esac
"""


@pytest.fixture
def cli(folder: Path, tmp_path: Path) -> Cli:
    """The command line of a user whose machine runs systemd."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "systemctl").write_text(SYSTEMCTL)
    (programs / "systemctl").chmod(0o755)
    cli = Cli(folder)
    cli.environment |= {
        "HOME": str(tmp_path),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "CALLS": str(tmp_path / "calls"),
    }
    cli.environment.pop("XDG_CONFIG_HOME", None)
    return cli


def calls(folder: Path) -> list[str]:
    """Return the calls of systemctl so far, and forget them."""
    path = folder / "calls"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [line.removeprefix("--user ") for line in lines if "is-" not in line]


def test_unit_is_shown_written_started_changed_and_removed(cli: Cli, tmp_path: Path) -> None:
    unit = tmp_path / ".config" / "systemd" / "user" / "remembrancer.service"
    program = Path(sys.executable).with_name("remembrancer")

    first = cli("service install --port 9000 --yes")
    assert f"+ExecStart={program} serve --port 9000" in first.stdout
    assert calls(tmp_path) == [
        "daemon-reload",
        "enable remembrancer.service",
        "restart remembrancer.service",
    ]
    again = cli("service install --port 9000 --yes")
    assert (again.returncode, again.stderr) == (0, f"{unit} is up to date.\n")
    assert calls(tmp_path)[-1] == "start remembrancer.service"
    state = cli("service status")
    assert (state.returncode, "active   active" in state.stdout) == (0, True)
    changed = cli("service install --port 9001 --yes")
    assert "-ExecStart" in changed.stdout

    removed = cli("service remove --yes")

    assert removed.returncode == 0
    assert not unit.exists()
    assert calls(tmp_path)[-2:] == ["disable --now remembrancer.service", "daemon-reload"]
    assert cli("service status").returncode == 1
    assert cli("service remove --yes").stderr == f"{unit} does not exist. Nothing is removed.\n"


def test_machine_without_systemd_gets_the_commands(cli: Cli, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "bin")
    cli.environment["PATH"] = str(Path(sys.executable).parent)

    process = cli("service install --yes")

    assert process.returncode == 0
    assert "the unit is not verified" in process.stderr
    assert "systemctl --user daemon-reload && systemctl --user enable --now" in process.stderr
    assert (tmp_path / ".config/systemd/user/remembrancer.service").is_file()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gets as far")
def test_system_unit_needs_its_user(cli: Cli) -> None:
    process = cli("service install --system --run-as nobody-of-that-name --yes")

    assert process.returncode == 2
    assert "useradd --system" in process.stderr


@pytest.mark.parametrize(
    "options",
    [
        ServiceOptions(scope="user", program=("/bin/true",), port=9000, data=Path("/srv/a b%c$d")),
        ServiceOptions(scope="system", program=("/bin/true",), run_as="nobody"),
        ServiceOptions(
            scope="system", program=("/bin/true",), run_as="nobody", data=Path("/srv/x")
        ),
    ],
    ids=["user", "system", "system-data"],
)
def test_systemd_accepts_the_unit(options: ServiceOptions) -> None:
    needed.program("systemd-analyze", "systemd")
    text = unit_text(options)

    assert verify(text, options.scope)
    assert "Restart=on-failure\n" in text
    assert "NoNewPrivileges=yes\n" in text
    assert ("ProtectSystem=strict\n" in text) == (options.scope == "system")
    with pytest.raises(UnitInvalid, match=r"remembrancer\.service"):
        verify(text.replace("/bin/true", "/bin/not-there"), options.scope)


def test_temporary_installation_is_refused(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`uvx` runs programs from a cache that is emptied sometimes."""
    python = tmp_path / "archive-v0" / "x" / "bin" / "python"
    monkeypatch.setattr(sys, "executable", str(python))

    process = cli("service install --yes")

    assert process.returncode == 2
    assert "uv tool install remembrancer" in process.stderr
