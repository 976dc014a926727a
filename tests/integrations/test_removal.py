"""`remembrancer install AGENT --remove` leaves nothing, and `doctor` checks what is configured."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Cli
from integrations.agent import Agent
from integrations.test_install import files_in

Setup = Callable[[str], None]


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


def finding(cli: Cli, part: str) -> dict[str, str] | None:
    return next((row for row in cli.table("doctor") if row["part"] == part), None)


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
    Agent(home, dead_url, "sk_0").trigger("SessionStart")
    before = files_in(home)

    process = cli("install", "claude-code", "--remove", "--yes")

    assert [name for name in before if name.startswith(".local/state")] != []
    assert process.returncode == 0
    assert f"delete {key_file}" in process.stdout
    assert "keys revoke" in process.stderr
    assert files_in(home) == login
    assert not (home / ".claude").exists()
    assert not (home / ".local" / "state" / "remembrancer").exists()


def test_removal_leaves_no_folder_of_the_service(cli: Cli, home: Path) -> None:
    cli("install", "zed", "--yes")
    write_key_file(home, "zed.key")

    cli("install", "zed", "--remove", "--yes")

    assert not (home / ".config" / "remembrancer").exists()
    assert home.exists()


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


def test_keys_of_other_agents_stay(cli: Cli, home: Path, login: dict[str, str]) -> None:
    cli("install", "codex", "--yes")
    write_key_file(home, "codex.key")
    kept = write_key_file(home, "zed.key")

    process = cli("install", "codex", "--remove", "--yes")

    assert "codex.key" in process.stdout
    assert files_in(home) == {**login, str(kept.relative_to(home)): "sk_0"}


def test_removal_of_an_agent_that_is_not_configured_deletes_no_key(cli: Cli, home: Path) -> None:
    """The key may belong to a plugin."""
    key_file = write_key_file(home, "codex.key")
    process = cli("install", "codex", "--remove", "--yes")

    assert "up to date" in process.stderr
    assert key_file.exists()


def test_state_of_other_agents_stays(cli: Cli, home: Path, dead_url: str) -> None:
    cli("install", "claude-code", "--yes")
    Agent(home, dead_url, "sk_0").trigger("SessionStart")
    Agent(home, dead_url, "sk_0", name="codex").trigger("SessionStart")

    cli("install", "claude-code", "--remove", "--yes")

    (name,) = files_in(home)
    assert name.startswith(".local/state/remembrancer/hooks/codex-")


def test_installation_says_where_the_key_is_missing(cli: Cli, home: Path) -> None:
    process = cli("install", "zed", "--yes")

    assert str(home / ".config" / "remembrancer" / "zed.key") in process.stderr


def test_installation_for_codex_says_that_hooks_need_trust(cli: Cli, login: dict[str, str]) -> None:
    assert "/hooks" in cli("install", "codex", "--yes").stderr


def test_doctor_reports_hooks_that_codex_does_not_trust(
    cli: Cli, home: Path, login: dict[str, str]
) -> None:
    cli("install", "codex", "--yes")
    before = finding(cli, "agent: codex")
    hooks = home / ".codex" / "hooks.json"
    events = ("session_start", "user_prompt_submit", "pre_tool_use", "post_tool_use", "stop")
    trust(home, [f"{hooks}:{event}:0:0" for event in events])
    partly = finding(cli, "agent: codex")
    trust(home, [f"{hooks}:pre_compact:0:0"])
    after = finding(cli, "agent: codex")

    assert before is not None
    assert partly is not None
    assert after is not None
    assert (before["state"], partly["state"], after["state"]) == ("notice", "notice", "ok")
    assert "session_start" in before["seen"]
    assert "/hooks" in before["what to do"]
    assert partly["seen"].endswith(": pre_compact")


def test_doctor_reports_an_agent_without_a_key(cli: Cli, home: Path) -> None:
    cli("install", "gemini-cli", "--yes")

    row = finding(cli, "agent: gemini-cli")

    assert row is not None
    assert (row["state"], "REMEMBRANCER_KEY" in row["what to do"]) == ("notice", True)


def test_doctor_says_nothing_about_agents_that_are_not_configured(cli: Cli, home: Path) -> None:
    """Also if their files cannot be read."""
    (home / ".claude.json").write_text("{", "utf-8")

    assert [row for row in cli.table("doctor") if row["part"].startswith("agent")] == []
