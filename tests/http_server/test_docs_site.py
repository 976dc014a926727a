"""The documentation that the service serves at /docs: all pages, whole links, search."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin

import pytest
from service import Http

from remembrancer.http import docs
from remembrancer.protocol.errors import PROBLEMS
from remembrancer.protocol.operations import OPERATIONS


class Read(HTMLParser):
    """The ids, links and pictures of a page, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.sources: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the attributes."""
        values = {name: value for name, value in attrs if value}
        self.ids |= {values["id"]} if "id" in values else set()
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if "src" in values:
            self.sources.append(values["src"])

    def handle_data(self, data: str) -> None:
        """Collect the text."""
        self.text += data


def read(http: Http, address: str) -> Read:
    """Return a page; it must exist."""
    answer = http.get(address)
    assert answer.status_code == 200, address
    return Read(answer.text)


def test_every_page_is_served_and_every_link_and_picture_exists(http: Http) -> None:
    """`/docs/{page}` is a page of the documentation (specification.md#status-docs-pages)."""
    addresses = [docs.address_of(name) for name in docs.page_names()]
    pages = {address: read(http, address) for address in addresses}
    broken = []
    for address, page in pages.items():
        for link in page.links:
            path, fragment = urldefrag(urljoin(address, link))
            is_page = path in pages or path.startswith("/docs/api")
            has_anchor = not fragment or path not in pages or fragment in pages[path].ids
            if path.startswith("/docs") and not (is_page and has_anchor):
                broken.append((address, link))
        assert all(http.get(source).status_code == 200 for source in page.sources)

    assert len(addresses) > 40
    assert broken == []


def test_pages_show_text_code_and_tables_without_markup(http: Http) -> None:
    page = http.get("/docs/guides/search").text

    assert '<h1 id="search">Search</h1>' in page
    assert '<span class="hl-' in page
    assert "<!--" not in page
    assert 'href="/docs/reference/' in page
    assert not re.search(r'href="[^"]*\.md', page)


def test_search_finds_the_section_that_explains_it(http: Http) -> None:
    page = read(http, "/docs?q=require+exact+words")

    first = next(link for link in page.links if "#" in link and link.startswith("/docs/"))
    assert first == "/docs/guides/search#require-exact-words"
    assert "focus_words" in page.text


@pytest.mark.parametrize(
    "query", ["zqxjkv", "%3Cscript%3Ealert(1)%3C/script%3E", "the", "%22%27%26"]
)
def test_search_for_anything_answers_a_page(http: Http, query: str) -> None:
    answer = http.get(f"/docs?q={query}")

    assert answer.status_code == 200
    assert "<script" not in answer.text
    assert "form-action 'self'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    ["nothing", "guides", "guides/search.md", "../pyproject.toml", "images/../index.md",
     "images/none.png", "images/%2e%2e/index.md", "api/nothing"],
)  # fmt: skip
def test_unknown_page_is_not_found(http: Http, path: str) -> None:
    answer = http.get(f"/docs/{path}")

    assert answer.status_code == 404
    assert answer.json()["error"] == "not_found"


def test_browser_gets_a_page_for_an_unknown_one(http: Http) -> None:
    answer = http.get("/docs/nothing", headers={"Accept": "text/html,*/*;q=0.8"})

    assert answer.status_code == 404
    assert "<h1>There is no such page</h1>" in answer.text
    assert 'role="search"' in answer.text


def test_commands_name_the_address_of_this_service(http: Http) -> None:
    text = http.get("/docs/guides/search", headers={"Host": "127.0.0.1:8600"}).text

    assert "http://127.0.0.1:8600/api/v7/memory" in text
    assert "8460" not in text


@pytest.mark.parametrize(
    ("query", "address"),
    [
        ("duties", "/docs/reference/duties"),
        ("delete a user", "/docs/guides/forget#delete-a-user-or-an-account"),
        ("back up", "/docs/guides/backup"),
    ],
)
def test_sections_whose_title_has_all_words_come_first(
    http: Http, query: str, address: str
) -> None:
    page = read(http, f"/docs?q={query.replace(' ', '+')}")

    first = next(link for link in page.links if "#" in link and link.startswith("/docs/"))
    assert first.startswith(address)


def test_interface_lists_every_endpoint_each_with_a_page(http: Http) -> None:
    listed = http.get("/docs/api").text

    assert [e.path for e in OPERATIONS if f"<code>{e.path}</code>" not in listed] == []
    assert [kind.error for kind in PROBLEMS if f"<code>{kind.error}</code>" not in listed] == []
    for endpoint in OPERATIONS:
        page = read(http, f"/docs/api/{endpoint.operation_id}")
        assert endpoint.path in page.text
        assert endpoint.summary in page.text
        assert "`" not in page.text


def test_pages_name_the_next_and_the_previous_one(http: Http) -> None:
    first, second = docs.page_names()[1:3]
    page = http.get(docs.address_of(first)).text

    assert f'rel="next" href="{docs.address_of(second)}"' in page
    assert 'rel="prev" href="/docs"' in page
    assert f'href="{docs.address_of(first)}" aria-current="page"' in page
