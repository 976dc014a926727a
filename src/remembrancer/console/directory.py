"""The directory: pages, actions, and what is found in memory; the palette shows it as a dialog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from starlette.responses import Response

from ..http.dispatch import ThreadPool
from ..memory.history import browse
from ..memory.recall.explain import explain
from ..protocol.search import MemoryQuery
from ..protocol.text import beginning
from ..settings import Settings
from . import layout
from .browser_session import BrowserRequest, Page
from .layout import link_to
from .memory import PATH as MEMORY
from .memory import session_address

PATH = "/console/go"
OF_EACH = 4  # results of each kind
TEXT_CHARACTERS_MAX = 90
QUERY_CHARACTERS_MAX = 500
# Actions within pages: address, name, what it does.
ACTIONS = (
    ("/console/memory?users=everyone", "Search all users", "One search over every user's memory"),
    ("/console/memory?noticed=yes", "Flagged turns", "Secrets and possible prompt injections"),
    ("/console/memory?kind=fact#add", "Add a fact", "A sentence that agents read at the start"),
    ("/console/memory?kind=wish", "Wishes", "Standing instructions: change or delete them"),
    ("/console/memory?kind=session", "Sessions", "Conversations, latest first"),
    ("/console/searches?order=missed", "Missed searches", "What memory could not answer"),
    ("/profile#keys", "Create a key", "For an agent or a program"),
    ("/docs", "Documentation", "Guides and reference"),
)


@dataclass(frozen=True, slots=True)
class Destination:
    """A place to go to."""

    path: str
    name: str
    about: str


def show(browser: BrowserRequest) -> Response:
    """Show the places that match `query`, without one all pages; a fragment gets the list alone."""
    query = layout.text(browser.request.query_params, "query", QUERY_CHARACTERS_MAX)
    words = query.casefold().split()
    groups: dict[str, list[Destination]] = {}
    for group, place in [*_pages(browser), *(_results(browser, query) if query else ())]:
        text = f"{place.name} {place.about} {group}".casefold()
        if group in ("Turns", "Facts") or all(word in text for word in words):
            groups.setdefault(group, []).append(place)
    values: dict[str, Any] = {"groups": groups, "query": query}
    if browser.wants_fragment:
        return browser.fragment("_directory.html", **values)
    return browser.page("directory.html", **values)


def _pages(browser: BrowserRequest) -> Iterator[tuple[str, Destination]]:
    is_owner = browser.require_session().is_owner
    for entries in layout.sections(browser.page_paths, is_owner=is_owner).values():
        for one in entries:
            yield "Pages", Destination(one.path, one.name, one.about)
    for path, name, about in ACTIONS:
        yield "Actions", Destination(path, name, about)


def _results(browser: BrowserRequest, query: str) -> Iterator[tuple[str, Destination]]:
    """Yield people, sessions, settings, and facts and turns of the chosen user."""
    user_id = browser.users.chosen
    folded = query.casefold()
    people = [name for name in browser.users.names if folded in name.casefold()]
    for name in people[:OF_EACH]:
        yield "People", Destination(link_to(MEMORY, user_id=name), name, "Memory of this user")
    sessions, _ = browse.list_sessions(*browser.arguments, user_id)
    named = [one for one in sessions if folded in f"{one.session_id} {one.title}".casefold()]
    for one in named[:OF_EACH]:
        address = session_address(user_id, one.session_id)
        yield "Sessions", Destination(address, one.title, one.session_id)
    settings = [one.name for one in fields(Settings)]
    for name in [one for one in settings if folded.replace(" ", "_") in one][:OF_EACH]:
        yield "Settings", Destination("/docs/reference/settings", name.replace("_", " "), "Setting")
    explanation = explain(
        *browser.arguments,
        layout.parse(MemoryQuery, {"query_text": query, "user_id": user_id, "top_k": OF_EACH}),
    )
    for fact in explanation.facts[:OF_EACH]:
        address = link_to(MEMORY, kind="fact", user_id=user_id, fact_id=fact.fact_id)
        yield "Facts", Destination(address, beginning(fact.text, TEXT_CHARACTERS_MAX), "")
    for hit in explanation.hits:
        address = link_to(MEMORY, user_id=user_id, query=query, event_id=hit.event_id)
        text = beginning(hit.query or hit.response, TEXT_CHARACTERS_MAX)
        yield "Turns", Destination(address, text, f"{hit.score:.0%}, {hit.occurred_at[:10]}")


PAGES = {PATH: Page(get=show, pool=ThreadPool.SEARCH)}
