"""Handlers of the documentation: its pages, its search, and a page for each endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup, escape
from starlette.responses import Response

from .. import __version__
from ..protocol.errors import NotFound
from . import docs_site, openapi, pages
from .dispatch import Call

API = "api"  # the pages about the endpoints
IMAGES = "images/"
QUERY_CHARACTERS_MAX = 200
# Titles of the groups of endpoints, by the beginning of their paths; the first that fits counts.
GROUPS = (
    ("Memory", ("/api/v7/memory", "/api/v7/event", "/api/v7/remember", "/api/v7/receipts")),
    ("Lessons", ("/api/v7/experience",)),
    ("Agents and chat", ("/api/v7/agent", "/v1/")),
    (
        "Tools",
        ("/api/execute", "/api/v7/execute", "/api/v7/tools", "/download", "/api/v7/feedback"),
    ),
    ("System permissions", ("/api/v7/sysperm",)),
    ("Accounts and service", ("/",)),
)


def docs_page(call: Call[None]) -> Response:
    """Return the first page of the documentation, or the results of a search (`q`)."""
    query = call.request.query_params.get("q", "").strip()[:QUERY_CHARACTERS_MAX]
    if not query:
        return _page(call, docs_site.HOME)
    return _render(
        call, "docs_page.html", query=query, results=docs_site.search(query), title=query
    )


def docs_article(call: Call[None]) -> Response:
    """Return a page of the documentation. Raises NotFound."""
    name = call.item_id
    try:
        if name.startswith(IMAGES):
            content = docs_site.image(name.removeprefix(IMAGES))
            return Response(
                content, media_type="image/png", headers={"Cache-Control": "max-age=3600"}
            )
        if name == API or name.startswith(f"{API}/"):
            return _api_page(call, name.removeprefix(API).removeprefix("/"))
        return _page(call, name)
    except KeyError:
        if not pages.wants_json(call.request) and "text/html" in call.request.headers.get(
            "accept", ""
        ):
            return _render(call, "docs_page.html", title="Page not found", status=404, is_lost=True)
        raise NotFound(f"There is no such page. {docs_site.PREFIX} lists all pages.") from None


def _page(call: Call[Any], name: str) -> Response:
    page = docs_site.docs_page(name)
    names = docs_site.page_names()
    at = names.index(name)
    beside = [names[place] if 0 <= place < len(names) else None for place in (at - 1, at + 1)]
    previous, following = (one and docs_site.docs_page(one) for one in beside)
    return _render(
        call,
        "docs_page.html",
        current=name,
        title=page.title,
        html=_addressed(page.html, call),
        headings=[heading for heading in page.headings if heading.level == 2],
        previous=previous,
        following=following,
    )


def _addressed(html: Markup, call: Call[Any]) -> Markup:
    """Return a page whose commands name the address of this service."""
    base = escape(pages.base_url(call.request))
    return html.replace(docs_site.WRITTEN_ADDRESS, base)


def _api_page(call: Call[Any], operation_id: str) -> Response:
    """Return the list of endpoints, or the page of one. Raises KeyError."""
    document = openapi.document(call.request.app.state.operations)
    entries = pages.operations(document, pages.base_url(call.request))
    if not operation_id:
        values = {
            "endpoint_groups": list(_grouped(entries)),
            "document": document,
            "version": __version__,
        }
        return _render(call, "docs_api.html", current=API, title="HTTP interface", **values)
    entry = {one["id"]: one for one in entries}[operation_id]
    return _render(call, "docs_operation.html", current=API, title=entry["summary"], op=entry)


def _grouped(entries: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    groups: dict[str, list[dict[str, Any]]] = {title: [] for title, _ in GROUPS}
    for entry in entries:
        title = next(title for title, starts in GROUPS if entry["path"].startswith(starts))
        groups[title].append(entry)
    yield from ((title, some) for title, some in groups.items() if some)


def _render(call: Call[Any], template: str, **values: Any) -> Response:
    defaults = {
        "navigation": docs_site.navigation(),
        "address_of": docs_site.address_of,
        "current": "",
        "query": "",
        "is_lost": False,
    }
    return pages.page(template, call.request, has_form=True, **(defaults | values))
