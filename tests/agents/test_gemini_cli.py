"""Gemini CLI remembers, recalls and asks before system files (docs/guides/coding-agents.md)."""

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
from agents.endpoints import Endpoint, GeminiHandler, Reply, ToolCall
from command import captured
from service import Http, new_key

pytestmark = pytest.mark.agents

QUESTION = "Which port does the Borealis staging database listen on?"


@pytest.fixture(scope="module")
def gemini(
    service: RunningService, home: Path, account: str, installed: Callable[[str], None]
) -> Callable[[str, list[Reply]], list[dict[str, Any]]]:
    """A function that runs one prompt; it returns the requests to the model."""
    write_key_file(home, "gemini-cli", new_key(service.context, account))
    settings = home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}', "utf-8")
    installed("gemini-cli")
    project = home / "project"
    project.mkdir()

    def run(prompt: str, replies: list[Reply]) -> list[dict[str, Any]]:
        with Endpoint(GeminiHandler) as model:
            model.script.replies = list(replies)
            process = captured(
                [str(program("gemini-cli")), "--yolo", "-m", "gemini-2.5-flash", "-p", prompt],
                env=clients.node_environment(
                    home, GEMINI_API_KEY="unused", GOOGLE_GEMINI_BASE_URL=model.url
                ),
                cwd=project,
                stdin=subprocess.DEVNULL,
                timeout=120,
            )
        assert process.returncode == 0, process.stderr
        clients.wait_for_hooks(home)
        return model.script.requests

    return run


def test_gemini_cli_remembers_recalls_and_revises(
    gemini: Callable[[str, list[Reply]], list[dict[str, Any]]], owned: Http
) -> None:
    [first] = gemini(QUESTION, ["It listens on port 6543 [general]."])
    user = owned.get("/api/v7/key").json()["user_id"]
    stored = owned.memory(QUESTION, user)["hits"]
    event = stored[0]["event_id"]
    wrong = f"Port 7777 (ref: {event})."
    requests = gemini(f"Again: {QUESTION}", [wrong, f"Port 6543 (ref: {event})."])

    assert "Hooks follow the protocol of this memory" in json.dumps(first["contents"])
    assert [hit["response"] for hit in stored] == ["It listens on port 6543 [general]."]
    assert "It listens on port 6543" in json.dumps(requests[0]["contents"])
    assert len(requests) == 2
    assert "The second look at your answer failed" in json.dumps(requests[1]["contents"])
    hits = owned.memory(f"Again: {QUESTION}", user, top_k=5)["hits"]
    answers = [hit["response"] for hit in hits]
    assert f"Port 6543 (ref: {event})." in answers
    assert wrong not in answers


def test_gemini_cli_asks_before_it_writes_a_system_file(
    gemini: Callable[[str, list[Reply]], list[dict[str, Any]]], home: Path
) -> None:
    target = Path(f"/srv/remembrancer-{home.name}")
    writes: list[Reply] = [
        ToolCall("run_shell_command", {"command": f"echo x > {target}", "description": "write"}),
        ToolCall("write_file", {"file_path": str(target), "content": "x"}),
        "Not written.",
    ]
    requests = gemini("Write it.", writes)

    assert not target.exists()
    assert [
        "No grant lets `gemini-cli`" in json.dumps(request["contents"]) for request in requests
    ] == [False, True, True]
