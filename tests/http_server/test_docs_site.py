"""The pages of the service: documentation with whole links and search, and the home page."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin

import pytest
from service import Http

from remembrancer.http import docs, pages


class Read(HTMLParser):
    """The ids, links and pictures of a page, what it loads or runs, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.sources: list[str] = []
        self.loaded: list[str] = []
        self.forbidden: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the attributes."""
        values = {name: value or "" for name, value in attrs}
        runs = tag in {"script", "style", "iframe", "object", "embed", "base", "form"}
        if runs or any(name == "style" or name.startswith("on") for name in values):
            self.forbidden.append(tag)
        self.ids |= {values["id"]} if "id" in values else set()
        self.sources += [values["src"]] if "src" in values else []
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif "src" in values or "href" in values:
            self.loaded.append(values.get("src") or values["href"])

    def handle_data(self, data: str) -> None:
        """Collect the text."""
        self.text += data


def read(http: Http, address: str) -> Read:
    """Return a page; it must exist."""
    answer = http.get(address)
    assert answer.status_code == 200, address
    return Read(answer.text)


def test_every_page_is_served_and_every_link_and_picture_exists(shared: Http) -> None:
    """`/docs/{page}` is a page of the documentation (specification.md#status-docs-pages)."""
    addresses = [docs.address_of(name) for name in docs.page_names()]
    pages = {address: read(shared, address) for address in addresses}
    broken = []
    for address, page in pages.items():
        for link in page.links:
            path, fragment = urldefrag(urljoin(address, link))
            is_page = path in pages or path.startswith("/docs/api")
            has_anchor = not fragment or path not in pages or fragment in pages[path].ids
            if path.startswith("/docs") and not (is_page and has_anchor):
                broken.append((address, link))
        assert all(shared.get(source).status_code == 200 for source in page.sources)

    assert len(addresses) > 40
    assert broken == []


def test_search_finds_the_section_that_explains_it(shared: Http) -> None:
    """Sections whose title has all words come first."""
    for query, address in (
        ("require exact words", "/docs/guides/search#require-exact-words"),
        ("duties", "/docs/reference/duties"),
        ("delete a user", "/docs/guides/forget#delete-a-user-or-an-account"),
        ("back up", "/docs/guides/backup"),
    ):
        page = read(shared, f"/docs?q={query.replace(' ', '+')}")
        first = next(link for link in page.links if "#" in link and link.startswith("/docs/"))
        assert first.startswith(address)
    assert "focus_words" in read(shared, "/docs?q=require+exact+words").text


def test_unknown_page_is_not_found(shared: Http) -> None:
    """A browser gets a page that says so."""
    for path in ("nothing", "guides", "guides/search.md", "../pyproject.toml", "images/../index.md",
                 "images/none.png", "images/%2e%2e/index.md", "api/nothing"):  # fmt: skip
        answer = shared.get(f"/docs/{path}")
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
    answer = shared.get("/docs/nothing", headers={"Accept": "text/html,*/*;q=0.8"})

    assert answer.status_code == 404
    assert "<h1>There is no such page</h1>" in answer.text
    assert 'role="search"' in answer.text


@pytest.mark.parametrize("path", ["/", "/docs", "/docs/api", "/docs/guides/search"])
def test_pages_use_no_scripts_and_no_external_resources(shared: Http, path: str) -> None:
    """`/docs` works offline (specification.md#status-docs-offline)."""
    answer = shared.with_key(None).get(path)
    page = Read(answer.text)

    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert page.forbidden in ([], ["form"])  # the search of the documentation
    assert page.loaded[:2] == [pages.asset("icon.svg"), "/docs/style.css"]
    assert all(source.startswith("/docs/images/") for source in page.loaded[2:])
    assert all(shared.get(link.split("#")[0] or path).status_code == 200 for link in page.links)
    assert {link[1:] for link in page.links if link.startswith("#")} <= page.ids
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'")
    assert "unsafe" not in policy
    assert "script-src" not in policy


@pytest.mark.settings(hosts="*")
def test_invalid_host_header_is_not_shown_in_examples(http: Http) -> None:
    for host in ("evil'; rm -rf ~; '", '"><script>', "a b.example", "$(reboot)", "`x`"):
        text = http.get("/docs/api/search_memory", headers={"Host": host}).text
        assert "http://localhost/api/v7/memory" in text
        assert host not in text


def test_home_serves_html_to_browsers_and_json_to_clients(shared: Http) -> None:
    """`/` serves a page or the record (specification.md#status-home)."""
    for accept, kind in (
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html"),
        ("*/*", "text/html"),
        ("text/html, application/json", "text/html"),
        ("application/json", "application/json"),
        ("application/json, text/plain, */*", "application/json"),
    ):
        answer = shared.with_key(None).get("/", headers={"Accept": accept})
        assert answer.headers["content-type"].startswith(kind)
        assert answer.headers["vary"] == "Accept"
