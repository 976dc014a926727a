"""The work of `remembrancer install`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..client.api_request import normalize_base_url
from ..client.credentials import agent_key_file, find_url
from ..client.tools import chosen_tools
from ..install.agents import AGENTS, plan_changes
from ..install.codex_trust import CODEX_TRUST_REMEDY
from ..install.config_files import (
    DEFAULT_URL,
    GATES,
    Change,
    ConfigUnreadable,
    InstallOptions,
    Leftovers,
    ScopeUnsupported,
    delete,
    diff,
    find_leftovers,
    write,
)
from ..settings import SettingInvalid, from_environment
from .commands import service_key


def plan(
    agent: str,
    scope: str,
    url: str | None,
    *,
    remove: bool,
    tools: str = "memory",
    gate: str = GATES[0],
) -> tuple[list[Change], str]:
    """Return the changes and their diff.

    Raises SettingInvalid for invalid arguments, ConfigUnreadable for files that cannot be parsed.
    """
    if agent not in AGENTS:
        raise SettingInvalid(f"AGENT must be one of {', '.join(AGENTS)}.")
    if scope not in ("user", "project"):
        raise SettingInvalid("--scope must be user or project.")
    if gate not in GATES:
        raise SettingInvalid(f"--gate must be one of {', '.join(GATES)}.")
    try:
        base = normalize_base_url(url or find_url(), "--url", DEFAULT_URL)
        chosen_tools(tools, beside_hooks=False)
    except ValueError as error:
        raise SettingInvalid(str(error)) from error
    options = replace(_options(scope, base, remove=remove), tools=tools, gate=gate)
    try:
        changes = plan_changes(agent, options)
    except ScopeUnsupported as error:
        raise SettingInvalid(str(error)) from error
    return changes, diff(changes)


def leftovers(agent: str, scope: str, *, is_configured: bool) -> Leftovers:
    """Return the files that a removal deletes besides the configuration.

    Only the user's removal deletes any: projects share the state and the agent's key. The key stays
    if the agent left no other trace: then a plugin may use it.
    """
    if scope == "project":
        return Leftovers()
    state = from_environment("XDG_STATE_HOME")
    state_home = Path(state) if state else Path.home() / ".local" / "state"
    states = find_leftovers(agent, state_home / "remembrancer" / "hooks")
    key = agent_key_file(agent)
    if not (is_configured or states.files) or not key.is_file():
        return states
    return Leftovers(files=(*states.files, key), unsent=states.unsent)


def configured_agents() -> list[str]:
    """Return the agents that are configured for the user, as far as their files can be read."""
    options = _options("user", DEFAULT_URL, remove=True)
    agents = []
    for agent in AGENTS:
        try:
            is_configured = bool(plan_changes(agent, options))
        except ConfigUnreadable:
            is_configured = False
        agents += [agent] if is_configured else []
    return agents


def _options(scope: str, url: str, *, remove: bool) -> InstallOptions:
    config = from_environment("XDG_CONFIG_HOME")
    return InstallOptions(
        home=Path.cwd() if scope == "project" else Path.home(),
        is_project=scope == "project",
        url=url,
        remove=remove,
        config_home=Path(config) if config else None,
    )


def question(rest: Leftovers) -> str:
    """Return the question before a removal or an installation is written."""
    if rest.unsent:
        return (
            f"{rest.unsent} requests with turns or votes were never sent to the service and will "
            "be lost. Write these changes and delete these files?"
        )
    return f"Write these changes{' and delete these files' if rest.files else ''}?"


def install(changes: Sequence[Change], agent: str, rest: Leftovers, *, remove: bool) -> str:
    """Write the changes, delete the leftovers, and return the next steps.

    Raises FileChanged and OSError, having written nothing.
    """
    write(changes)
    delete(rest)
    if remove:
        is_key_deleted = agent_key_file(agent) in rest.files
        hint = " Revoke its key: remembrancer keys revoke." if is_key_deleted else ""
        return f"The configuration of {agent} is removed. Restart it.{hint}"
    return " ".join([f"{agent} is configured. Restart it.", *_next_steps(agent)])


def _next_steps(agent: str) -> list[str]:
    steps = []
    try:
        service_key(agent)
    except SettingInvalid:
        steps.append(
            "It has no key yet: create one (remembrancer keys create) and write it to "
            f"{agent_key_file(agent)}, mode 0600."
        )
    if agent == "codex":
        steps.append(f"Codex skips new hooks until you trust them: {CODEX_TRUST_REMEDY}.")
    return steps
