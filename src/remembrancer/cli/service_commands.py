"""`remembrancer service`: a systemd unit that starts the service and keeps it running."""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..install.config_files import Change, diff, text_of, write
from ..install.systemd import (
    SYSTEM_DATA,
    UNIT,
    Scope,
    ServiceOptions,
    is_running,
    systemctl,
    unit_path,
    unit_text,
    verify,
)
from .commands import fail
from .output import Commands

app = Commands(no_args_is_help=True, help="Install, remove or show the service of systemd.")
System = Annotated[
    bool,
    typer.Option("--system/--user", help="For the system (as root), or for you. Default: for you."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Write without confirmation.")]


@app.command()
def install(
    system: System = False,
    host: str | None = None,
    port: int | None = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help=f"Data folder. Default with --system: {SYSTEM_DATA}."),
    ] = None,
    run_as: Annotated[str, typer.Option(metavar="USER")] = "remembrancer",
    yes: Yes = False,
) -> None:
    """Install, change or repair the unit, enable it and start it.

    Shows the unit and asks before writing it. Other settings go into remembrancer.toml in the data
    folder.

    Args:
        host: Address to listen on.
        port: TCP port.
        run_as: User of the service, with --system.
    """
    scope: Scope = "system" if system else "user"
    options = ServiceOptions(
        scope=scope,
        program=_program(),
        host=host,
        port=port,
        data=None if data is None else data.expanduser().absolute(),
        run_as=run_as,
    )
    _check_user(options)
    path, text = _path(scope), unit_text(options)
    is_verified = verify(text, scope)
    change = Change(path, text_of(path), text)
    if change.before == text:
        print(f"{path} is up to date.", file=sys.stderr)
    else:
        print(diff([change]), end="")
        if not is_verified:
            print("systemd-analyze cannot run here: the unit is not verified.", file=sys.stderr)
        if not yes and not typer.confirm("Write this unit and start it?", default=False, err=True):
            fail("nothing was written")
        write([change])
    _start(scope, is_changed=change.before != text)


def _start(scope: Scope, *, is_changed: bool) -> None:
    option = " --user" if scope == "user" else ""
    if not is_running(scope):
        print(
            f"systemd does not run here. Where it does: systemctl{option} daemon-reload && "
            f"systemctl{option} enable --now {UNIT}",
            file=sys.stderr,
        )
        return
    systemctl(scope, "daemon-reload")
    systemctl(scope, "enable", UNIT)
    systemctl(scope, "restart" if is_changed else "start", UNIT)
    print(f"{UNIT} is enabled and started.")
    print(f"Its log, with the owner's first key if it is new: journalctl{option} --unit {UNIT}")
    if scope == "user":
        print("It runs while you are logged in. Always: loginctl enable-linger")


@app.command()
def remove(system: System = False, yes: Yes = False) -> None:
    """Stop the service and remove its unit. The data stays."""
    scope: Scope = "system" if system else "user"
    path = _path(scope)
    before = text_of(path)
    if before is None:
        print(f"{path} does not exist. Nothing is removed.", file=sys.stderr)
        return
    print(diff([Change(path, before, None)]), end="")
    if not yes and not typer.confirm("Stop it and delete this unit?", default=False, err=True):
        fail("nothing was removed")
    runs = is_running(scope)
    if runs:
        systemctl(scope, "disable", "--now", UNIT)
    write([Change(path, before, None)])
    if runs:
        systemctl(scope, "daemon-reload")
    print(f"{path} is removed. The data stays.")


@app.command()
def status(system: System = False) -> None:
    """Show if the unit is installed, enabled and active. Exits with 1 if it is not active."""
    scope: Scope = "system" if system else "user"
    path = _path(scope)
    text = text_of(path)
    if text is None:
        fail(f"{path} does not exist. Install it: remembrancer service install --{scope}")
    command = next((line[10:] for line in text.splitlines() if line.startswith("ExecStart=")), "")
    runs = is_running(scope)
    active = systemctl(scope, "is-active", UNIT, check=False) if runs else "systemd does not run"
    enabled = systemctl(scope, "is-enabled", UNIT, check=False) if runs else "unknown"
    for name, value in (
        ("unit", str(path)),
        ("command", command),
        ("enabled", enabled),
        ("active", active),
    ):
        print(f"{name:8} {value}")
    if active != "active":
        sys.exit(1)


def _path(scope: Scope) -> Path:
    from ..settings import from_environment

    config = from_environment("XDG_CONFIG_HOME")
    return unit_path(scope, home=Path.home(), config_home=Path(config) if config else None)


def _program() -> tuple[str, ...]:
    """Return the command that runs this installation. Raises SettingInvalid for a temporary one."""
    from ..settings import SettingInvalid

    python = Path(sys.executable)
    if {"archive-v0", "environments-v2", "builds-v0"} & set(python.parts):
        raise SettingInvalid(
            f"This program runs from a cache ({python.parent}), which is emptied sometimes. "
            "Install it first: uv tool install remembrancer, or pipx install remembrancer."
        )
    script = python.with_name("remembrancer")
    return (str(script),) if script.is_file() else (str(python), "-m", "remembrancer")


def _check_user(options: ServiceOptions) -> None:
    """Raise SettingInvalid unless the unit can be written and its user exists."""
    from ..settings import SettingInvalid

    if options.scope == "user":
        return
    if os.geteuid() != 0:
        raise SettingInvalid(
            "--system needs root: run the command with sudo, or install for yourself with --user."
        )
    try:
        pwd.getpwnam(options.run_as)
    except KeyError:
        raise SettingInvalid(
            f"There is no user {options.run_as}. Create it: useradd --system --home-dir "
            f"{SYSTEM_DATA} --shell /usr/sbin/nologin {options.run_as}"
        ) from None
