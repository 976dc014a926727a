"""Claims of the documentation about the code hold: commands, files, functions and counts."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from remembrancer.client.tools import schemas

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "bench" / "results.md"])
FOLDERS = ("src", "tests", "bench", "docs", "examples", "integrations", "deploy", "clients")
LINES_TOLERANCE = 0.15


def found(pattern: str) -> Iterator[tuple[Path, re.Match[str]]]:
    """Yield each match in a page other than the changelog, which speaks of earlier versions."""
    for page in PAGES:
        if page.name != "CHANGELOG.md":
            for match in re.finditer(pattern, page.read_text("utf-8")):
                yield page, match


def test_named_programs_exist() -> None:
    """`at 1a2b3c4d` behind a command names the commit that has it."""
    missing = [
        (page.name, match[0])
        for page, match in found(
            r"python -m\s+((?:bench|remembrancer)[\w.]*)([^`]*`?\)?\s+at\s+[0-9a-f]{8})?"
        )
        if not match[2] and importlib.util.find_spec(match[1].rstrip(".")) is None
    ]

    assert missing == []


def test_named_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))

    used = {match[1] for _, match in found(r"(?:`|^)make ([a-z-]+)")}

    assert used - targets == set()
    assert {"run", "test", "docs"} <= used


def test_named_files_exist() -> None:
    """A path in backquotes that begins with a folder of the repository."""
    folders = "|".join(FOLDERS)
    missing = [
        (page.name, match[1])
        for page, match in found(rf"`((?:{folders})/[\w./-]+)`")
        if not (ROOT / match[1]).exists() and not re.search(r"secrets|[A-Z]{4}", match[1])
    ]

    assert missing == []


def test_named_modules_of_the_package_exist() -> None:
    """A path such as `store/sqlite/store.py` is below src/remembrancer, or below a folder of ours."""
    names = {str(file.relative_to(ROOT)) for file in ROOT.glob("*/**/*.py")}
    missing = [
        (page.name, match[1])
        for page, match in found(r"`([a-z_]+/[\w/]+\.py)`")
        if not any(name.endswith(f"/{match[1]}") or name == match[1] for name in names)
    ]

    assert missing == []


def test_lines_of_our_own_code_are_those_of_the_code() -> None:
    page = (ROOT / "docs" / "decisions" / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| `([\w/.-]+)` \| ([\d,]+) \|", page, re.MULTILINE)

    assert len(rows) > 5
    for path, said in rows:
        code = ROOT / path
        files = [code] if code.is_file() else code.rglob("*.py")
        lines = sum(len(file.read_text("utf-8").splitlines()) for file in files)
        assert int(said.replace(",", "")) == pytest.approx(lines, rel=LINES_TOLERANCE), path


def test_table_of_tools_names_each_once() -> None:
    tools = (ROOT / "docs" / "guides" / "mcp.md").read_text("utf-8").partition("## Tools")[2]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", tools.partition("\n## ")[0], re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]

    assert sorted(named) == sorted(one["name"] for one in schemas("mcp"))
