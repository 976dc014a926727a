"""A systemd unit that serves: of the user, or of the system."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Scope = Literal["user", "system"]
UNIT = "remembrancer.service"
SYSTEM_DATA = "/var/lib/remembrancer"
SECONDS_MAX = 60  # of a call of systemctl: a start waits for nothing

# Both kinds. No RestrictNamespaces and no SystemCallFilter: the sandbox of programs needs
# namespaces and mounts, and filters the calls of each program itself.
_HARDENING = """\
NoNewPrivileges=yes
UMask=0077
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
"""
_SYSTEM_HARDENING = """\
CapabilityBoundingSet=
PrivateDevices=yes
PrivateTmp=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=read-only
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectSystem=strict
"""


class SystemdFailed(RuntimeError):
    """A program of systemd failed. The message has its output."""


class UnitInvalid(RuntimeError):
    """systemd does not accept the unit. Nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """Options of the unit. `program` is the command without its arguments."""

    scope: Scope
    program: tuple[str, ...]
    host: str | None = None
    port: int | None = None
    data: Path | None = None
    run_as: str = "remembrancer"  # the user of a system unit

    @property
    def command(self) -> list[str]:
        """Return the command line of the service."""
        options = {"--host": self.host, "--port": self.port, "--data": self.data}
        if self.scope == "system" and self.data is None:
            options["--data"] = Path(SYSTEM_DATA)
        words = [
            word for name, value in options.items() if value is not None for word in (name, value)
        ]
        return [*self.program, "serve", *map(str, words)]


def unit_text(options: ServiceOptions) -> str:
    """Return the unit."""
    is_system = options.scope == "system"
    service = [
        "Type=exec",
        f"ExecStart={' '.join(map(quoted, options.command))}",
        "Environment=PYTHONUNBUFFERED=1",
        "Restart=on-failure",
        "RestartSec=2",
        "TimeoutStopSec=30",
    ]
    if is_system:
        service.append(f"User={options.run_as}")
        if options.data is None:
            service += ["StateDirectory=remembrancer", "StateDirectoryMode=0700"]
        else:
            service.append(f"ReadWritePaths={quoted(str(options.data))}")
    hardening = _HARDENING + (_SYSTEM_HARDENING if is_system else "")
    wanted_by = "multi-user.target" if is_system else "default.target"
    return "\n".join(
        [
            "# Written by `remembrancer service install`, which also changes and removes it.",
            "[Unit]",
            "Description=Remembrancer, a memory service for AI agents",
            *(["After=network-online.target", "Wants=network-online.target"] if is_system else []),
            "StartLimitIntervalSec=300",
            "StartLimitBurst=10",
            "",
            "[Service]",
            *service,
            f"{hardening}",
            "[Install]",
            f"WantedBy={wanted_by}",
            "",
        ]
    )


def quoted(word: str) -> str:
    """Return a word of a command line as systemd reads it."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return text if text and not any(one in text for one in " \t\n;'\"\\") else f'"{text}"'


def unit_path(scope: Scope, *, home: Path, config_home: Path | None = None) -> Path:
    """Return the path of the unit."""
    if scope == "system":
        return Path("/etc/systemd/system") / UNIT
    return (config_home or home / ".config") / "systemd" / "user" / UNIT


def verify(text: str, scope: Scope) -> bool:
    """Let `systemd-analyze verify` check a unit. Return False if it cannot.

    Raises UnitInvalid.
    """
    if shutil.which("systemd-analyze") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / UNIT
        path.write_text(text, "utf-8")
        # It needs a runtime folder, which the user of a session without systemd has not got.
        analyze = ["env", f"XDG_RUNTIME_DIR={folder}", "systemd-analyze", "verify"]
        process = _run([*analyze, f"--{scope}", "--man=no", str(path)])
    own = [line for line in process.stderr.splitlines() if UNIT in line]
    if process.returncode and own:
        raise UnitInvalid(f"systemd does not accept the unit: {'; '.join(own)}")
    return not process.returncode


def is_running(scope: Scope) -> bool:
    """Return True if a systemd that can start the unit runs."""
    if shutil.which("systemctl") is None:
        return False
    state = systemctl(scope, "is-system-running", check=False)
    return state in ("running", "degraded", "starting", "initializing", "maintenance")


def systemctl(scope: Scope, *words: str, check: bool = True) -> str:
    """Return the output of systemctl. Raises SystemdFailed if it fails and `check` is set."""
    process = _run(["systemctl", *(["--user"] if scope == "user" else []), *words])
    if check and process.returncode:
        output = " ".join(f"{process.stderr} {process.stdout}".split())
        raise SystemdFailed(f"systemctl {' '.join(words)} failed: {output}")
    return process.stdout.strip()


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603 - programs of the system, with our own words
            command, capture_output=True, text=True, check=False, timeout=SECONDS_MAX
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SystemdFailed(f"{command[0]} cannot run: {error}") from error
