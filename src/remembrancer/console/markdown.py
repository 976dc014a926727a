"""Markdown of stored texts as safe HTML: no raw HTML, no pictures, only links to web addresses.

Stored texts are hostile until proven otherwise. The library escapes every text; the rules below
remove what a page must not have: remote pictures, styles, headings of its own, other schemes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

CHARACTERS_MAX = 20_000  # of a text; a longer one is shown as it is
_NESTING_MAX = 20
_WEB_ADDRESS = re.compile(r"(https?://|mailto:)", re.IGNORECASE)


class SafeRenderer(RendererHTML):
    """Renders tokens without pictures, styles, headings, and classes from the text."""

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Return the description of a picture in its place; nothing is loaded."""
        text = self.renderInlineAsText(tokens[idx].children or [], options, env)
        return f'<span class="picture">[picture: {escape(text or "without a description")}]</span>'

    def heading_open(self, *_: Any) -> str:
        """Begin a line that looks like a heading; the page keeps its own outline."""
        return '<p class="heading">'

    def heading_close(self, *_: Any) -> str:
        """End such a line."""
        return "</p>\n"

    def fence(self, tokens: Sequence[Token], idx: int, _options: Any, _env: Any) -> str:
        """Return a block of code, without a class for its language."""
        return f'<pre tabindex="0"><code>{escape(tokens[idx].content)}</code></pre>\n'

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Return an indented block of code."""
        return self.fence(tokens, idx, options, env)

    def link_open(self, tokens: Sequence[Token], idx: int, _options: Any, _env: Any) -> str:
        """Begin a link that tells the other site nothing; its address shows on hover."""
        address = escape(str(tokens[idx].attrGet("href") or ""))
        return f'<a href="{address}" title="{address}" rel="noopener noreferrer nofollow ugc">'

    def table_open(self, *_: Any) -> str:
        """Begin a table that scrolls by itself."""
        return '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>\n'

    def table_close(self, *_: Any) -> str:
        """End it."""
        return "</table></div>\n"

    def th_open(self, *_: Any) -> str:
        """Begin a cell without the style that aligns it."""
        return "<th>"

    def td_open(self, *_: Any) -> str:
        """Begin a cell without the style that aligns it."""
        return "<td>"


@cache
def _parser() -> MarkdownIt:
    options = {"html": False, "breaks": True, "maxNesting": _NESTING_MAX}
    parser = MarkdownIt("commonmark", options, renderer_cls=SafeRenderer)
    parser.enable(["table", "strikethrough"])
    parser.validateLink = lambda url: _WEB_ADDRESS.match(url) is not None  # type: ignore[method-assign]
    return parser


def markdown(text: str | None) -> Markup:
    """Return a stored text as HTML. A text of more than CHARACTERS_MAX characters stays plain."""
    if not text:
        return Markup("")
    if len(text) > CHARACTERS_MAX:
        return Markup('<div class="text">{}</div>').format(text)
    return Markup(_parser().render(text))  # noqa: S704 - every text in it is escaped
