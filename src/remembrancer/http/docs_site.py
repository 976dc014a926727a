"""The documentation that the service serves: pages from Markdown, in the order of the site.

The Markdown files and the order are those of `make docs` (zensical.toml).
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape
from pygments import highlight as color
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

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
    "decisions": 0.5,
    "contribute": 0.5,
}
TITLE_WEIGHT = 3  # how often a section's title counts
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_NO_ANCHOR = re.compile(r"[^\w\s-]")
_colors = HtmlFormatter(nowrap=True, classprefix="hl-")


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

    @property
    def address(self) -> str:
        """The path that serves the page."""
        return address_of(self.name)


@dataclass(frozen=True, slots=True)
class NavigationGroup:
    """Pages of the navigation under one title, as (title, name), and groups within it."""

    title: str
    pages: list[tuple[str, str]]
    groups: list[NavigationGroup]

    def names(self) -> Iterator[str]:
        """Yield the names of all pages, in order."""
        yield from (name for _, name in self.pages)
        for group in self.groups:
            yield from group.names()


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
def navigation() -> NavigationGroup:
    """Return the order of the pages, from zensical.toml."""
    table = folder() / "zensical.toml"
    text = (table if table.exists() else ROOT / "zensical.toml").read_text("utf-8")
    return _group("", tomllib.loads(text)["project"]["nav"])


@cache
def page_names() -> tuple[str, ...]:
    """Return the names of all pages, in order."""
    return tuple(navigation().names())


@cache
def docs_page(name: str) -> DocsPage:
    """Return a page. Raises KeyError for an unknown name."""
    if name not in page_names():
        raise KeyError(name)
    return _Rendering(name).page()


@cache
def image(name: str) -> bytes:
    """Return a PNG of the documentation. Raises KeyError for an unknown name."""
    path = folder() / "images" / name
    if path.name != name or path.suffix != ".png" or not path.is_file():
        raise KeyError(name)
    return path.read_bytes()


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


def _group(title: str, entries: Sequence[Any]) -> NavigationGroup:
    pages, groups = [], []
    for entry in entries:
        if isinstance(entry, str):  # the title is the page's own
            name = entry.removesuffix(".md")
            pages.append((_first_heading(name), name))
            continue
        for label, value in entry.items():
            if isinstance(value, str):
                pages.append((label, value.removesuffix(".md")))
            else:
                groups.append(_group(label, value))
    return NavigationGroup(title, pages, groups)


def _first_heading(name: str) -> str:
    first, _, _ = (folder() / f"{name}.md").read_text("utf-8").partition("\n")
    return first.removeprefix("# ")


def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": True, "highlight": _colored}).enable("table")


def _colored(code: str, language: str, _attributes: str) -> str:
    """Return code as HTML with a class for each kind of token; escaped without a lexer."""
    try:
        lexer = get_lexer_by_name({"jsonc": "json"}.get(language, language or "text"))
    except ClassNotFound:
        return str(escape(code))
    return str(color(code, lexer, _colors))


class _Rendering:
    """Renders one page."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._text = _source(name)
        self._anchors: dict[str, int] = {}

    def page(self) -> DocsPage:
        """Return the page with anchors for headings and paths for links."""
        markdown = _markdown()
        tokens = markdown.parse(self._text)
        headings = []
        for token, content in zip(tokens, [*tokens[1:], None], strict=True):
            if token.type == "heading_open" and content is not None:
                heading = self._heading(int(token.tag[1:]), content)
                token.attrSet("id", heading.anchor)
                headings.append(heading)
            elif token.type in ("table_open", "table_close"):
                continue
            for child in token.children or ():
                self._resolve(child)
        html = markdown.renderer.render(tokens, markdown.options, {})
        html = html.replace("<table>", '<div class="scroll"><table>').replace(
            "</table>", "</table></div>"
        )
        title = headings[0].text if headings else self._name
        return DocsPage(self._name, title, headings, Markup(html))  # noqa: S704 - our own pages

    def _heading(self, level: int, content: Token) -> Heading:
        text = _plain(content)
        anchor = re.sub(r"[-\s]+", "-", _NO_ANCHOR.sub("", text).strip().lower())
        count = self._anchors.get(anchor, 0)
        self._anchors[anchor] = count + 1
        return Heading(level, f"{anchor}_{count}" if count else anchor, text)

    def _resolve(self, token: Token) -> None:
        """Turn a link to another Markdown file, or to a picture, into a path of the service."""
        attribute = {"link_open": "href", "image": "src"}.get(token.type)
        if attribute is None:
            return
        target = str(token.attrGet(attribute))
        parts = urlsplit(target)
        if parts.scheme or not parts.path:
            return
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self._name), parts.path))
        fragment = f"#{parts.fragment}" if parts.fragment else ""
        name = path.removesuffix(".md")
        address = address_of(name) if name != path else f"{PREFIX}/{path}"
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
    page, headings = docs_page(name), iter(docs_page(name).headings)
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
