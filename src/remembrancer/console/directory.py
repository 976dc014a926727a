"""The directory: every page and action in one list, which the command palette shows as a dialog."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from . import layout
from .browser_session import BrowserRequest, Page
from .layout import MenuSection

PATH = "/console/go"
# Actions within pages: address, name, what it does.
ACTIONS = (
    ("/console/memory?users=everyone", "Search all users", "One search over every user's memory"),
    ("/console/memory?noticed=yes", "Flagged turns", "Secrets and possible prompt injections"),
    ("/console/facts#add", "Add a fact", "A sentence that agents read at the start"),
    ("/console/facts?which=instructions", "Instructions", "Standing wishes: change or delete them"),
    ("/console/memory#forget", "Forget", "Erase a session, a period or a user"),
    ("/profile#keys", "Create a key", "For an agent or a program"),
    ("/docs", "Documentation", "Guides and reference"),
)


def show(browser: BrowserRequest) -> Response:
    """Show all pages and actions; a fragment request gets the list alone."""
    is_owner = browser.require_session().is_owner
    groups: dict[str, list[MenuSection]] = layout.sections(browser.page_paths, is_owner=is_owner)
    values: dict[str, Any] = {"groups": groups, "actions": ACTIONS}
    if browser.wants_fragment:
        return browser.fragment("_directory.html", **values)
    return browser.page("directory.html", **values)


PAGES = {PATH: Page(get=show)}
