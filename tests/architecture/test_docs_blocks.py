"""Every block of the README and the documentation is run (blocks.py says how)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from architecture.blocks import Runner, blocks
from architecture.conftest import Served
from architecture.tree import ROOT, relative

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NOT_RUN_MAX = 3  # in the whole documentation


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_what_the_page_shows_is_so(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Issue: 'every code block of README and docs is run by a test'."""
    found = blocks(page.read_text("utf-8"), relative(page))
    if not found:
        return
    served: Served = request.getfixturevalue("served")
    model_url: str = request.getfixturevalue("model_url")
    runner = Runner(tmp_path, url=served.url, key=served.key, data=served.data, model_url=model_url)

    for block in found:
        runner.run(block)


def test_hardly_any_block_is_left_out() -> None:
    left_out = [
        block
        for page in PAGES
        for block in blocks(page.read_text("utf-8"), relative(page))
        if block.reason is not None
    ]

    assert len(left_out) <= NOT_RUN_MAX
    assert [block.place for block in left_out if len((block.reason or "").split()) < 3] == []


def test_every_link_within_the_documentation_leads_somewhere() -> None:
    broken = [
        f"{relative(page)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]

    assert broken == []
