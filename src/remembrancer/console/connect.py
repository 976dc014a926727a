"""The connect page: a card for each agent, how to connect another, and what the server sees."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from importlib import resources

from starlette.responses import Response

from ..accounts import keys
from ..accounts.usage import DAYS_SHOWN, usage_of
from ..agent.compliance import compliance
from ..protocol.agent import ComplianceQuery, Figures
from .browser_session import BrowserRequest, Page
from .health import component_health


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
    in_shell = user_id_json.replace("'", "'\\''")  # inside '…'
    headers = {"Authorization": f"Bearer {key or 'sk_...'}"}
    servers = {"mcpServers": {"remembrancer": {"url": f"{base}/mcp", "headers": headers}}}
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
            text=_text("curl.txt").replace("USER_ID", in_shell),
        ),
        SetupSnippet(
            name="Python",
            slug="python",
            about="With the package `remembrancer`.",
            text=_text("python.txt").replace("USER_ID", user_id_json),
        ),
        SetupSnippet(
            name="Claude Code",
            slug="claude-code",
            about="Adds hooks and tools, shows the changes first, and can be undone. `codex`, "
            "`cursor` and other agents are installed alike.",
            text=f"remembrancer install claude-code --url {shlex.quote(base)}",
        ),
        SetupSnippet(
            name="Claude Code, tools alone",
            slug="claude-mcp",
            about="Run once in a shell with both variables set.",
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
            text=_text("agent.md").replace("USER_ID", in_shell),
        ),
    ]


def _text(name: str) -> str:
    return (
        resources.files("remembrancer.console")
        .joinpath("templates", "client_setup", name)
        .read_text("utf-8")
        .rstrip("\n")
    )


PATH = "/console/connect"
COMPLIANCE_DAYS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCard:
    """A key and what was done with it in the last DAYS_SHOWN days."""

    key: keys.Key
    state: str  # good, expired or revoked
    searches: int
    turns: int
    figures: Figures | None  # of the protocol; None: it did not take part


def show(browser: BrowserRequest) -> Response:
    """Show the page."""
    context, caller = browser.context, browser.caller()
    now_ms = context.clock()
    counts = {one.key_id: one.counts for one in usage_of(context, caller, own=True).by_key}
    report = compliance(context, caller, ComplianceQuery(days=COMPLIANCE_DAYS))
    figures = {one.hint: one.figures for one in report.agents if one.hint}
    cards = [
        AgentCard(
            key=key,
            state=key.state(now_ms),
            searches=counts.get(key.id, {}).get("search", 0),
            turns=counts.get(key.id, {}).get("turn", 0),
            figures=figures.get(key.hint),
        )
        for key in keys.list_keys(context, caller.account_name)
    ]
    return browser.page(
        "connect.html",
        cards=sorted(
            (card for card in cards if card.state == "good"),
            key=lambda card: -(card.key.last_used_ms or 0),
        ),
        days=DAYS_SHOWN,
        snippets=setup_snippets(browser.base_url, browser.users.chosen, None),
        components=component_health(browser),
    )


PAGES = {PATH: Page(get=show)}
