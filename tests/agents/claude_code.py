"""Claude Code with its own home, a scripted model and the hooks installed."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents import clients
from agents.endpoints import Endpoint, MessagesHandler, Reply
from command import captured

RUN_TIMEOUT_S = 90
PREFIX = "mcp__remembrancer__"
ALLOWED_TOOLS = f"Write,Edit,Bash,Read,Agent,ToolSearch,{PREFIX}*"


@dataclass(frozen=True)
class ClaudeRun:
    """One run of `claude -p`: the messages it printed and the requests of its main loop."""

    messages: list[dict[str, Any]]
    requests: list[dict[str, Any]]
    stderr: str

    @property
    def result(self) -> dict[str, Any]:
        """The last message: session, answer, cost."""
        results = [message for message in self.messages if message.get("type") == "result"]
        return results[-1] if results else {}

    @property
    def session(self) -> str:
        """The id of the session."""
        return str(self.result.get("session_id", ""))

    @property
    def servers(self) -> dict[str, str]:
        """The states of the MCP servers, by name."""
        starts = [message for message in self.messages if message.get("subtype") == "init"]
        return {server["name"]: server["status"] for server in starts[0]["mcp_servers"]}

    def hook_outputs(self, event: str) -> list[str]:
        """Return the output of each hook that ran for this event, in order."""
        return [
            message.get("stdout") or message.get("output") or ""
            for message in self.messages
            if message.get("subtype") == "hook_response" and message.get("hook_event") == event
        ]

    def tool_results(self) -> list[dict[str, Any]]:
        """Return the results of tools, in order."""
        return [
            block
            for message in self.messages
            if message.get("type") == "user" and isinstance(message["message"]["content"], list)
            for block in message["message"]["content"]
            if block.get("type") == "tool_result"
        ]

    def model_text(self) -> str:
        """Return the text of the first request as the model reads it."""
        return request_text(self.requests[0])


def request_text(request: dict[str, Any]) -> str:
    """Return the texts of a request: system prompt, messages, names of tools."""
    return "\n".join(_texts([request.get("system"), request["messages"], request["tools"]]))


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    return [text for item in value for text in _texts(item)] if isinstance(value, list) else []


def write_key_file(home: Path, agent: str, key: str) -> None:
    """Write the key of an agent where the guides say."""
    path = home / ".config" / "remembrancer" / f"{agent}.key"
    path.parent.mkdir(parents=True)
    path.touch(mode=0o600)
    path.write_text(key, "utf-8")


class ClaudeCode:
    """The program `claude` in a home and a project of its own."""

    def __init__(self, program: Path, home: Path, key: str | None) -> None:
        self.program, self.home, self.project = program, home, home / "project"
        self.project.mkdir()
        if key is not None:
            write_key_file(home, "claude-code", key)
        self.key = key

    def run(self, prompt: str, replies: list[Reply], *words: str, **variables: str) -> ClaudeRun:
        """Run one prompt; `replies` are those of the model, `variables` its environment."""
        with Endpoint(MessagesHandler) as model:
            model.script.replies = list(replies)
            process = captured(
                [
                    str(self.program),
                    "-p",
                    prompt,
                    *("--output-format", "stream-json", "--verbose", "--include-hook-events"),
                    *("--allowedTools", ALLOWED_TOOLS),
                    *words,
                ],
                cwd=self.project,
                env=self.environment(model.url) | variables,
                stdin=subprocess.DEVNULL,
                timeout=RUN_TIMEOUT_S,
            )
        messages = [
            json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")
        ]
        return ClaudeRun(messages, model.script.requests, process.stderr)

    def environment(self, model_url: str) -> dict[str, str]:
        """Return the variables: nothing of this machine's Claude Code, and no key of ours."""
        return clients.environment(
            self.home,
            ANTHROPIC_BASE_URL=model_url,
            ANTHROPIC_API_KEY="unused",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1",
        )
