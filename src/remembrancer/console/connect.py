"""The connect page: a card for each agent, how to connect another, and what the server sees."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from importlib import resources

from starlette.responses import Response

from ..accounts import keys
from ..accounts.usage import DAYS_SHOWN, usage_of
from ..agent.compliance import compliance
from ..protocol.agent import ComplianceQuery, Figures
from .browser_session import BrowserRequest, Page
from .health import COMPLIANCE_DAYS, component_health


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupSnippet:
    """One way to connect: a title, where the text goes, and the text to paste."""

    name: str
    slug: str  # in HTML ids
    about: str
    text: str


_SNIPPETS = ("environment", "curl", "python", "claude-code", "claude-mcp", "cursor", "agent")


def setup_snippets(base: str, user_id: str, key: str | None) -> list[SetupSnippet]:
    """Return the snippets for this server and user. Without a key they hold a placeholder."""
    user = json.dumps(user_id, ensure_ascii=False)
    values = {
        "<base in shell>": shlex.quote(base),
        "<base>": base,
        "<key>": key or "sk_...",
        "<user in shell>": user.replace("'", "'\\''"),  # inside '…'
        "<user>": user,
    }
    pattern = re.compile("|".join(values))
    folder = resources.files("remembrancer.console").joinpath("templates", "client_setup")
    snippets = []
    for slug in _SNIPPETS:
        name, about, _, text = folder.joinpath(f"{slug}.txt").read_text("utf-8").split("\n", 3)
        text = pattern.sub(lambda match: values[match[0]], text.rstrip("\n"))
        snippets.append(SetupSnippet(name=name, slug=slug, about=about, text=text))
    return snippets


PATH = "/console/connect"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCard:
    """A key and what was done with it in the last DAYS_SHOWN days."""

    key: keys.Key
    searches: int
    turns: int
    figures: Figures | None  # of the protocol; None: it did not take part


def show(browser: BrowserRequest) -> Response:
    """Show the page."""
    context, caller = browser.context, browser.caller()
    counts = {one.key_id: one.counts for one in usage_of(context, caller, own=True).by_key}
    report = compliance(context, caller, ComplianceQuery(days=COMPLIANCE_DAYS))
    figures = {one.hint: one.figures for one in report.agents if one.hint}
    cards = [
        AgentCard(
            key=key,
            searches=counts.get(key.id, {}).get("search", 0),
            turns=counts.get(key.id, {}).get("turn", 0),
            figures=figures.get(key.hint),
        )
        for key in keys.list_keys(context, caller.account_name)
        if key.state(context.clock()) == "good"
    ]
    return browser.page(
        "connect.html",
        cards=sorted(cards, key=lambda card: -(card.key.last_used_ms or 0)),
        days=DAYS_SHOWN,
        snippets=setup_snippets(browser.base_url, browser.users.chosen, None),
        components=component_health(browser),
    )


PAGES = {PATH: Page(get=show)}
