"""What to paste where, so that a program or an agent has this memory:

it works with the server as it is today.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupSnippet:
    """One way to use the memory: where its text goes, and the text."""

    name: str
    word: str  # for the page's own use
    about: str
    text: str


def setup_snippets(base: str, user_id: str, key: str | None) -> list[SetupSnippet]:
    """The ways, with the address people reach the service at.

    `key` stands where it must; without one there is a place for it.
    """
    whose = json.dumps(user_id, ensure_ascii=False)
    in_quotes = whose.replace("'", "'\\''")  # within '…' of a shell
    agent = _text("agent.md").replace("USER_ID", in_quotes)
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
            word="environment",
            about="Once, in the shell that programs start from. Most shells leave a line that begins with a space out of their history.",
            text=f" export REMEMBRANCER_URL={shlex.quote(base)}\n export REMEMBRANCER_KEY={key or 'sk_...'}",
        ),
        SetupSnippet(
            name="curl",
            word="curl",
            about="Keeps a turn, then finds it.",
            text=_text("curl.txt").replace("USER_ID", in_quotes),
        ),
        SetupSnippet(
            name="Python",
            word="python",
            about="With the package `remembrancer`, the same that the server runs from.",
            text=_text("python.txt").replace("USER_ID", whose),
        ),
        SetupSnippet(
            name="Claude Code",
            word="claude-code",
            about="In the shell with the two variables, once: it has the tools then. `remembrancer install claude-code` adds hooks.",
            text='claude mcp add --transport http remembrancer "$REMEMBRANCER_URL/mcp" --header "Authorization: Bearer $REMEMBRANCER_KEY"',
        ),
        SetupSnippet(
            name="Cursor",
            word="cursor",
            about="Into `.cursor/mcp.json` of a project, or `~/.cursor/mcp.json` for all of them. Other agents have a file like it.",
            text=json.dumps(servers, indent=2),
        ),
        SetupSnippet(
            name="An agent with a shell",
            word="agent",
            about="Into `AGENTS.md` or `CLAUDE.md` of a project, for agents that know no MCP; start them from that shell.",
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
