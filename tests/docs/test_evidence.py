"""docs/evidence.md: each cell of the public comparison has a proof in this repository."""

from __future__ import annotations

import re

from architecture.tree import ROOT

PAGE = (ROOT / "docs" / "evidence.md").read_text("utf-8")
PATH = re.compile(r"`((?:src|tests|docs|bench|integrations)/[\w./-]+)`")


def test_each_cell_has_a_proof_and_each_proof_exists() -> None:
    cells = re.findall(r"(?ms)^### ([^\n]+) ✅\n(.*?)(?=^##|\Z)", PAGE)

    assert len(cells) > 30
    assert [name for name, proofs in cells if not PATH.findall(proofs)] == []
    assert [path for path in PATH.findall(PAGE) if not (ROOT / path).exists()] == []
