"""Agents with hooks or a plugin remember, recall and ask before system files
(docs/guides/coding-agents.md).

Claude Code and Codex have tests of their own.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agents import clients
from agents.claude_code import write_key_file
from agents.conftest import RunningService, new_home, program
from agents.endpoints import Endpoint, GeminiHandler, Handler, MessagesHandler, Reply, ToolCall
from service import Http, new_key

from remembrancer.install.agents import plan_changes
from remembrancer.install.config_files import InstallOptions, write

pytestmark = pytest.mark.agents

QUESTION = "Which port does the Vela staging database listen on?"
CLAUDE = "claude-sonnet-4-5"


@dataclass(frozen=True)
class Application:
    """How an agent is started: arguments before the prompt, its settings, and the model's API.

    `variables` and `settings` take the URL of the model; `settings` are files of the home.
    `run` and `file` return the calls of its tools that run a command and write a file.
    """

    arguments: tuple[str, ...]
    run: Callable[[str], ToolCall]
    file: Callable[[str], ToolCall]
    handler: type[Handler] = MessagesHandler
    variables: Callable[[str], dict[str, str]] = lambda url: {}
    settings: Callable[[str], dict[str, Any]] = lambda url: {}
    revises: bool = True  # a contradiction is sent back, and answered


def opencode_variables(url: str) -> dict[str, str]:
    provider = {"anthropic": {"options": {"baseURL": f"{url}/v1", "apiKey": "unused"}}}
    config = {"provider": provider, "permission": "allow", "autoupdate": False}
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "npm_config_offline": "true",  # it would look for a newer plugin interface
    }


def cline_settings(url: str) -> dict[str, Any]:
    settings = {"provider": "anthropic", "model": CLAUDE, "apiKey": "unused"}
    provider = {
        "settings": {**settings, "baseUrl": f"{url}/v1"},
        "updatedAt": "2026-11-28T00:00:00.000Z",
        "tokenSource": "manual",
    }
    providers = {"anthropic": provider}
    return {
        ".cline/data/settings/providers.json": {
            "version": 1,
            "lastUsedProvider": "anthropic",
            "modes": {},
            "providers": providers,
        }
    }


APPLICATIONS = {
    "gemini-cli": Application(
        arguments=("--yolo", "-m", "gemini-2.5-flash", "-p"),
        run=lambda text: ToolCall("run_shell_command", {"command": text, "description": "x"}),
        file=lambda path: ToolCall("write_file", {"file_path": path, "content": "x"}),
        handler=GeminiHandler,
        variables=lambda url: {"GEMINI_API_KEY": "unused", "GOOGLE_GEMINI_BASE_URL": url},
        settings=lambda url: {
            ".gemini/settings.json": {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        },
    ),
    "qwen-code": Application(
        arguments=("--yolo", "-p"),
        run=lambda text: ToolCall(
            "run_shell_command", {"command": text, "description": "x", "is_background": False}
        ),
        file=lambda path: ToolCall("write_file", {"file_path": path, "content": "x"}),
        variables=lambda url: {
            "ANTHROPIC_API_KEY": "unused",
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_MODEL": CLAUDE,
        },
        settings=lambda url: {
            ".qwen/settings.json": {
                "security": {"auth": {"selectedType": "anthropic"}},
                "memory": {"enableManagedAutoMemory": False},  # asks the model itself
            }
        },
    ),
    "opencode": Application(
        arguments=("run", "-m", f"anthropic/{CLAUDE}"),
        run=lambda text: ToolCall("bash", {"command": text, "description": "x"}),
        file=lambda path: ToolCall("write", {"filePath": path, "content": "x"}),
        variables=opencode_variables,
        revises=False,  # `opencode run` ends before the second answer
    ),
    "cline": Application(
        arguments=(),
        run=lambda text: ToolCall("run_commands", {"commands": ["true", text]}),
        file=lambda path: ToolCall("editor", {"path": path, "new_text": "x"}),
        variables=lambda url: {"CLINE_SESSION_BACKEND_MODE": "local"},  # without its daemon
        settings=cline_settings,
        revises=False,
    ),
}


class Run:
    """An agent in a home of its own, with a key of an account of its own."""

    def __init__(self, agent: str, home: Path, service: RunningService) -> None:
        self.agent, self.home, self.application = agent, home, APPLICATIONS[agent]
        key = new_key(service.context, f"agent-{home.name.lower().replace('_', '-')}")
        self.owned: Http = service.as_key(key)
        write_key_file(home, agent, key)
        self.project = home / "project"
        self.project.mkdir()
        self.options = InstallOptions(home=home, is_project=False, url=service.url, remove=False)

    def __call__(self, prompt: str, replies: list[Reply]) -> list[str]:
        """Run one prompt; return the requests with tools to the model, as JSON."""
        with Endpoint(self.application.handler) as model:
            model.script.replies = list(replies)
            for name, content in self.application.settings(model.url).items():
                path = self.home / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(content), "utf-8")
            write(plan_changes(self.agent, self.options))
            process = subprocess.run(
                [str(program(self.agent)), *self.application.arguments, prompt],
                env=clients.node_environment(
                    self.home, PWD=str(self.project), **self.application.variables(model.url)
                ),
                cwd=self.project,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
        assert process.returncode == 0, process.stderr
        clients.wait_for_hooks(self.home)
        return [json.dumps(one) for one in model.script.requests if one.get("tools")]


@pytest.fixture(params=sorted(APPLICATIONS))
def run(request: pytest.FixtureRequest, service: RunningService) -> Iterator[Run]:
    """Each agent in turn."""
    program(request.param)
    with new_home() as home:
        yield Run(request.param, home, service)


def test_agent_remembers_recalls_and_revises(run: Run) -> None:
    answer = "It listens on port 6543 [general]."
    [first] = run(QUESTION, [answer])
    user = run.owned.get("/api/v7/key").json()["user_id"]
    [stored, *_] = run.owned.memory(QUESTION, user)["hits"]
    wrong, right = (f"Port {port} (ref: {stored['event_id']})." for port in (7777, 6543))
    requests = run(f"Again: {QUESTION}", [wrong, right])

    assert "Hooks follow the protocol of this memory" in first
    # `opencode run` itself puts a prompt into quotes
    assert (stored["query"].strip('"'), stored["response"]) == (QUESTION, answer)
    assert "It listens on port 6543" in requests[0]
    hits = run.owned.memory(f"Again: {QUESTION}", user, top_k=5)["hits"]
    if run.application.revises:
        assert "The second look at your answer failed" in requests[1]
        assert right in [hit["response"] for hit in hits]
        assert wrong not in [hit["response"] for hit in hits]
    else:
        assert len(requests) == 1
        assert wrong in [hit["response"] for hit in hits]


def test_agent_asks_before_it_writes_a_system_file(run: Run) -> None:
    target = Path(f"/srv/remembrancer-{run.home.name}")
    calls = run.application.run(f"echo x > {target}"), run.application.file(str(target))
    requests = run("Write it.", [*calls, "Not written."])

    assert not target.exists()
    denials = [one.count(f"No grant lets `{run.agent}`") for one in requests]
    assert [bool(count) for count in denials] == [False, True, True]
    # Gemini CLI itself refuses files outside of the project
    assert denials[2] > denials[1] or run.agent == "gemini-cli"
