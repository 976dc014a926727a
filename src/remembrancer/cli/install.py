"""The work of `remembrancer install`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..client.address import normalize_base_url
from ..client.api import URL_NAME
from ..install.agents import AGENTS, plan_changes
from ..install.file_changes import Change, ScopeUnsupported, diff, write
from ..install.options import DEFAULT_URL, InstallOptions
from ..settings import SettingInvalid, from_environment


def plan(agent: str, scope: str, url: str | None, *, remove: bool) -> tuple[list[Change], str]:
    """Return the changes and their diff.

    Raises SettingInvalid for invalid arguments, ConfigUnreadable for files that cannot be parsed.
    """
    if agent not in AGENTS:
        raise SettingInvalid(f"AGENT must be one of {', '.join(AGENTS)}.")
    if scope not in ("user", "project"):
        raise SettingInvalid("--scope must be user or project.")
    try:
        base = normalize_base_url(
            url or from_environment(URL_NAME) or DEFAULT_URL, "--url", DEFAULT_URL
        )
    except ValueError as error:
        raise SettingInvalid(str(error)) from error
    config = from_environment("XDG_CONFIG_HOME")
    options = InstallOptions(
        home=Path.cwd() if scope == "project" else Path.home(),
        is_project=scope == "project",
        url=base,
        remove=remove,
        config_home=Path(config) if config else None,
    )
    try:
        changes = plan_changes(agent, options)
    except ScopeUnsupported as error:
        raise SettingInvalid(str(error)) from error
    return changes, diff(changes)


def install(changes: Sequence[Change], agent: str, *, remove: bool) -> str:
    """Write the changes and return the next steps.

    Raises FileChanged and OSError, having written nothing.
    """
    write(changes)
    if remove:
        return f"The configuration of {agent} is removed. Restart it."
    return (
        f"{agent} is configured. Restart it. It reads the service's key from REMEMBRANCER_KEY "
        "(create one: remembrancer keys create). Its hooks also read the key from "
        "~/.config/remembrancer/key if only you can read that file."
    )
