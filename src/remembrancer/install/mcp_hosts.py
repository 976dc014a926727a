"""Applications that get the MCP server alone, because they have no hooks.

All start `remembrancer mcp`, which reads the agent's key file, so no configuration contains a key.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .config_files import NAME, Change, InstallOptions, ScopeUnsupported, mcp_command, member_change
from .yaml_text import yaml_change

GOOSE_TIMEOUT_S = 300


def _claude_desktop(options: InstallOptions) -> list[Change]:
    """Return the changes for Claude Desktop.

    Source: modelcontextprotocol.io/docs/develop/connect-local-servers.
    """
    _require_user_scope("Claude Desktop", options)
    path = _application_folder(options) / "Claude" / "claude_desktop_config.json"
    return [member_change(path, ("mcpServers", NAME), _server("claude-desktop", options))]


def _opencode(options: InstallOptions) -> list[Change]:
    """Return the changes for OpenCode.

    Source: opencode.ai/docs/mcp-servers and opencode.ai/docs/config: `opencode.jsonc` or
    `opencode.json`, both with comments.
    """
    base = options.home if options.is_project else options.config / "opencode"
    path = base / "opencode.jsonc"
    path = path if path.exists() else base / "opencode.json"
    server = {"type": "local", "command": mcp_command("opencode", options), "enabled": True}
    value = None if options.remove else server
    return [member_change(path, ("mcp", NAME), value, allows_comments=True)]


def _goose(options: InstallOptions) -> list[Change]:
    """Return the changes for Goose.

    Source: block.github.io/goose/docs/guides/config-files.
    """
    _require_user_scope("Goose", options)
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


def _vscode(options: InstallOptions) -> list[Change]:
    """Return the changes for Visual Studio Code.

    Source: code.visualstudio.com/docs/copilot/customization/mcp-servers.
    """
    folder = _application_folder(options) / "Code" / "User"
    path = (options.home / ".vscode" if options.is_project else folder) / "mcp.json"
    server = _server("vscode", options)
    value = None if server is None else {"type": "stdio", **server}
    return [member_change(path, ("servers", NAME), value, allows_comments=True)]


def _zed(options: InstallOptions) -> list[Change]:
    """Return the changes for Zed.

    Source: zed.dev/docs/ai/mcp and zed.dev/docs/configuring-zed.
    """
    folder = options.home / ".zed" if options.is_project else options.config / "zed"
    server = _server("zed", options)
    value = None if server is None else {**server, "env": {}}
    names = ("context_servers", NAME)
    return [member_change(folder / "settings.json", names, value, allows_comments=True)]


HOSTS: Mapping[str, Callable[[InstallOptions], list[Change]]] = {
    "claude-desktop": _claude_desktop,
    "opencode": _opencode,
    "goose": _goose,
    "vscode": _vscode,
    "zed": _zed,
}


def _server(agent: str, options: InstallOptions) -> dict[str, Any] | None:
    """Return the entry that most applications share, or None for a removal."""
    command, *words = mcp_command(agent, options)
    return None if options.remove else {"command": command, "args": words}


def _application_folder(options: InstallOptions) -> Path:
    """Return the folder of applications with windows: macOS has one of its own."""
    if sys.platform == "darwin":
        return options.home / "Library" / "Application Support"
    return options.config


def _require_user_scope(name: str, options: InstallOptions) -> None:
    if options.is_project:
        raise ScopeUnsupported(f"{name} has no configuration of projects. Use --scope user.")
