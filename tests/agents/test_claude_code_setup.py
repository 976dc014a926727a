"""`remembrancer install claude-code` and the plugin, with the real Claude Code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from agents.claude_code import ClaudeCode
from agents.conftest import RunningService, new_home, program
from service import new_key

from remembrancer.install.agents import plan_changes
from remembrancer.install.config_files import InstallOptions, folder, write

pytestmark = pytest.mark.agents


@pytest.fixture
def fresh(service: RunningService) -> Iterator[ClaudeCode]:
    """Claude Code with a key file and without a setup."""
    with new_home() as home:
        yield ClaudeCode(program("claude-code"), home, new_key(service.context, "setup"))


def setup(home: Path, url: str, *, remove: bool = False) -> None:
    options = InstallOptions(home=home, is_project=False, url=url, remove=remove)
    write(plan_changes("claude-code", options))


def test_plugin_works_like_the_installation(service: RunningService, fresh: ClaudeCode) -> None:
    plugin = str(folder() / "claude-code")
    run = fresh.run("Hello?", ["Hello."], "--plugin-dir", plugin, REMEMBRANCER_URL=service.url)

    assert run.servers == {"plugin:remembrancer:remembrancer": "connected"}
    assert len(run.hook_outputs("SessionStart")) == 1


def test_project_setup_works(service: RunningService, fresh: ClaudeCode) -> None:
    """Claude Code starts programs of a project's .mcp.json only if the user trusts the folder."""
    options = InstallOptions(home=fresh.project, is_project=True, url=service.url, remove=False)
    write(plan_changes("claude-code", options))
    settings = fresh.home / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('{"enableAllProjectMcpServers": true}', "utf-8")
    trust = {"projects": {str(fresh.project): {"hasTrustDialogAccepted": True}}}
    (fresh.home / ".claude.json").write_text(json.dumps(trust), "utf-8")
    run = fresh.run("Hello?", ["Hello."])

    assert run.servers == {"remembrancer": "connected"}
    assert len(run.hook_outputs("SessionStart")) == 1


def test_setup_use_and_removal_leave_the_settings_as_they_were(
    service: RunningService, fresh: ClaudeCode
) -> None:
    """Claude Code itself writes into ~/.claude.json, so only our entry there is compared."""
    settings = fresh.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    before = b'{\n\t"env": {"A": "1"},   "includeCoAuthoredBy": false}'
    settings.write_bytes(before)

    setup(fresh.home, service.url)
    run = fresh.run("Hello?", ["Hello."])
    setup(fresh.home, service.url, remove=True)
    state = json.loads((fresh.home / ".claude.json").read_text("utf-8"))
    after = fresh.run("Hello?", ["Hello."])

    assert run.servers == {"remembrancer": "connected"}
    assert len(run.hook_outputs("SessionStart")) == 1
    assert "mcpServers" not in state
    assert settings.read_bytes() == before
    assert (after.servers, after.hook_outputs("SessionStart")) == ({}, [])
