"""The documentation site builds without warnings, works offline and contains every page."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
LOADED = {
    "script": "src",
    "img": "src",
    "source": "srcset",
    "iframe": "src",
    "link": "href",
    "video": "src",
    "audio": "src",
}


class Page(HTMLParser):
    """The ids, links and loaded resources of one built page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.resources: list[str] = []
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the attributes that matter here."""
        values = {name: value for name, value in attrs if value}
        self.ids.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in LOADED and LOADED[tag] in values:
            self.resources.append(values[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site in a temporary folder, as `make docs` does, and return its folder."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "zensical.toml", folder)
    shutil.copytree(ROOT / "docs", folder / "docs")
    process = subprocess.run(
        [Path(sys.executable).parent / "zensical", "build", "--clean", "--strict"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "Warning" not in process.stdout + process.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """Parse every built page."""
    return {file: Page(file) for file in sorted(site.rglob("*.html"))}


def navigation(items: list[Any]) -> Iterator[str]:
    """Yield the paths in a `nav` list of zensical.toml, in order."""
    for item in items:
        if isinstance(item, str):
            yield item
        else:
            for value in item.values():
                yield from navigation(value if isinstance(value, list) else [value])


def built(source: Path) -> Path:
    """Return the path of a page in the site for its path in docs/."""
    return (
        source.with_name("index.html")
        if source.name == "README.md"
        else source.with_suffix(".html")
    )


def test_every_page_is_in_the_navigation_once() -> None:
    configuration = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))
    files = sorted(str(file.relative_to(ROOT / "docs")) for file in (ROOT / "docs").rglob("*.md"))

    assert sorted(navigation(configuration["project"]["nav"])) == files


def test_every_page_is_built(pages: dict[Path, Page], site: Path) -> None:
    sources = [file.relative_to(ROOT / "docs") for file in (ROOT / "docs").rglob("*.md")]
    targets = [built(source) for source in sources]

    assert [target for target in targets if site / target not in pages] == []


def test_no_page_loads_anything_from_another_host(pages: dict[Path, Page], site: Path) -> None:
    resources = [
        (file.name, resource) for file, page in pages.items() for resource in page.resources
    ]
    styles = [
        (file.name, url)
        for file in site.rglob("*.css")
        for url in re.findall(r"(?:url\(|@import )[\"']?([^\"')]+)", file.read_text("utf-8"))
    ]

    assert resources
    assert [resource for resource in resources + styles if urlsplit(resource[1]).netloc] == []


def test_every_link_within_the_site_resolves(pages: dict[Path, Page]) -> None:
    broken = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or file.name == "404.html":
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (
                parts.fragment
                and target in pages
                and unquote(parts.fragment) not in pages[target].ids
            ):
                broken.append(f"{file.name}: {link}")

    assert broken == []


def test_every_code_block_is_rendered(site: Path) -> None:
    """A fence that the generator does not understand would stay in the page as text."""
    fences = {
        file: file.read_text("utf-8").count("\n```") // 2
        for file in (site.parent / "docs").rglob("*.md")
    }
    blocks = {
        file: (site / built(file.relative_to(site.parent / "docs")))
        .read_text("utf-8")
        .count("<pre")
        for file in fences
    }

    assert [file.name for file in fences if fences[file] != blocks[file]] == []


def test_the_search_index_contains_every_page(site: Path, pages: dict[Path, Page]) -> None:
    index = (site / "search.json").read_text("utf-8")

    assert [
        str(file.relative_to(site))
        for file in pages
        if file.name != "404.html" and str(file.relative_to(site)) not in index
    ] == []
