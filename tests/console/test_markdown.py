"""Markdown of stored texts: readable, and without anything that a stored text must not do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from urllib.parse import parse_qsl, urlsplit

import pytest
from console.hostile_texts import HOSTILE
from console.pages import EVERY_PAGE, FILES, VIEWS
from console.reader import Reader
from console.things import put_facts, put_permissions, put_things
from console.window import Site
from playwright.sync_api import Page
from service import Http, new_key

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


OF_A_KIND_MAX = 2  # pages to visit that differ only in the values of their parameters
PAGES_MAX = 80
# enough for each text to be in each short field once; long fields hold all texts in every call
CALLS = 12
OWNER = "<b>o</b>\"'><x-pwned>"


class Packed:
    """Fill each field with as many hostile texts as fit, and continue with the next texts."""

    def __init__(self) -> None:
        self._next = 0

    def __call__(self, _usual: str, room: int) -> str:
        packed = ""
        for _ in HOSTILE:
            text = HOSTILE[self._next % len(HOSTILE)]
            if len(text) <= room < len(packed) + 1 + len(text):
                break
            packed += f" {text}" if len(text) <= room else ""
            self._next += 1
        return packed.strip()


@pytest.fixture
def filled(read_as: Callable[[str], Reader]) -> Reader:
    """The owner, with a hostile name, of a service that holds only hostile texts."""
    owner, words = read_as(OWNER), Packed()
    http = Http(owner.client, owner.context, new_key(owner.context, OWNER))
    for _ in range(CALLS):
        put_things(http, words, user_id=OWNER, session_id=words("", 250))
        put_facts(http, words, user_id=OWNER)
        owner.send(
            "/profile/keys", label=words("", 200), user_id=words("", 200), may="read", lasts=""
        )
    put_things(http, words, user_id=words("", 250))
    for _ in range(3):
        put_permissions(http, words)
    return owner


def test_stored_text_is_rendered_as_text_only(filled: Reader, site: Site) -> None:
    """A hostile corpus in every field, in a real browser (specification.md#console-escaping)."""
    output = ""
    with site.window(OWNER) as page:
        page.on("dialog", lambda dialog: site.watch.wrong.append(f"a dialog: {dialog.message}"))
        for path in _walk(page):
            assert page.locator("x-pwned, .pwned, [data-pwned]").count() == 0, path
            assert page.evaluate("window.pwned") is None, path
            assert urlsplit(page.url).netloc == urlsplit(site.address).netloc, path
            output += page.evaluate("document.body.textContent")

    assert [text for text in HOSTILE if text not in output] == []
    assert OWNER in output


def _walk(page: Page) -> Iterator[str]:
    """Visit every page and the pages they link to; yield each address once it is loaded."""
    todo, been = (
        [*EVERY_PAGE, *(path for path in VIEWS.values() if urlsplit(path).path in EVERY_PAGE)],
        set[str](),
    )
    kinds = Counter[tuple[str, ...]]()
    while todo and len(been) < PAGES_MAX:
        path = todo.pop(0)
        kind = (urlsplit(path).path, *sorted(name for name, _ in parse_qsl(urlsplit(path).query)))
        if path in been or kinds[kind] == OF_A_KIND_MAX:
            continue
        kinds[kind] += 1
        been.add(path)
        answer = page.goto(path)
        assert answer is not None
        assert answer.ok, f"{path}: {answer.status}"
        yield path
        hrefs = page.evaluate(
            "[...document.querySelectorAll('main a[href]')].map(a => a.getAttribute('href'))"
        )
        todo += [
            href
            for href in hrefs
            if re.match(r"/(console|profile)", href) and urlsplit(href).path not in FILES
        ]
