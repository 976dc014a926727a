"""What `remembrancer install` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..client.address import normalize_base_url
from ..client.api import URL_NAME
from ..install.agents import AGENTS, DEFAULT_URL, InstallOptions, plan_changes
from ..install.file_changes import Change, diff, write
from ..settings import SettingInvalid, from_environment


def plan(agent: str, scope: str, url: str | None, *, remove: bool) -> tuple[list[Change], str]:
    """The changes, and how they are shown.

    Raises SettingInvalid for wrong words, NotUnderstood for files that cannot be read.
    """
    if agent not in AGENTS:
        raise SettingInvalid(f"AGENT is one of {', '.join(AGENTS)}.")
    if scope not in ("user", "project"):
        raise SettingInvalid("--scope is user or project.")
    try:
        base = normalize_base_url(
            url or from_environment(URL_NAME) or DEFAULT_URL, "--url", DEFAULT_URL
        )
    except ValueError as error:
        raise SettingInvalid(str(error)) from error
    home = Path.cwd() if scope == "project" else Path.home()
    made = plan_changes(
        agent, InstallOptions(home=home, is_project=scope == "project", url=base, remove=remove)
    )
    return made, diff(made)


def install(made: Sequence[Change], agent: str, *, remove: bool) -> str:
    """Write them; gives what to do next. Raises Overtaken and OSError, having written nothing."""
    write(made)
    if remove:
        return f"{agent} is as it was before. Start it anew."
    return (
        f"{agent} is set up; start it anew. It reads the service's key from REMEMBRANCER_KEY (make one: remembrancer keys create). "
        "Its hooks also read it from ~/.config/remembrancer/key, when only you can read that file."
    )
