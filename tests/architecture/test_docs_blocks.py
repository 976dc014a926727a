"""Run every code block of the README and the documentation (see blocks.py)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from architecture.blocks import Runner, blocks
from architecture.conftest import RunningServer
from architecture.tree import ROOT, relative

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NOT_RUN_MAX = 3  # blocks in the whole documentation


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


def test_at_most_three_blocks_are_not_run() -> None:
    left_out = [
        block
        for page in PAGES
        for block in blocks(page.read_text("utf-8"), relative(page))
        if block.reason is not None
    ]

    assert len(left_out) <= NOT_RUN_MAX
    assert [block.place for block in left_out if len((block.reason or "").split()) < 3] == []


def test_pages_that_use_a_key_in_a_variable_say_before_where_it_comes_from() -> None:
    """`remembrancer login` saves a file; that `curl` reads a variable is said on each page."""
    silent = []
    for page in PAGES:
        text = page.read_text("utf-8")
        use = re.search(r'(?<!`)\$KEY\b|environ\["KEY"\]', text)
        if use is None or page.parent.name not in ("guides", "tutorial"):
            continue
        before = text[: use.start()]
        if not re.search(r"keys\.md#use-a-key-in-the-shell\b|\bKEY=", before):
            silent.append(relative(page))

    assert silent == []


def test_internal_links_resolve() -> None:
    broken = [
        f"{relative(page)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]

    assert broken == []
