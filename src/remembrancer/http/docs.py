"""The documentation: pages from Markdown, served at `/docs` and written as a static site.

`python -m remembrancer.http.docs FOLDER` (`make docs`) writes the site with relative links and
checks every link and anchor of it. `docs/site.toml` has the order of the pages.
"""

from __future__ import annotations

import argparse
import posixpath
import re
import shutil
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urldefrag, urlsplit

import numpy as np
from markupsafe import Markup, escape
from starlette.responses import Response

from .. import __version__
from ..protocol.errors import NotFound
from ..protocol.operations import OPERATIONS
from ..search import (
    IndexView,
    QueryWord,
    SpaceIndex,
    analyze,
    highlight,
    lexical_scores,
    pack,
    parse_query,
)
from ..search import unpack as index_batch
from . import openapi, pages
from .dispatch import Call

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

ROOT = Path(__file__).parents[3]  # of the repository, if the package runs from it
HOME = "index"
PREFIX = "/docs"
WRITTEN_ADDRESS = "http://127.0.0.1:8460"  # of the service, in the Markdown files
RESULTS_MAX = 20  # sections of a search
EXCERPT_CHARACTERS = 240
PAGE_WEIGHTS = {  # by page or by folder; 1 for others
    "tutorial": 1.5,
    "guides": 1.5,
    "reference/specification": 0.7,
}
TITLE_WEIGHT = 3  # how often a section's title counts
API = "api"  # the pages about the endpoints
IMAGES = "images/"
IMAGE_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}
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
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_NO_ANCHOR = re.compile(r"[^\w\s-]")


class Heading(NamedTuple):
    """A heading of a page."""

    level: int
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class DocsPage:
    """One page: `name` is its path without `.md`."""

    name: str
    title: str
    headings: list[Heading]
    html: Markup


class Section(NamedTuple):
    """A part of a page under one heading, as search finds it."""

    page: str
    page_title: str
    anchor: str
    title: str
    text: str


class PageMatch(NamedTuple):
    """A section that matches a search, with an excerpt whose matching words are marked."""

    address: str
    page_title: str
    title: str
    excerpt: Markup


def address_of(name: str) -> str:
    """Return the path that serves a page."""
    return PREFIX if name == HOME else f"{PREFIX}/{name}"


def folder() -> Path:
    """Return the folder of the Markdown files, in the package or in the repository."""
    installed = Path(str(resources.files("remembrancer"))) / "docs"
    return installed if installed.is_dir() else ROOT / "docs"


@cache
def navigation() -> dict[str, dict[str, str]]:
    """Return the titles of the pages by name, in groups, in the order of `site.toml`."""
    table = tomllib.loads((folder() / "site.toml").read_text("utf-8"))
    return {group: {name: _first_heading(name) for name in names} for group, names in table.items()}


@cache
def page_names() -> tuple[str, ...]:
    """Return the names of all pages, in order."""
    return (HOME, *(name for pages in navigation().values() for name in pages))


@cache
def rendered(name: str) -> DocsPage:
    """Return a page. Raises KeyError for an unknown name."""
    if name not in page_names():
        raise KeyError(name)
    markdown = _markdown()
    tokens = markdown.parse(_source(name))
    headings = []
    anchors = Counter[str]()
    for token, content in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and content is not None:
            heading = _heading(int(token.tag[1:]), content, anchors)
            token.attrSet("id", heading.anchor)
            headings.append(heading)
        for child in token.children or ():
            _resolve(name, child)
    html = markdown.renderer.render(tokens, markdown.options, {})
    html = html.replace("<table>", '<div class="scroll"><table>').replace(
        "</table>", "</table></div>"
    )
    title = headings[0].text if headings else name
    return DocsPage(name, title, headings, Markup(html))  # noqa: S704 - our own pages


@cache
def image(name: str) -> tuple[bytes, str]:
    """Return a picture of the documentation and its media type. Raises KeyError."""
    path = folder() / "images" / name
    if path.name != name or path.suffix not in IMAGE_TYPES or not path.is_file():
        raise KeyError(name)
    return path.read_bytes(), IMAGE_TYPES[path.suffix]


def search(query: str) -> list[PageMatch]:
    """Return the sections with the words of a query, best first, at most RESULTS_MAX."""
    sections, view = _index()
    parsed = parse_query(query, view.languages)
    if not parsed.words:
        return []
    events = view["event"]
    scores = lexical_scores(view, parsed.words).score
    for part in np.flatnonzero(scores).tolist():
        scores[part] *= _weight(sections[int(events[part])], view, parsed.words)
    order = np.argsort(-scores, kind="stable")
    numbers = dict.fromkeys(int(events[part]) for part in order if scores[part] > 0)
    results = []
    for number in list(numbers)[:RESULTS_MAX]:
        section = sections[number]
        spans = highlight(section.text, parsed.words, view.languages)
        address = address_of(section.page) + (f"#{section.anchor}" if section.anchor else "")
        results.append(
            PageMatch(address, section.page_title, section.title, _excerpt(section.text, spans))
        )
    return results


def _first_heading(name: str) -> str:
    first, _, _ = (folder() / f"{name}.md").read_text("utf-8").partition("\n")
    return first.removeprefix("# ")


def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # imported here: most servers show no page of /docs

    return MarkdownIt("commonmark", {"html": True, "highlight": _colored}).enable("table")


def _colored(code: str, language: str, _attributes: str) -> str:
    """Return code as HTML with a class for each kind of token; escaped without a lexer."""
    from pygments import highlight as color  # imported here: see _markdown
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name({"jsonc": "json"}.get(language, language or "text"))
    except ClassNotFound:
        return str(escape(code))
    return str(color(code, lexer, HtmlFormatter(nowrap=True, classprefix="hl-")))


def _heading(level: int, content: Token, anchors: Counter[str]) -> Heading:
    """Return a heading with an anchor of its own; `anchors` counts those of the page so far."""
    text = _plain(content)
    anchor = re.sub(r"[-\s]+", "-", _NO_ANCHOR.sub("", text).strip().lower())
    count = anchors[anchor]
    anchors[anchor] += 1
    return Heading(level, f"{anchor}_{count}" if count else anchor, text)


def _resolve(name: str, token: Token) -> None:
    """Turn a page's link to another Markdown file, or to a picture, into a path of the service."""
    attribute = {"link_open": "href", "image": "src"}.get(token.type)
    if attribute is None:
        return
    parts = urlsplit(str(token.attrGet(attribute)))
    if parts.scheme or not parts.path:
        return
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), parts.path))
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    page = path.removesuffix(".md")
    address = address_of(page) if page != path else f"{PREFIX}/{path}"
    token.attrSet(attribute, address + fragment)


def _plain(token: Token) -> str:
    """Return the text of an inline token without markup."""
    return "".join(
        child.content if child.type in ("text", "code_inline") else " "
        for child in token.children or ()
        if child.type in ("text", "code_inline", "softbreak")
    )


def _source(name: str) -> str:
    """Return the Markdown of a page without comments, which are for programs."""
    return _COMMENT.sub("", (folder() / f"{name}.md").read_text("utf-8"))


def _sections(name: str) -> Iterator[Section]:
    """Yield the sections of a page. The title of a lower one begins with that of the upper one."""
    page, headings = rendered(name), iter(rendered(name).headings)
    titles: dict[int, str] = {}  # by level
    anchor, title, lines = "", page.title, list[str]()
    after_heading = False
    for token in _markdown().parse(_source(name)):
        if token.type == "heading_open":
            if lines:
                yield Section(name, page.title, anchor, title, " ".join(lines))
            level, anchor, text = next(headings)
            titles = {upper: one for upper, one in titles.items() if upper < level} | {level: text}
            title = " › ".join(one for upper, one in titles.items() if upper > 1) or text
            lines, after_heading = [], True
        elif token.type == "inline":
            if not after_heading:
                lines.append(_plain(token))
            after_heading = False
        elif token.type in ("fence", "code_block"):
            lines.append(token.content)
    if lines:
        yield Section(name, page.title, anchor, title, " ".join(lines))


@cache
def _index() -> tuple[list[Section], IndexView]:
    sections = [section for name in page_names() for section in _sections(name)]
    rows = []
    for number, section in enumerate(sections):
        title = f"{section.page_title}. {section.title}. " * TITLE_WEIGHT
        parts = analyze(query="", response=title + section.text, topic=None, occurred_ms=0)
        rows.append((number, 0, 0, pack(parts), None))
    index = SpaceIndex(0)
    index.add(index_batch(rows, 0), len(sections))
    return sections, index.view()


def _weight(section: Section, view: IndexView, words: Sequence[QueryWord]) -> float:
    """Return how much a section counts: people look for tasks first.

    A section whose title has all words that are searched for counts twice.
    """
    first, _, _ = section.page.partition("/")
    weight = PAGE_WEIGHTS.get(section.page, PAGE_WEIGHTS.get(first, 1.0))
    content = [word for word in words if not word.is_stop]
    title = f"{section.page_title} {section.title}"
    has_all = bool(content) and all(highlight(title, [word], view.languages) for word in content)
    return 2 * weight if has_all else weight


def _excerpt(text: str, spans: Sequence[tuple[int, int]]) -> Markup:
    """Return the surroundings of the first match, with all matches in them marked."""
    start = max(0, (spans[0][0] if spans else 0) - EXCERPT_CHARACTERS // 4)
    start = text.rfind(" ", 0, start) + 1
    end = start + EXCERPT_CHARACTERS
    html, at = escape("… " if start else ""), start
    for low, high in spans:
        if low >= at and high <= end:
            html += escape(text[at:low]) + Markup("<mark>{}</mark>").format(text[low:high])
            at = high
    return html + escape(text[at:end]) + escape(" …" if end < len(text) else "")


# --- Values of the templates ------------------------------------------------------------------

Values = dict[str, Any]


def _article(name: str, base: str) -> Values:
    """Return the values of a page whose commands name the service at `base`. Raises KeyError."""
    page = rendered(name)
    names = page_names()
    at = names.index(name)
    beside = [names[place] if 0 <= place < len(names) else None for place in (at - 1, at + 1)]
    previous, following = (one and rendered(one) for one in beside)
    return _values(
        current=name,
        title=page.title,
        html=page.html.replace(WRITTEN_ADDRESS, escape(base)),
        headings=[heading for heading in page.headings if heading.level == 2],
        previous=previous,
        following=following,
    )


def _values(**values: Any) -> Values:
    """Return the values of a documentation page, with defaults for those not given."""
    defaults = {
        "navigation": navigation(),
        "address_of": address_of,
        "current": "",
        "query": "",
        "is_lost": False,
        "is_site": False,
    }
    return defaults | values


def _interface(document: Mapping[str, Any], entries: Iterable[Values]) -> Values:
    """Return the values of the list of endpoints."""
    groups: dict[str, list[Values]] = {title: [] for title, _ in GROUPS}
    for entry in entries:
        title = next(title for title, starts in GROUPS if entry["path"].startswith(starts))
        groups[title].append(entry)
    return _values(
        current=API,
        title="HTTP interface",
        endpoint_groups=[(title, some) for title, some in groups.items() if some],
        document=document,
        version=__version__,
    )


def _operation(entry: Values) -> Values:
    """Return the values of the page of an endpoint."""
    return _values(current=API, title=entry["summary"], op=entry)


# --- Served at /docs --------------------------------------------------------------------------


def docs_page(call: Call[None]) -> Response:
    """Return the first page of the documentation, or the results of a search (`q`)."""
    query = call.request.query_params.get("q", "").strip()[:QUERY_CHARACTERS_MAX]
    if query:
        values = _values(query=query, results=search(query), title=query)
    else:
        values = _article(HOME, pages.base_url(call.request))
    return _send(call, "docs_page.html", values)


def docs_article(call: Call[None]) -> Response:
    """Return a page of the documentation. Raises NotFound."""
    name = call.item_id
    try:
        if name.startswith(IMAGES):
            content, media_type = image(name.removeprefix(IMAGES))
            headers = {"Cache-Control": "max-age=3600"}
            return Response(content, media_type=media_type, headers=headers)
        if name == API or name.startswith(f"{API}/"):
            return _api_page(call, name.removeprefix(API).removeprefix("/"))
        return _send(call, "docs_page.html", _article(name, pages.base_url(call.request)))
    except KeyError:
        if "text/html" in call.request.headers.get("accept", ""):
            values = _values(title="Page not found", status=404, is_lost=True)
            return _send(call, "docs_page.html", values)
        raise NotFound(f"There is no such page. {PREFIX} lists all pages.") from None


def _api_page(call: Call[Any], operation_id: str) -> Response:
    """Return the list of endpoints, or the page of one. Raises KeyError."""
    document = openapi.document(call.request.app.state.operations)
    entries = pages.operations(document, pages.base_url(call.request))
    if not operation_id:
        return _send(call, "docs_api.html", _interface(document, entries))
    entry = {one["id"]: one for one in entries}[operation_id]
    return _send(call, "docs_operation.html", _operation(entry))


def _send(call: Call[Any], template: str, values: Values) -> Response:
    return pages.page(template, call.request, has_form=True, **values)


# --- Written as a static site -----------------------------------------------------------------

_ADDRESS, _ID = re.compile(r'\b(href|src)="([^"]*)"'), re.compile(r'\sid="([^"]*)"')


def write_site(target: Path) -> list[str]:
    """Write all pages into a folder, replacing it, and return the broken links as texts.

    Links are relative, so that the pages open from disk. The folder must be empty, missing, or one
    that this function wrote; others raise FileExistsError.
    """
    if target.exists() and any(target.iterdir()) and not (target / "style.css").exists():
        raise FileExistsError(f"{target} has other files; name an empty folder.")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in ("style.css", "icon.svg"):
        (target / name).write_bytes(pages.asset_files()[name])
    shutil.copytree(folder() / "images", target / "images")
    for name, template, values in _site_pages():
        html = pages.render(template, **(values | {"is_site": True}))
        file = target / f"{name}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_with_relative_links(html, name), "utf-8")
    return list(broken_links(target))


def _site_pages() -> Iterator[tuple[str, str, Values]]:
    """Yield the name, template and values of every page."""
    for name in page_names():
        yield name, "docs_page.html", _article(name, WRITTEN_ADDRESS)
    document = openapi.document(OPERATIONS)
    entries = pages.operations(document, WRITTEN_ADDRESS)
    yield API, "docs_api.html", _interface(document, entries)
    for entry in entries:
        yield f"{API}/{entry['id']}", "docs_operation.html", _operation(entry)


def _with_relative_links(html: str, name: str) -> str:
    """Return a page whose links to `/docs` and to assets are relative to the page."""
    start = posixpath.dirname(name)

    def relative(match: re.Match[str]) -> str:
        attribute, address = match.groups()
        path, fragment = urldefrag(address)
        if path == pages.asset("icon.svg"):
            path = "icon.svg"
        elif path == PREFIX:
            path = f"{HOME}.html"
        elif path.startswith(f"{PREFIX}/"):
            path = path.removeprefix(f"{PREFIX}/")
            path = path if path.endswith((".css", *IMAGE_TYPES)) else f"{path}.html"
        else:
            return match[0]
        path = posixpath.relpath(path, start)
        return f'{attribute}="{path}{"#" if fragment else ""}{fragment}"'

    return _ADDRESS.sub(relative, html)


def broken_links(target: Path) -> Iterator[str]:
    """Yield each link of a written site that leads to no file or anchor of it."""
    root = target.resolve()
    files = {file: file.read_text("utf-8") for file in sorted(root.rglob("*.html"))}
    ids = {file: set(_ID.findall(html)) for file, html in files.items()}
    for file, html in files.items():
        for _, address in _ADDRESS.findall(html):
            parts = urlsplit(address)
            if parts.scheme in ("http", "https", "mailto"):
                continue
            to = (file.parent / parts.path).resolve() if parts.path else file
            has_anchor = not parts.fragment or parts.fragment in ids.get(to, ())
            if not to.is_file() or not has_anchor:
                yield f"{file.relative_to(root)}: {address}"


def main() -> None:
    """Write the site into the folder that the command line names; exit with 1 on broken links."""
    parser = argparse.ArgumentParser(description="Write the documentation as a static site.")
    parser.add_argument("folder", type=Path)
    target = parser.parse_args().folder.resolve()
    broken = write_site(target)
    if broken:
        sys.exit("\n".join(f"broken link: {link}" for link in broken))
    sys.stdout.write(f"{len(list(target.rglob('*.html')))} pages in {target}\n")


if __name__ == "__main__":
    main()
