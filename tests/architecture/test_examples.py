"""The examples print what their pages show."""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from architecture.blocks import Runner, blocks
from architecture.conftest import RunningServer
from architecture.tree import ROOT, relative
from command import captured

from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.settings import read

needs_langgraph = pytest.mark.skipif(
    find_spec("langgraph") is None, reason="LangGraph is not installed: pip install '.[examples]'"
)


def run(served: RunningServer, name: str, **accounts: list[str]) -> str:
    """Run an example with a new key for each account, by variable; return its output."""
    records = open_records(read({"REMEMBRANCER_DATA": str(served.data)}))
    own = {
        variable: " ".join(keys.create(records, account=one).key.reveal() for one in names)
        for variable, names in accounts.items()
    }
    records.close()
    process = captured(
        [sys.executable, "-W", "error", str(ROOT / "examples" / f"{name}.py"), served.url],
        env={**os.environ, **own},
        timeout=120,
    )
    assert (process.returncode, process.stderr) == (0, "")
    return process.stdout


def shown(page: str) -> str:
    """Return the last output that a page of docs/ shows."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    return text.rpartition("```text\n")[2].partition("```\n")[0]


@pytest.mark.parametrize(
    ("name", "title", "accounts"),
    [
        ("forty_turns", "forty-turns", {"KEY": ["a"], "VOTERS": ["b", "c", "d"]}),
        ("two_users", "two-users-two-sessions", {"KEY": ["two"], "OTHER": ["other"]}),
        ("a_day", "a-day", {"KEY": ["day"], "OTHER": ["carla"]}),
    ],
)
def test_page_is_the_output_of_its_example(
    served: RunningServer, tmp_path: Path, name: str, title: str, accounts: dict[str, list[str]]
) -> None:
    """If it differs, review the new page and copy it."""
    page = tmp_path / f"{title}.md"
    page.write_text(run(served, name, **accounts), "utf-8")

    written = ROOT / "docs" / "tutorial" / page.name
    assert page.read_text("utf-8") == written.read_text("utf-8"), f"the new page is {page}"


def test_memory_tool_example_matches_its_page(served: RunningServer) -> None:
    output = run(served, "anthropic_memory_tool", KEY=["memory-tool"])

    assert output == shown("guides/mcp.md")


@pytest.mark.parametrize(
    "name",
    [
        "openai_chat",
        "openai_responses",
        "async_anthropic_messages",
        "async_pydantic_ai_agent",
        pytest.param("langgraph_node", marks=needs_langgraph),
        pytest.param("langgraph_graph", marks=needs_langgraph),
    ],
)
def test_every_adapter_prints_the_same_conversation(served: RunningServer, name: str) -> None:
    output = run(served, name, KEY=[name])

    assert re.sub(r"e_\w+", "e_1", output) == shown("tutorial/examples.md")


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
