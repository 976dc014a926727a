"""Applications with tools alone connect with what `remembrancer install` writes for them
(docs/guides/coding-agents.md).
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from agents import clients
from agents.claude_code import write_key_file
from agents.conftest import RunningService, new_home, program
from agents.endpoints import Endpoint, MessagesHandler, ToolCall
from command import captured
from service import new_key

from remembrancer.install.agents import plan_changes
from remembrancer.install.config_files import InstallOptions, write

pytestmark = pytest.mark.agents

CONFIGURATION = {  # file, and the user's settings in it
    "gemini-cli": (
        ".gemini/settings.json",
        '{\n  // mine\n  "ui": {"hideTips": true} // quiet\n}\n',
    ),
    "opencode": (
        ".config/opencode/opencode.json",
        '{\n  "$schema": "https://opencode.ai/config.json",\n  // mine\n  "mcp": {}, // none\n}\n',
    ),
    "qwen-code": (
        ".qwen/settings.json",
        '{\n  // mine\n  "general": {"vimMode": true},\n  "$version": 4\n}\n',
    ),
}
COLOR = re.compile(r"\x1b\[[0-9;]*m")


def list_servers(application: str, home: Path) -> str:
    """Return what the application says about its MCP servers."""
    process = captured(
        [str(program(application)), "mcp", "list"],
        env=clients.node_environment(home),
        cwd=home,
        stdin=subprocess.DEVNULL,
        timeout=90,
    )
    return COLOR.sub("", process.stdout + process.stderr)


def test_copilot_cli_calls_recall(service: RunningService) -> None:
    """With a model of its own provider it needs no account: `copilot help environment`."""
    with new_home() as home, Endpoint(MessagesHandler) as model:
        key = new_key(service.context, "copilot")
        service.as_key(key).remember("Which port has Vela?", "Vela listens on port 6543.")
        write_key_file(home, "copilot-cli", key)
        options = InstallOptions(home=home, is_project=False, url=service.url, remove=False)
        write(plan_changes("copilot-cli", options))
        model.script.replies = [
            ToolCall("remembrancer-recall", {"query_text": "Vela port", "session_id": "c1"}),
            "Port 6543.",
        ]
        variables = {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_BASE_URL": model.url,
            "COPILOT_PROVIDER_API_KEY": "unused",
            "COPILOT_MODEL": "claude-sonnet-4-5",
        }
        process = subprocess.run(
            [str(program("copilot-cli")), "--allow-all-tools", "-p", "Which port has Vela?"],
            env=clients.node_environment(home, **variables),
            cwd=home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert process.returncode == 0, process.stderr
    assert "Vela listens on port 6543" in json.dumps(model.script.requests[-1]["messages"])


@pytest.mark.parametrize("application", sorted(CONFIGURATION))
def test_application_connects_and_removal_restores_its_file(
    application: str, service: RunningService
) -> None:
    with new_home() as home:
        write_key_file(home, application, new_key(service.context, "applications"))
        name, before = CONFIGURATION[application]
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(before, "utf-8")
        options = InstallOptions(home=home, is_project=False, url=service.url, remove=False)

        write(plan_changes(application, options))
        output = list_servers(application, home)
        write(plan_changes(application, replace(options, remove=True)))

        assert re.search("✓ remembrancer|remembrancer: .* Connected", output), output
        assert path.read_text("utf-8") == before
