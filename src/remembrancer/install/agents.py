"""Configuration of each agent: hooks, the MCP server, and a skill or a section of AGENTS.md."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from .config_files import json_change, nested_object, part_change, toml_change
from .file_changes import Change, ConfigUnreadable, text_of

ROOT = Path(__file__).parents[3]  # of the repository, if the package runs from it
PROGRAM = "remembrancer_hook.py"
NAME = "remembrancer"
DEFAULT_URL = "http://127.0.0.1:8460"
_TOOLS = {
    "claude-code": "Write|Edit|MultiEdit|NotebookEdit|Read|Bash",
    "codex": "Bash|apply_patch|Write|Edit",
}
# Timeouts of hooks. The hook program itself waits 8 seconds for each response of the service.
_SECONDS = {
    "SessionStart": 30,
    "UserPromptSubmit": 20,
    "PreToolUse": 60,
    "PostToolUse": 20,
    "PostToolUseFailure": 20,
    "Stop": 60,
    "PreCompact": 30,
    "SessionEnd": 20,
}
_EVENTS = {
    "claude-code": tuple(_SECONDS),
    "codex": (
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "PreCompact",
    ),
}
_CURSOR = (
    "sessionStart",
    "beforeSubmitPrompt",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "afterAgentResponse",
    "stop",
    "preCompact",
    "sessionEnd",
)
_CURSOR_TOOLS = "Shell|Write|Edit|Delete|Read"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOptions:
    """Options of an installation. `home` is the folder of the user or of the project."""

    home: Path
    is_project: bool
    url: str
    remove: bool


def plan_changes(agent: str, options: InstallOptions) -> list[Change]:
    """Return the changes for an agent. Empty if everything is up to date.

    Raises ConfigUnreadable. Writes nothing.
    """
    changes = AGENTS[agent](options)
    return [change for change in changes if change.before != change.after]


def hook_command(agent: str, url: str) -> str:
    """Return the shell command that runs the hook program with this Python."""
    program = folder() / "claude-code" / "hooks" / PROGRAM
    words = [
        sys.executable,
        "-I",
        "-S",
        str(program),
        agent,
        *([url] if url != DEFAULT_URL else []),
    ]
    return shlex.join(words)


def folder() -> Path:
    """Return the folder with the agents' files, in the package or in the repository."""
    installed = Path(str(resources.files("remembrancer"))) / "integrations"
    return installed if installed.is_dir() else ROOT / "integrations"


_MCP = "/mcp?client=hooks"  # its texts leave to the hooks what they do


def _claude_code(options: InstallOptions) -> list[Change]:
    own = options.home / ".claude"
    # The project's local file, because the command has paths of this machine.
    settings = own / ("settings.local.json" if options.is_project else "settings.json")
    servers = options.home / (".mcp.json" if options.is_project else ".claude.json")
    server = {
        "type": "http",
        "url": f"{options.url}{_MCP}",
        "headers": {"Authorization": "Bearer ${REMEMBRANCER_KEY}"},
    }
    skill = own / "skills" / "remembrancer-memory" / "SKILL.md"
    return [
        _hooks(settings, "claude-code", options),
        _server(servers, server, options),
        _file(skill, options),
    ]


def _codex(options: InstallOptions) -> list[Change]:
    own = options.home / ".codex"
    server = (
        f"[mcp_servers.{NAME}]\nurl = {json.dumps(f'{options.url}{_MCP}')}\n"
        'bearer_token_env_var = "REMEMBRANCER_KEY"\n'
    )
    config = toml_change(
        own / "config.toml", None if options.remove else server, "mcp_servers", NAME
    )
    return [_hooks(own / "hooks.json", "codex", options), config]


def _cursor(options: InstallOptions) -> list[Change]:
    own = options.home / ".cursor"
    server = {
        "url": f"{options.url}{_MCP}",
        "headers": {"Authorization": "Bearer ${env:REMEMBRANCER_KEY}"},
    }
    changes = [
        _cursor_hooks(own / "hooks.json", options),
        _server(own / "mcp.json", server, options),
    ]
    if options.is_project:
        part = (
            resources.files("remembrancer.http")
            .joinpath("templates", "agents", "recall.md")
            .read_text("utf-8")
        )
        changes.append(
            part_change(
                options.home / "AGENTS.md", None if options.remove else part, ("<!--", " -->")
            )
        )
    return changes


AGENTS: Mapping[str, Callable[[InstallOptions], list[Change]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "cursor": _cursor,
}


def _hooks(path: Path, agent: str, options: InstallOptions) -> Change:
    """Return the change of a hooks file of Claude Code or Codex: event → groups → handlers."""
    command = hook_command(agent, options.url)

    def edit(value: dict[str, Any]) -> None:
        hooks = nested_object(value, path, "hooks")
        for event in _EVENTS[agent]:
            group: dict[str, Any] = {"matcher": _TOOLS[agent]} if "ToolUse" in event else {}
            group["hooks"] = [{"type": "command", "command": command, "timeout": _SECONDS[event]}]
            _put(hooks, event, None if options.remove else group, path)
        if not hooks:
            del value["hooks"]

    return json_change(path, edit)


def _cursor_hooks(path: Path, options: InstallOptions) -> Change:
    command = hook_command("cursor", options.url)

    def edit(value: dict[str, Any]) -> None:
        if not options.remove:
            value.setdefault("version", 1)
        hooks = nested_object(value, path, "hooks")
        for event in _CURSOR:
            handler: dict[str, Any] = {"command": command}
            if "ToolUse" in event:
                handler["matcher"] = _CURSOR_TOOLS
            if event == "preToolUse":
                handler["failClosed"] = True
            _put(hooks, event, None if options.remove else handler, path)
        if not hooks:
            del value["hooks"]

    return json_change(path, edit, {"version": 1})


def _put(hooks: dict[str, Any], event: str, ours: dict[str, Any] | None, path: Path) -> None:
    """Replace our entry of an event or append it. None removes it."""
    entries = hooks.get(event, [])
    if not isinstance(entries, list):
        raise ConfigUnreadable(f"{path}: `{event}` must be a list. Nothing was written.")
    result = []
    pending = ours
    for entry in entries:
        remainder = _without_ours(entry)
        if remainder == entry:
            result.append(entry)
        else:
            result += [item for item in (remainder, pending) if item]
            pending = None
    result += [pending] if pending else []
    if result:
        hooks[event] = result
    else:
        hooks.pop(event, None)


def _without_ours(entry: Any) -> Any:
    """Return an entry without handlers that run our program, or None if nothing is left."""
    if not isinstance(entry, dict):
        return entry
    if PROGRAM in str(entry.get("command", "")):
        return None
    handlers = entry.get("hooks")
    if not isinstance(handlers, list):
        return entry
    others = [
        handler
        for handler in handlers
        if not (isinstance(handler, dict) and PROGRAM in str(handler.get("command", "")))
    ]
    return {**entry, "hooks": others} if others or not handlers else None


def _server(path: Path, server: dict[str, Any], options: InstallOptions) -> Change:
    def edit(value: dict[str, Any]) -> None:
        servers = nested_object(value, path, "mcpServers")
        if options.remove:
            servers.pop(NAME, None)
        else:
            servers[NAME] = server
        if not servers:
            del value["mcpServers"]

    return json_change(path, edit)


def _file(path: Path, options: InstallOptions) -> Change:
    skill = folder() / "claude-code" / "skills" / "memory" / "SKILL.md"
    return Change(path, text_of(path), None if options.remove else skill.read_text("utf-8"))
