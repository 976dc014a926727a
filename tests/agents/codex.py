"""Codex with its own home, a scripted model and the hooks installed."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents import clients
from agents.claude_code import write_key_file
from agents.endpoints import Endpoint, Reply, ResponsesHandler
from command import captured

import remembrancer

PACKAGE_FOLDER = str(Path(remembrancer.__file__).parents[1])
RUN_TIMEOUT_S = 90
MODEL = "gpt-5.5"


@dataclass(frozen=True)
class CodexRun:
    """One run of `codex exec`: its events, its messages, and the requests to the model."""

    events: list[dict[str, Any]]
    requests: list[dict[str, Any]]
    stderr: str

    def model_text(self) -> str:
        """Return the text of the first request as the model reads it."""
        return json.dumps(self.requests[0], ensure_ascii=False)

    def tool_outputs(self) -> list[str]:
        """Return the results of tools that the last request contains."""
        return [
            json.dumps(item.get("output"))
            for item in self.requests[-1]["input"]
            if str(item.get("type", "")).endswith("call_output")
        ]

    @property
    def session(self) -> str:
        """The id of the session."""
        return next(str(e["thread_id"]) for e in self.events if e.get("type") == "thread.started")


class Codex:
    """The program `codex` in a home and a project of its own."""

    def __init__(self, program: Path, home: Path, key: str | None) -> None:
        self.program, self.home, self.project = program, home, home / "project"
        self.project.mkdir()
        if key is not None:
            write_key_file(home, "codex", key)

    def run(
        self,
        prompt: str,
        replies: list[Reply],
        *words: str,
        is_trusted: bool = True,
        **variables: str,
    ) -> CodexRun:
        """Run one prompt. Hooks run only if they are trusted."""
        with Endpoint(ResponsesHandler) as model:
            model.script.replies = list(replies)
            trust = ["--dangerously-bypass-hook-trust"] if is_trusted else []
            process = captured(
                [
                    str(self.program),
                    "exec",
                    *("--json", "--skip-git-repo-check"),
                    *trust,
                    "--dangerously-bypass-approvals-and-sandbox",
                    *(word for value in _config(model.url) for word in ("-c", value)),
                    *words,
                    prompt,
                ],
                cwd=self.project,
                env=self.environment() | variables,
                stdin=subprocess.DEVNULL,
                timeout=RUN_TIMEOUT_S,
            )
        events = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
        return CodexRun(events, model.script.requests, process.stderr)

    def environment(self) -> dict[str, str]:
        """Return the variables: nothing of this machine's Codex, and no key of ours."""
        return clients.environment(self.home, SCRIPTED_KEY="unused")


def trust_hooks(codex: Codex) -> None:
    """Trust all hooks, as the user does in `/hooks`, through Codex's own server."""
    process = subprocess.Popen(
        [str(codex.program), "app-server", "-c", "analytics.enabled=false"],
        env=codex.environment(),
        cwd=codex.project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        _call(process, "initialize", {"clientInfo": {"name": "test", "version": "1"}})
        listed = _call(process, "hooks/list", {"cwds": [str(codex.project)]})
        state = {
            hook["key"]: {"trusted_hash": hook["currentHash"]}
            for hook in listed["data"][0]["hooks"]
        }
        edit = {"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}
        _call(process, "config/batchWrite", {"edits": [edit]})
        process.terminate()


def _call(process: subprocess.Popen[str], method: str, params: dict[str, Any]) -> Any:
    """Return the result of a request to the server."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"id": method, "method": method, "params": params}) + "\n")
    process.stdin.flush()
    for line in process.stdout:
        message = json.loads(line)
        if message.get("id") == method:
            return message["result"]
    raise AssertionError(f"Codex did not answer {method}")


def _config(model_url: str) -> list[str]:
    provider = (
        f'{{name="scripted",base_url="{model_url}/v1",wire_api="responses",env_key="SCRIPTED_KEY"}}'
    )
    return [
        f'model="{MODEL}"',
        'model_provider="scripted"',
        f"model_providers.scripted={provider}",
        # Codex starts MCP servers without PYTHONPATH: test this package, wherever it is.
        f"mcp_servers.remembrancer.env={{PYTHONPATH={json.dumps(PACKAGE_FOLDER)}}}",
        "mcp_servers.remembrancer.required=true",  # wait for it before the first request
        "analytics.enabled=false",  # Codex waits 5 seconds for it without a network
    ]
