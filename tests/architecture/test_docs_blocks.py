"""Run every code block of the README and the documentation (see blocks.py)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from architecture.blocks import Runner, blocks
from architecture.conftest import RunningServer
from architecture.tree import ROOT, relative

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_code_block_of_a_page_works(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    page_blocks = blocks(page.read_text("utf-8"), relative(page))
    if not page_blocks:
        return
    served: RunningServer = request.getfixturevalue("served")
    model_url: str = request.getfixturevalue("model_url")
    runner = Runner(tmp_path, url=served.url, key=served.key, data=served.data, model_url=model_url)

    for block in page_blocks:
        runner.run(block)


def test_internal_links_resolve() -> None:
    broken = [
        f"{relative(page)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]

    assert broken == []
