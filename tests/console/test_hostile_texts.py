"""Stored XSS: a hostile corpus in every field, every page opened in a real browser."""

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
