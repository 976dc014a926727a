"""opencode remembers, recalls and asks before system files (docs/guides/coding-agents.md)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents import clients
from agents.claude_code import write_key_file
from agents.conftest import RunningService, program
from agents.endpoints import Endpoint, MessagesHandler, Reply, ToolCall
from command import captured
from service import Http, new_key

pytestmark = pytest.mark.agents

Run = Callable[[str, list[Reply]], list[dict[str, Any]]]
QUESTION = "Which port does the Vela staging database listen on?"


@pytest.fixture(scope="module")
def opencode(
    service: RunningService, home: Path, account: str, installed: Callable[[str], None]
) -> Run:
    """A function that runs one prompt; it returns the requests to the model with tools."""
    write_key_file(home, "opencode", new_key(service.context, account))
    installed("opencode")
    project = home / "project"
    project.mkdir()

    def run(prompt: str, replies: list[Reply]) -> list[dict[str, Any]]:
        with Endpoint(MessagesHandler) as model:
            model.script.replies = list(replies)
            provider = {
                "anthropic": {"options": {"baseURL": f"{model.url}/v1", "apiKey": "unused"}}
            }
            config = {"provider": provider, "permission": "allow", "autoupdate": False}
            process = captured(
                [str(program("opencode")), "run", "-m", "anthropic/claude-sonnet-4-5", prompt],
                env=clients.node_environment(
                    home,
                    OPENCODE_CONFIG_CONTENT=json.dumps(config),
                    PWD=str(project),
                    npm_config_offline="true",  # it would look for a newer plugin interface
                ),
                cwd=project,
                stdin=subprocess.DEVNULL,
                timeout=60,
            )
        assert process.returncode == 0, process.stderr
        clients.wait_for_hooks(home)
        return [one for one in model.script.requests if one.get("tools")]

    return run


def test_opencode_remembers_and_recalls(opencode: Run, owned: Http) -> None:
    [first] = opencode(QUESTION, ["It listens on port 6543 [general]."])
    user = owned.get("/api/v7/key").json()["user_id"]
    stored = owned.memory(QUESTION, user)["hits"]
    [second] = opencode(f"Again: {QUESTION}", ["Port 6543."])

    assert "Hooks follow the protocol of this memory" in json.dumps(first["messages"])
    assert stored[0]["response"] == "It listens on port 6543 [general]."
    assert "It listens on port 6543" in json.dumps(second["messages"])


def test_opencode_asks_before_it_writes_a_system_file(opencode: Run, home: Path) -> None:
    target = Path(f"/srv/remembrancer-{home.name}")
    writes: list[Reply] = [
        ToolCall("bash", {"command": f"echo x > {target}", "description": "write"}),
        ToolCall("write", {"filePath": str(target), "content": "x"}),
        "Not written.",
    ]
    requests = opencode("Write it.", writes)

    assert not target.exists()
    assert ["No grant lets `opencode`" in json.dumps(one["messages"]) for one in requests] == [
        False,
        True,
        True,
    ]
