"""Snippets that connect a program or an agent to this server."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupSnippet:
    """One way to connect: a title, where the text goes, and the text to paste."""

    name: str
    slug: str  # in HTML ids
    about: str
    text: str


def setup_snippets(base: str, user_id: str, key: str | None) -> list[SetupSnippet]:
    """Return the snippets for this server and user. Without a key they hold a placeholder."""
    user_id_json = json.dumps(user_id, ensure_ascii=False)
    user_id_in_shell = user_id_json.replace("'", "'\\''")  # inside '…'
    agent = _text("agent.md").replace("USER_ID", user_id_in_shell)
    servers = {
        "mcpServers": {
            "remembrancer": {
                "url": f"{base}/mcp",
                "headers": {"Authorization": f"Bearer {key or 'sk_...'}"},
            }
        }
    }
    return [
        SetupSnippet(
            name="Address and key",
            slug="environment",
            about="Run once in the shell that starts your programs. The leading space keeps the "
            "key out of the history of most shells.",
            text=f" export REMEMBRANCER_URL={shlex.quote(base)}\n"
            f" export REMEMBRANCER_KEY={key or 'sk_...'}",
        ),
        SetupSnippet(
            name="curl",
            slug="curl",
            about="Store a turn, then search for it.",
            text=_text("curl.txt").replace("USER_ID", user_id_in_shell),
        ),
        SetupSnippet(
            name="Python",
            slug="python",
            about="With the package `remembrancer`, which also contains the server.",
            text=_text("python.txt").replace("USER_ID", user_id_json),
        ),
        SetupSnippet(
            name="Claude Code",
            slug="claude-code",
            about="Run once in a shell with both variables set, to add the tools. "
            "`remembrancer install claude-code` adds hooks.",
            text='claude mcp add --transport http remembrancer "$REMEMBRANCER_URL/mcp" '
            '--header "Authorization: Bearer $REMEMBRANCER_KEY"',
        ),
        SetupSnippet(
            name="Cursor",
            slug="cursor",
            about="Put this into `.cursor/mcp.json` of a project, or into `~/.cursor/mcp.json` for "
            "all projects. Other agents have a similar file.",
            text=json.dumps(servers, indent=2),
        ),
        SetupSnippet(
            name="An agent with a shell",
            slug="agent",
            about="Put this into `AGENTS.md` or `CLAUDE.md` of a project, for agents without MCP. "
            "Start them from a shell with both variables set.",
            text=agent,
        ),
    ]


def _text(name: str) -> str:
    return (
        resources.files("remembrancer.console")
        .joinpath("templates", "client_setup", name)
        .read_text("utf-8")
        .rstrip("\n")
    )
