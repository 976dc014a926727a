"""The written documentation site works from disk, offline, and contains every page."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from command import captured

from remembrancer.http import docs
from remembrancer.protocol.operations import OPERATIONS

ROOT = Path(__file__).parents[2]
FOR_CONTRIBUTORS = ("contribute", "decisions")  # folders that are not in the site


class LoadedResources(HTMLParser):
    """The style sheets, scripts and pictures that a page loads."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect every address but those of links that a reader follows."""
        self.addresses += [
            value
            for name, value in attrs
            if value and name in ("src", "srcset", "href") and tag != "a"
        ]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the site as `make docs` does, and return its folder."""
    folder = tmp_path_factory.mktemp("site")
    process = captured([sys.executable, "-m", "remembrancer.http.docs", folder])
    assert (process.returncode, process.stderr) == (0, "")
    return folder


def sources() -> list[str]:
    """Return the names of all pages of docs/ that are for users."""
    files = (file.relative_to(ROOT / "docs") for file in (ROOT / "docs").rglob("*.md"))
    return sorted(
        str(file.with_suffix("")) for file in files if file.parts[0] not in FOR_CONTRIBUTORS
    )


def test_every_page_is_in_the_order_once() -> None:
    assert sorted(docs.page_names()) == sources()


def test_every_page_and_endpoint_is_written(site: Path) -> None:
    endpoints = [f"api/{one.operation_id}" for one in OPERATIONS]

    written = {str(file.relative_to(site).with_suffix("")) for file in site.rglob("*.html")}
    assert written == {*sources(), "api", *endpoints}


def test_no_page_loads_anything_from_another_place(site: Path) -> None:
    for file in site.rglob("*.html"):
        for address in LoadedResources(file.read_text("utf-8")).addresses:
            assert not urlsplit(address).scheme
            assert (file.parent / address).is_file(), f"{file}: {address}"
    assert "url(" not in (site / "style.css").read_text("utf-8")


def test_no_page_links_to_a_path_of_a_service(site: Path) -> None:
    absolute = [
        (file.name, link)
        for file in site.rglob("*.html")
        for link in re.findall(r'(?:href|src|action)="(/[^"]*)"', file.read_text("utf-8"))
    ]

    assert absolute == []


@pytest.mark.parametrize("address", ["nothing.html", "index.html#nothing", "#nothing", "/docs"])
def test_a_broken_link_is_found(tmp_path: Path, address: str) -> None:
    (tmp_path / "index.html").write_text('<h1 id="top">Page</h1>')
    page = tmp_path / "page.html"
    page.write_text('<a href="index.html#top">good</a> <a href="https://example.org">good</a>')
    assert list(docs.broken_links(tmp_path)) == []

    page.write_text(f'<a href="{address}">broken</a>')

    assert list(docs.broken_links(tmp_path)) == [f"page.html: {address}"]


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")

    with pytest.raises(FileExistsError, match="other files"):
        docs.write_site(tmp_path)

    assert (tmp_path / "letter.txt").read_text() == "mine"
