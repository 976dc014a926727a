"""Markdown of stored texts: readable, and without anything that a stored text must not do."""

from __future__ import annotations

import re

import pytest
from console.hostile_texts import HOSTILE
from console.reader import Reader

from remembrancer.console.markdown import markdown

ALLOWED = {
    *("p", "br", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote", "hr"),
    *("a", "table", "thead", "tbody", "tr", "th", "td", "div", "span"),
}


def tags(html: str) -> set[str]:
    """Return the names of the elements of a page."""
    return set(re.findall(r"<([a-zA-Z][a-zA-Z0-9-]*)", html))


def test_pictures_are_described_and_never_loaded() -> None:
    html = markdown("![a cat](https://evil.example/cat.png) ![](https://evil.example/x.png)")

    assert "[picture: a cat]" in html
    assert "[picture: without a description]" in html
    assert "evil.example" not in html
    assert "<img" not in html


@pytest.mark.parametrize("address", ["https://example.org/a?b=1", "http://a.b", "mailto:a@b.c"])
def test_web_addresses_are_links_that_tell_nothing(address: str) -> None:
    html = markdown(f"[text]({address})")

    assert f'<a href="{address}" title="{address}" rel="noopener noreferrer nofollow ugc">' in html


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x",
        "ftp://evil.example/x", "/console/sign-out", "//evil.example", "&#106;avascript:alert(1)",
        "java\tscript:x",
    ],
)  # fmt: skip
def test_other_addresses_are_no_links(address: str) -> None:
    assert "<a" not in markdown(f"[text]({address}) <{address}>\n\n[text]: {address}")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_give_only_plain_elements(text: str) -> None:
    forms = ("{}", "[{}]({})", "```{}\n{}\n```", "![{}]({})", "| {} |\n|---|\n| {} |", "# {}")
    for around in forms:
        html = markdown(around.replace("{}", text))

        assert {name.lower() for name in tags(html)} <= ALLOWED
        assert re.search(r"<[^>]*\s(on\w+|style|id|src)\s*=", html) is None


def test_sessions_and_turns_show_markdown(owner: Reader) -> None:
    http = owner.http
    event_id = http.remember("Plan?", "**Pack**\n\n- tickets", session_id="s")["event_id"]

    for path in ("/console/sessions?session_id=s", f"/console/memory?event_id={event_id}"):
        page = owner.get(path).text
        assert "<strong>Pack</strong>" in page
        assert "<li>tickets</li>" in page
