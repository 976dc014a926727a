"""`remembrancer install AGENT --remove` leaves nothing, and `doctor` checks what is configured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Cli
from integrations.agent import Agent
from integrations.test_install import files_in


@pytest.fixture
def cli(folder: Path, home: Path) -> Cli:
    """The command line with a home of its own."""
    cli = Cli(folder)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        cli.environment.pop(name, None)
    cli.environment["HOME"] = str(home)
    return cli


def write_key_file(home: Path, name: str) -> Path:
    """Write a key file, where the guides and `remembrancer login` write it."""
    path = home / ".config" / "remembrancer" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text("sk_0", "utf-8")
    return path


@pytest.fixture
def login(home: Path, dead_url: str) -> dict[str, str]:
    """The key and the address that `remembrancer login` saved, by their paths."""
    write_key_file(home, "key")
    write_key_file(home, "url").write_text(dead_url, "utf-8")
    return files_in(home)


def finding(cli: Cli, part: str) -> dict[str, str]:
    """Return the row of `doctor` about a part."""
    return next(row for row in cli.table("doctor") if row["part"] == part)


def trust(home: Path, keys: list[str]) -> None:
    """Write the trust as Codex does."""
    tables = [f"[hooks.state.{json.dumps(key)}]\ntrusted_hash = 'sha256:1'\n" for key in keys]
    config = home / ".codex" / "config.toml"
    config.write_text("\n".join([config.read_text("utf-8"), *tables]), "utf-8")


def test_removal_deletes_settings_state_and_key(
    cli: Cli, home: Path, login: dict[str, str], dead_url: str
) -> None:
    """The key that `remembrancer login` saved is not the agent's."""
    cli("install", "claude-code", "--yes")
    key_file = write_key_file(home, "claude-code.key")
    assert dead_url in (home / ".claude" / "settings.json").read_text("utf-8")
    agent = Agent(home, dead_url, "sk_0")
    agent.trigger("SessionStart")
    agent.turn("Where is the key?", "In drawer 17.")  # stored in the background
    before = files_in(home)

    process = cli("install", "claude-code", "--remove", "--yes")

    assert [name for name in before if name.startswith(".local/state")] != []
    assert process.returncode == 0
    assert f"delete {key_file}" in process.stdout
    assert "keys revoke" in process.stderr
    assert files_in(home) == login
    assert not (home / ".claude").exists()
    assert not (home / ".local" / "state" / "remembrancer").exists()


def test_removal_asks_before_it_deletes_queued_turns(cli: Cli, home: Path, dead_url: str) -> None:
    cli("install", "claude-code", "--yes")
    agent = Agent(home, dead_url, "sk_0")
    agent.turn("Where is the key?", "In drawer 17.")
    before = files_in(home)

    process = cli("install", "claude-code", "--remove")

    assert len(agent.queued_requests()) == 1
    assert process.returncode == 1
    assert "1 requests" in process.stderr
    assert "will be lost" in process.stderr
    assert files_in(home) == before


def test_keys_and_state_of_other_agents_stay(
    cli: Cli, home: Path, login: dict[str, str], dead_url: str
) -> None:
    cli("install", "codex", "--yes")
    write_key_file(home, "codex.key")
    kept = write_key_file(home, "zed.key")
    for name in ("claude-code", "codex"):
        Agent(home, dead_url, "sk_0", name).trigger("SessionStart")

    process = cli("install", "codex", "--remove", "--yes")

    assert "codex.key" in process.stdout
    left = files_in(home)
    [state] = [name for name in left if name.startswith(".local/state/remembrancer/hooks/")]
    assert "/claude-code-" in state
    assert {**left, state: ""} == {**login, str(kept.relative_to(home)): "sk_0", state: ""}


def test_doctor_reports_a_missing_key_and_hooks_that_codex_does_not_trust(
    cli: Cli, home: Path, login: dict[str, str]
) -> None:
    installed = cli("install", "codex", "--yes")
    before = finding(cli, "agent: codex")
    hooks = home / ".codex" / "hooks.json"
    events = ("session_start", "user_prompt_submit", "pre_tool_use", "post_tool_use", "stop")
    trust(home, [f"{hooks}:{event}:0:0" for event in events])
    partly = finding(cli, "agent: codex")
    trust(home, [f"{hooks}:pre_compact:0:0"])
    after = finding(cli, "agent: codex")
    (home / ".config" / "remembrancer" / "key").unlink()
    keyless = finding(cli, "agent: codex")

    assert "/hooks" in installed.stderr
    assert [one["state"] for one in (before, partly, after)] == ["notice", "notice", "ok"]
    assert "session_start" in before["seen"]
    assert "/hooks" in before["what to do"]
    assert partly["seen"].endswith(": pre_compact")
    assert (keyless["state"], "REMEMBRANCER_KEY" in keyless["what to do"]) == ("notice", True)
