"""Citations of the specification: every anchor exists, and no test cites a private document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPECIFICATION = ROOT / "docs" / "reference" / "specification.md"
CITATION = re.compile(r"specification\.md#([\w-]+)")
ANCHOR = re.compile(r'<a id="([^"]*)"></a>')
# Letters in brackets, so that this file does not match its own pattern.
PRIVATE = re.compile(
    r"\bI[s]sue:|\bi[s]sue \d|\bd[e]cisions(\.md|:)|\bi[n]terface-spec", re.IGNORECASE
)


def anchors() -> list[str]:
    """Return the anchors of the specification, in order."""
    return ANCHOR.findall(SPECIFICATION.read_text("utf-8"))


def citations(*folders: str) -> Iterator[tuple[str, str]]:
    """Yield each citation in these folders as its place (path and line) and its anchor."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".py", ".md", ".sql", ".html", ".j2"} and path != Path(__file__):
                for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                    for anchor in CITATION.findall(line):
                        yield f"{path.relative_to(ROOT)}:{number}", anchor


def test_every_cited_anchor_exists() -> None:
    """A citation must name an anchor of docs/reference/specification.md."""
    existing = set(anchors())

    cited = citations("tests", "src", "bench", "docs", "examples", "integrations")

    assert [f"{place}: {anchor}" for place, anchor in cited if anchor not in existing] == []


def test_anchors_are_unique_and_well_formed() -> None:
    """An anchor is kebab-case with a prefix, and names one rule."""
    names = anchors()

    assert [name for name, times in Counter(names).items() if times > 1] == []
    assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name)] == []


def test_internal_links_of_the_specification_resolve() -> None:
    """A link such as `(#idempotency)` names an anchor or a heading of the page."""
    text = SPECIFICATION.read_text("utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    targets = {
        re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-") for heading in headings
    }

    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= targets | set(anchors())


def test_no_test_cites_a_private_document() -> None:
    """Tests cite the public specification only."""
    private = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if PRIVATE.search(line)
    ]

    assert private == []


def test_each_test_that_the_documentation_names_exists() -> None:
    missing = [
        f"{path}::{name}"
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for path, name in re.findall(
            r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`", page.read_text("utf-8")
        )
        if not (ROOT / path).exists()
        or not re.search(
            rf"^\s*(?:async )?def {name}\b" if name else "",
            (ROOT / path).read_text("utf-8"),
            re.MULTILINE,
        )
    ]

    assert missing == []
