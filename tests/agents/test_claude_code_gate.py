"""Claude Code touches system files only with a grant (docs/guides/permissions.md)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from agents.claude_code import ClaudeCode, ClaudeRun
from agents.conftest import SHELL_SERVER, RunningService
from agents.endpoints import Reply, ToolCall

pytestmark = pytest.mark.agents

DENIED = "No grant lets `claude-code`"


def run_tool(claude: ClaudeCode, call: ToolCall) -> ClaudeRun:
    return claude.run("Do it.", [call, "Over."])


def write_call(path: Path) -> ToolCall:
    return ToolCall("Write", {"file_path": str(path), "content": "x"})


def shell_call(command: str) -> ToolCall:
    return ToolCall("Bash", {"command": command, "description": "test"})


@pytest.mark.parametrize(
    "command",
    [
        "echo x > {path}",
        "bash -c 'echo x | tee {path}'",
        "cd /srv && python3 - <<'EOF'\nopen({name!r}, 'w').write('x')\nEOF",
        "ln -s /srv link && echo x > link/{name}",
    ],
    ids=["redirection", "tee", "here-document", "link"],
)
def test_command_that_writes_a_system_file_is_denied(
    claude: ClaudeCode, target: Path, command: str
) -> None:
    run = run_tool(claude, shell_call(command.format(path=target, name=target.name)))

    assert not target.exists()
    assert DENIED in json.dumps(run.tool_results())


def test_write_of_a_system_file_is_denied(claude: ClaudeCode, target: Path) -> None:
    run = run_tool(claude, write_call(target))

    assert not target.exists()
    assert DENIED in json.dumps(run.tool_results())


def test_edit_of_a_system_file_is_denied(claude: ClaudeCode) -> None:
    call = ToolCall("Edit", {"file_path": "/etc/hosts", "old_string": "l", "new_string": "L"})
    before = Path("/etc/hosts").read_bytes()
    run = run_tool(claude, call)

    assert Path("/etc/hosts").read_bytes() == before
    assert run.tool_results()[0]["is_error"]


def test_read_of_a_secret_file_is_denied(claude: ClaudeCode) -> None:
    run = run_tool(claude, ToolCall("Read", {"file_path": "/etc/shadow"}))

    assert DENIED in json.dumps(run.tool_results())


def test_tool_of_another_mcp_server_is_denied(
    claude: ClaudeCode, target: Path, tmp_path: Path
) -> None:
    """Both calls reach the server, unless the hook denies one."""
    server = {"command": sys.executable, "args": [str(SHELL_SERVER)]}
    config = tmp_path / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"shell": server}}), "utf-8")
    own = claude.project / "own.txt"
    name = "mcp__shell__run_command"
    replies: list[Reply] = [
        ToolCall("ToolSearch", {"query": f"select:{name}", "max_results": 9}),
        ToolCall(name, {"command": f"echo x > {own}"}),
        ToolCall(name, {"command": f"echo x > {target}"}),
        "Over.",
    ]
    words = ("--mcp-config", str(config), "--allowedTools", f"ToolSearch,{name}")
    run = claude.run("Do it.", replies, *words)

    assert own.exists()
    assert not target.exists()
    assert DENIED in json.dumps(run.tool_results()[-1])


def test_subagent_is_denied(claude: ClaudeCode, target: Path) -> None:
    task = {"description": "write", "prompt": "Write it.", "subagent_type": "general-purpose"}
    replies: list[Reply] = [ToolCall("Agent", task), write_call(target), "Not written.", "Over."]
    run = claude.run("Let another agent do it.", replies)

    assert not target.exists()
    assert any(DENIED in json.dumps(request["messages"]) for request in run.requests)


def test_work_in_the_project_is_not_held(claude: ClaudeCode) -> None:
    path = claude.project / "notes.txt"
    replies: list[Reply] = [
        write_call(path),
        shell_call("ls; cat /etc/os-release | head -1"),
        "Over.",
    ]
    run = claude.run("Work here.", replies)

    assert path.read_text("utf-8") == "x"
    assert [result.get("is_error", False) for result in run.tool_results()] == [False, False]


def test_granted_write_is_done_and_logged(
    claude: ClaudeCode, target: Path, service: RunningService
) -> None:
    target = target.with_name(f"{target.name}-granted")  # no other test writes there
    owner = service.as_owner()
    grant = {"scope": str(target), "actions": ["write"], "agent": "claude-code", "ttl_minutes": 5}
    assert owner.post("/api/v7/sysperm/grant", grant).status_code == 200

    run_tool(claude, write_call(target))

    entries = owner.get("/api/v7/sysperm/audit?limit=500").json()["entries"]
    logs = [one for one in entries if one["kind"] == "log" and one.get("path") == str(target)]
    content = target.read_text("utf-8")
    target.unlink()
    assert content == "x"
    assert len(logs) == 1


def test_without_the_service_a_system_file_is_not_touched(claude: ClaudeCode, target: Path) -> None:
    run = claude.run("Do it.", [write_call(target), "Over."], REMEMBRANCER_URL="http://127.0.0.1:9")

    assert not target.exists()
    assert "could not be checked" in json.dumps(run.tool_results())
