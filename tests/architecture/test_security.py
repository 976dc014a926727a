"""docs/SECURITY.md: every item of the lists of OWASP is answered."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ITEMS = {
    *(f"API{n}" for n in range(1, 11)),
    *(f"LLM{n:02}" for n in range(1, 11)),
    *(f"ASI{n:02}" for n in range(1, 11)),
}
TEST = re.compile(r"`tests/[\w/]+\.py(?:::test_\w+)?`")


def rows() -> dict[str, list[str]]:
    """Return the cells of each row of the tables, by the code of its item."""
    lines = (ROOT / "docs" / "SECURITY.md").read_text("utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    return {row[0].split()[0]: row for row in cells if row[0].split()[0] in ITEMS}


def test_every_item_says_what_is_done_shown_by_which_tests_and_what_is_not_covered() -> None:
    listed = rows()

    assert set(listed) == ITEMS
    assert [code for code, row in listed.items() if len(row) != 4 or not all(row)] == []
    assert [code for code, row in listed.items() if not TEST.search(row[2])] == []
