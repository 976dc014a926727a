"""Every block of the README and the documentation is run (blocks.py says how)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from house.blocks import Runner, blocks
from house.tree import ROOT, relative

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NOT_RUN_MAX = 3  # in the whole documentation


@dataclass(frozen=True, slots=True)
class Served:
    """A server on a fresh data folder, as `make run` starts it."""

    url: str
    key: str
    data: Path


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Starts one server for all pages and takes its address and key from the lines it prints."""
    data = tmp_path_factory.mktemp("data")
    environment = {**os.environ, "REMEMBRANCER_DATA": str(data)}
    with subprocess.Popen(
        [sys.executable, "-m", "remembrancer", "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        said = ""
        for line in process.stdout or ():
            said += line
            if "/api/v7/memory" in line:
                break
        url, key = re.search(r"http://[\d.:]+", said), re.search(r"sk_[0-9a-f]{64}", said)
        try:
            assert url, f"{said}{process.stderr and process.poll() and process.stderr.read()}"
            assert key, said
            yield Served(url[0], key[0], data)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_what_the_page_shows_is_so(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Issue: 'every code block of README and docs is run by a test'."""
    found = blocks(page.read_text("utf-8"), relative(page))
    if not found:
        return
    served: Served = request.getfixturevalue("served")
    runner = Runner(tmp_path, url=served.url, key=served.key, data=served.data)

    for block in found:
        runner.run(block)


def test_hardly_any_block_is_left_out() -> None:
    left_out = [block for page in PAGES for block in blocks(page.read_text("utf-8"), relative(page)) if block.reason is not None]

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
