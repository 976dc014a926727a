"""What each agent needs in which file of its own:

hooks, the address of the tools, a skill or a part of AGENTS.md.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from .config_files import entry, json_change, part_change, toml_change
from .file_changes import Change, ConfigUnreadable, text_of

ROOT = Path(__file__).parents[3]  # of the repository, where the package is installed from it
PROGRAM = "remembrancer_hook.py"
NAME = "remembrancer"
DEFAULT_URL = "http://127.0.0.1:8460"
_TOOLS = {
    "claude-code": "Write|Edit|MultiEdit|NotebookEdit|Read|Bash",
    "codex": "Bash|apply_patch|Write|Edit",
}
# before the agent gives a hook up; the program itself waits 8 seconds for each answer of the
# service
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
    """Where and what:

    `home` is the user's or the project's folder; `remove` takes everything out again.
    """

    home: Path
    is_project: bool
    url: str
    remove: bool


def plan_changes(agent: str, wanted: InstallOptions) -> list[Change]:
    """What is to be changed for an agent; nothing when all is as it should be.

    Raises NotUnderstood, having changed nothing.
    """
    made = AGENTS[agent](wanted)
    return [change for change in made if change.before != change.after]


def hook_command(agent: str, url: str) -> str:
    """The line that starts the hook program, with the Python that runs this."""
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
    """Where the files for agents lie:

    in the installed package, or in the repository it is run from.
    """
    installed = Path(str(resources.files("remembrancer"))) / "integrations"
    return installed if installed.is_dir() else ROOT / "integrations"


def _claude_code(wanted: InstallOptions) -> list[Change]:
    own = wanted.home / ".claude"
    settings = own / (
        "settings.local.json" if wanted.is_project else "settings.json"
    )  # it names programs of this machine
    servers = wanted.home / (".mcp.json" if wanted.is_project else ".claude.json")
    server = {
        "type": "http",
        "url": f"{wanted.url}/mcp",
        "headers": {"Authorization": "Bearer ${REMEMBRANCER_KEY}"},
    }
    skill = own / "skills" / "remembrancer-memory" / "SKILL.md"
    return [
        _hooks(settings, "claude-code", wanted),
        _server(servers, server, wanted),
        _file(skill, wanted),
    ]


def _codex(wanted: InstallOptions) -> list[Change]:
    own = wanted.home / ".codex"
    server = f'[mcp_servers.{NAME}]\nurl = {json.dumps(f"{wanted.url}/mcp")}\nbearer_token_env_var = "REMEMBRANCER_KEY"\n'
    config = toml_change(
        own / "config.toml", None if wanted.remove else server, "mcp_servers", NAME
    )
    return [_hooks(own / "hooks.json", "codex", wanted), config]


def _cursor(wanted: InstallOptions) -> list[Change]:
    own = wanted.home / ".cursor"
    server = {
        "url": f"{wanted.url}/mcp",
        "headers": {"Authorization": "Bearer ${env:REMEMBRANCER_KEY}"},
    }
    made = [_cursor_hooks(own / "hooks.json", wanted), _server(own / "mcp.json", server, wanted)]
    if wanted.is_project:
        part = (
            resources.files("remembrancer.http")
            .joinpath("templates", "agents", "recall.md")
            .read_text("utf-8")
        )
        made.append(
            part_change(
                wanted.home / "AGENTS.md", None if wanted.remove else part, ("<!--", " -->")
            )
        )
    return made


AGENTS: Mapping[str, Callable[[InstallOptions], list[Change]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "cursor": _cursor,
}


def _hooks(path: Path, agent: str, wanted: InstallOptions) -> Change:
    """Hooks of the shape that Claude Code and Codex share: event → groups → handlers."""
    command = hook_command(agent, wanted.url)

    def edit(value: dict[str, Any]) -> None:
        hooks = entry(value, path, "hooks")
        for event in _EVENTS[agent]:
            group: dict[str, Any] = {"matcher": _TOOLS[agent]} if "ToolUse" in event else {}
            group["hooks"] = [{"type": "command", "command": command, "timeout": _SECONDS[event]}]
            _put(hooks, event, None if wanted.remove else group, path)
        if not hooks:
            del value["hooks"]

    return json_change(path, edit)


def _cursor_hooks(path: Path, wanted: InstallOptions) -> Change:
    command = hook_command("cursor", wanted.url)

    def edit(value: dict[str, Any]) -> None:
        if not wanted.remove:
            value.setdefault("version", 1)
        hooks = entry(value, path, "hooks")
        for event in _CURSOR:
            handler: dict[str, Any] = {"command": command}
            if "ToolUse" in event:
                handler["matcher"] = _CURSOR_TOOLS
            if event == "preToolUse":
                handler["failClosed"] = True
            _put(hooks, event, None if wanted.remove else handler, path)
        if not hooks:
            del value["hooks"]

    return json_change(path, edit, {"version": 1})


def _put(hooks: dict[str, Any], event: str, ours: dict[str, Any] | None, path: Path) -> None:
    """Our entry of an event in the place of an older one, else behind what others have; None takes
    it out.
    """
    there = hooks.get(event, [])
    if not isinstance(there, list):
        raise ConfigUnreadable(f"{path}: `{event}` is no list. Nothing was written.")
    kept = []
    waiting = ours
    for one in there:
        left = _without_ours(one)
        if left == one:
            kept.append(one)
        else:
            kept += [one for one in (left, waiting) if one]
            waiting = None
    kept += [waiting] if waiting else []
    if kept:
        hooks[event] = kept
    else:
        hooks.pop(event, None)


def _without_ours(one: Any) -> Any:
    """An entry without handlers that start our program; None when nothing is left of it."""
    if not isinstance(one, dict):
        return one
    if PROGRAM in str(one.get("command", "")):
        return None
    handlers = one.get("hooks")
    if not isinstance(handlers, list):
        return one
    kept = [
        handler
        for handler in handlers
        if not (isinstance(handler, dict) and PROGRAM in str(handler.get("command", "")))
    ]
    return {**one, "hooks": kept} if kept or not handlers else None


def _server(path: Path, server: dict[str, Any], wanted: InstallOptions) -> Change:
    def edit(value: dict[str, Any]) -> None:
        servers = entry(value, path, "mcpServers")
        if wanted.remove:
            servers.pop(NAME, None)
        else:
            servers[NAME] = server
        if not servers:
            del value["mcpServers"]

    return json_change(path, edit)


def _file(path: Path, wanted: InstallOptions) -> Change:
    skill = folder() / "claude-code" / "skills" / "memory" / "SKILL.md"
    return Change(path, text_of(path), None if wanted.remove else skill.read_text("utf-8"))
