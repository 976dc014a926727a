"""Configuration of each agent: hooks, the MCP server, and a skill or a section of AGENTS.md."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from .codex_trust import trust_keys
from .config_files import (
    NAME,
    PROGRAM,
    Change,
    ConfigUnreadable,
    InstallOptions,
    ScopeUnsupported,
    folder,
    headers_command,
    hook_command,
    json_change,
    mcp_command,
    member_change,
    part_change,
    put_member,
    require_object,
    text_of,
)
from .json_text import EditableJson
from .toml_text import toml_change
from .yaml_text import yaml_change

# Timeouts of hooks. The hook program itself waits a second for the service.
_SECONDS = {
    "SessionStart": 30,
    "UserPromptSubmit": 20,
    "SubagentStart": 20,
    "PreToolUse": 60,
    "PostToolUse": 20,
    "PostToolUseFailure": 20,
    "Stop": 60,
    "PreCompact": 30,
    "SessionEnd": 20,
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
_CLIENT_VARIABLES = ["REMEMBRANCER_KEY", "REMEMBRANCER_KEY_FILE", "XDG_CONFIG_HOME"]
_CURSOR_TOOLS = "Shell|Write|Edit|Delete|Read|MCP:.*"
# Agents with groups of hooks: events with those of `_SECONDS`, tools, and the units of a timeout in
# a second.
_GROUPS: dict[str, tuple[dict[str, str], str, int]] = {
    "claude-code": (
        {event: event for event in _SECONDS},
        "Write|Edit|MultiEdit|NotebookEdit|Read|Bash|Task|Agent|mcp__.*",
        1,
    ),
    "codex": (
        {
            event: event
            for event in _SECONDS
            if event not in ("SubagentStart", "PostToolUseFailure", "SessionEnd")
        },
        "Bash|apply_patch|Write|Edit|mcp__.*",
        1,
    ),
    # Source: github.com/google-gemini/gemini-cli, docs/tools/mcp-server.md and docs/hooks.
    "gemini-cli": (
        {
            "SessionStart": "SessionStart",
            "BeforeAgent": "UserPromptSubmit",
            "BeforeTool": "PreToolUse",
            "AfterTool": "PostToolUse",
            "AfterAgent": "Stop",
            "PreCompress": "PreCompact",
            "SessionEnd": "SessionEnd",
        },
        "write_file|replace|read_file|run_shell_command|mcp_.*",
        1000,
    ),
    # Source: github.com/QwenLM/qwen-code, docs/users/features/hooks.md and mcp.md.
    "qwen-code": (
        {event: event for event in _SECONDS},
        "write_file|edit|notebook_edit|read_file|run_shell_command|monitor|agent|mcp__.*",
        1,
    ),
}
_ONE_FILE = {"gemini-cli": ".gemini", "qwen-code": ".qwen"}  # folder of hooks and tools


def plan_changes(agent: str, options: InstallOptions) -> list[Change]:
    """Return the changes for an agent. Empty if everything is up to date.

    Raises ConfigUnreadable. Writes nothing.
    """
    changes = AGENTS[agent](options)
    return [change for change in changes if change.before != change.after]


def _claude_code(options: InstallOptions) -> list[Change]:
    own = options.home / ".claude"
    # The project's local file, because the command has paths of this machine.
    settings = own / ("settings.local.json" if options.is_project else "settings.json")
    servers = options.home / (".mcp.json" if options.is_project else ".claude.json")
    chosen = "" if options.tools == "memory" else f"&tools={options.tools}"
    server = {
        "type": "http",
        # the texts of this door leave to the hooks what they do
        "url": f"{options.url}/mcp?client=hooks{chosen}",
        "headersHelper": headers_command(),
    }
    skill = own / "skills" / "remembrancer-memory" / "SKILL.md"
    source = folder() / "claude-code" / "skills" / "memory" / "SKILL.md"
    return [
        _hooks(settings, "claude-code", options),
        member_change(servers, ("mcpServers", NAME), None if options.remove else server),
        _file(skill, source.read_text("utf-8"), options),
    ]


def _codex(options: InstallOptions) -> list[Change]:
    own = options.home / ".codex"
    hooks = own / "hooks.json"
    command, *words = mcp_command("codex", options, beside_hooks=True)
    body = (
        f"command = {json.dumps(command)}\nargs = {json.dumps(words)}\n"
        # Codex starts its servers with a few variables only.
        f"env_vars = {json.dumps(_CLIENT_VARIABLES)}\n"
    )
    config = toml_change(
        own / "config.toml",
        ("mcp_servers", NAME),
        None if options.remove else body,
        obsolete=[("hooks", "state", key) for key in trust_keys(hooks)],
    )
    return [_hooks(hooks, "codex", options), config]


def _cursor(options: InstallOptions) -> list[Change]:
    own = options.home / ".cursor"
    server = _server_of("cursor", options, beside_hooks=True)
    changes = [
        _cursor_hooks(own / "hooks.json", options),
        member_change(own / "mcp.json", ("mcpServers", NAME), server),
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


def _one_file(agent: str, options: InstallOptions) -> list[Change]:
    """Return the change for an agent of `_ONE_FILE`; the file may have comments."""
    path = options.home / _ONE_FILE[agent] / "settings.json"

    def edit(document: EditableJson) -> None:
        server = _server_of(agent, options, beside_hooks=True)
        put_member(document, path, ("mcpServers", NAME), server)
        _put_groups(document, path, agent, options, name=NAME)

    return [json_change(path, edit, allows_comments=True)]


def _hooks(path: Path, agent: str, options: InstallOptions) -> Change:
    """Return the change of a hooks file of Claude Code or Codex."""
    return json_change(path, lambda document: _put_groups(document, path, agent, options))


def _put_groups(
    document: EditableJson, path: Path, agent: str, options: InstallOptions, **more: str
) -> None:
    """Set or remove our hooks: event → groups → handlers."""
    require_object(document, path, "hooks")
    events, tools, units = _GROUPS[agent]
    hook = {"type": "command", **more, "command": hook_command(agent, options)}
    for event, same in events.items():
        group: dict[str, Any] = {"matcher": tools} if "Tool" in event else {}
        group["hooks"] = [{**hook, "timeout": _SECONDS[same] * units}]
        _put(document, event, None if options.remove else group, path)


def _cursor_hooks(path: Path, options: InstallOptions) -> Change:
    """Return the change of Cursor's hooks file: event → handlers.

    A `version` that this command adds stands behind the hooks, and goes with them.
    """
    command = hook_command("cursor", options)

    def edit(document: EditableJson) -> None:
        require_object(document, path, "hooks")
        has_our_version = list(document.root.value) == ["hooks", "version"]
        for event in _CURSOR:
            handler: dict[str, Any] = {"command": command}
            if "ToolUse" in event:
                handler["matcher"] = _CURSOR_TOOLS
            if event == "preToolUse":
                handler["failClosed"] = True
            _put(document, event, None if options.remove else handler, path)
        if not options.remove and document.value("version") is None:
            document.put(("version",), 1)
        elif options.remove and has_our_version and document.value("hooks") is None:
            document.remove(("version",))

    return json_change(path, edit)


def _put(document: EditableJson, event: str, ours: dict[str, Any] | None, path: Path) -> None:
    """Replace our entry of an event or append it. None removes it."""
    entries = document.value("hooks", event)
    if not isinstance(entries, list | None):
        raise ConfigUnreadable(f"{path}: `{event}` must be a list. Nothing was written.")
    pending = ours
    for index in reversed(range(len(entries or ()))):
        entry = (entries or ())[index]
        if pending is not None and entry == pending:
            pending = None
        elif _is_ours(entry) or _has_only_ours(entry):
            if pending is not None:
                document.put(("hooks", event, index), pending)
                pending = None
            else:
                document.remove(("hooks", event, index))
        else:
            for place in reversed(_places_of_ours(entry)):
                document.remove(("hooks", event, index, "hooks", place))
    if pending is not None:
        document.append(("hooks", event), pending)


def _is_ours(handler: Any) -> bool:
    return isinstance(handler, dict) and PROGRAM in str(handler.get("command", ""))


def _places_of_ours(entry: Any) -> list[int]:
    """Return the places of our handlers in a group that others may have extended."""
    handlers = entry.get("hooks") if isinstance(entry, dict) else None
    if not isinstance(handlers, list):
        return []
    return [place for place, handler in enumerate(handlers) if _is_ours(handler)]


def _has_only_ours(entry: Any) -> bool:
    places = _places_of_ours(entry)
    return bool(places) and len(places) == len(entry["hooks"])


def _file(path: Path, text: str, options: InstallOptions) -> Change:
    return Change(path, text_of(path), None if options.remove else text)


GOOSE_TIMEOUT_S = 300


def _opencode(options: InstallOptions) -> list[Change]:
    """Return the changes for OpenCode: tools, and a plugin that passes events to the hooks.

    Source: opencode.ai/docs/mcp-servers, /config and /plugins: `opencode.jsonc` or `opencode.json`,
    both with comments.
    """
    base = options.home if options.is_project else options.config / "opencode"
    path = base / "opencode.jsonc"
    path = path if path.exists() else base / "opencode.json"
    command = mcp_command("opencode", options, beside_hooks=True)
    server = {"type": "local", "command": command, "enabled": True}
    value = None if options.remove else server
    plugins = (base / ".opencode" if options.is_project else base) / "plugins"
    return [
        member_change(path, ("mcp", NAME), value, allows_comments=True),
        _plugin(plugins, "opencode", options),
    ]


def _cline(options: InstallOptions) -> list[Change]:
    """Return the changes for Cline: tools, and a plugin that passes events to the hooks.

    Source: docs.cline.bot, "Adding and configuring servers" and "Plugins".
    """
    _require_user_scope("cline", options)
    own = options.home / ".cline"
    server = _server_of("cline", options, beside_hooks=True)
    settings = own / "data" / "settings" / "cline_mcp_settings.json"
    return [
        member_change(settings, ("mcpServers", NAME), server),
        _plugin(own / "plugins", "cline", options),
    ]


def _plugin(plugins: Path, agent: str, options: InstallOptions) -> Change:
    """Return the change of a plugin in JavaScript: the common start, and the part of the agent."""
    hooks = folder() / "claude-code" / "hooks"
    parts = [(hooks / f"{name}.js").read_text("utf-8") for name in ("plugin", agent)]
    words = json.dumps(shlex.split(hook_command(agent, options)))
    text = "\n".join(parts).replace('["COMMAND"]', words)
    return _file(plugins / "remembrancer.js", text, options)


def _goose(options: InstallOptions) -> list[Change]:
    """Return the changes for Goose.

    Source: block.github.io/goose/docs/guides/config-files.
    """
    _require_user_scope("goose", options)
    command, *words = mcp_command("goose", options)
    extension = {
        "type": "stdio",
        "name": NAME,
        "description": "A memory that agents share",
        "enabled": True,
        "cmd": command,
        "args": words,
        "envs": {},
        "timeout": GOOSE_TIMEOUT_S,
    }
    path = options.config / "goose" / "config.yaml"
    return [yaml_change(path, ("extensions", NAME), None if options.remove else extension)]


# Applications with tools alone: file of the user and of a project (None: none), name of the object
# of servers, and what an entry has besides the command. Sources:
# modelcontextprotocol.io/docs/develop/connect-local-servers,
# docs.continue.dev/customize/deep-dives/mcp, `copilot mcp add --help`,
# code.visualstudio.com/docs/copilot/customization/mcp-servers,
# docs.windsurf.com/windsurf/cascade/mcp, zed.dev/docs/ai/mcp.
_TOOLS_ALONE: dict[str, tuple[str, str | None, str, dict[str, Any]]] = {
    "claude-desktop": ("{apps}/Claude/claude_desktop_config.json", None, "mcpServers", {}),
    "continue": (
        "{home}/.continue/mcpServers/remembrancer.json",
        ".continue/mcpServers/remembrancer.json",
        "mcpServers",
        {},
    ),
    "copilot-cli": (
        "{home}/.copilot/mcp-config.json",
        ".github/mcp.json",
        "mcpServers",
        {"type": "local", "tools": ["*"]},
    ),
    "vscode": ("{apps}/Code/User/mcp.json", ".vscode/mcp.json", "servers", {"type": "stdio"}),
    "windsurf": ("{home}/.codeium/windsurf/mcp_config.json", None, "mcpServers", {}),
    "zed": ("{config}/zed/settings.json", ".zed/settings.json", "context_servers", {"env": {}}),
}


def _tools_alone(agent: str, options: InstallOptions) -> list[Change]:
    """Return the change for an application of `_TOOLS_ALONE`; the file may have comments."""
    of_user, of_project, member, more = _TOOLS_ALONE[agent]
    path = Path(
        of_user.format(apps=_application_folder(options), config=options.config, home=options.home)
    )
    if options.is_project:
        if of_project is None:
            _require_user_scope(agent, options)
        path = options.home / str(of_project)
    server = _server_of(agent, options)
    value = None if server is None else {**more, **server}
    return [member_change(path, (member, NAME), value, allows_comments=True)]


def _server_of(
    agent: str, options: InstallOptions, *, beside_hooks: bool = False
) -> dict[str, Any] | None:
    """Return the entry that most agents share, or None for a removal."""
    command, *words = mcp_command(agent, options, beside_hooks=beside_hooks)
    return None if options.remove else {"command": command, "args": words}


def _application_folder(options: InstallOptions) -> Path:
    """Return the folder of applications with windows: macOS has one of its own."""
    if sys.platform == "darwin":
        return options.home / "Library" / "Application Support"
    return options.config


def _require_user_scope(name: str, options: InstallOptions) -> None:
    if options.is_project:
        raise ScopeUnsupported(f"{name} has no configuration of projects. Use --scope user.")


AGENTS: Mapping[str, Callable[[InstallOptions], list[Change]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "cursor": _cursor,
    **{agent: partial(_one_file, agent) for agent in _ONE_FILE},
    "opencode": _opencode,
    "cline": _cline,
    "goose": _goose,
    **{agent: partial(_tools_alone, agent) for agent in _TOOLS_ALONE},
}
