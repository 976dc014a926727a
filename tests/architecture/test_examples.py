"""The examples print what their pages show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from architecture.conftest import RunningServer
from architecture.tree import ROOT

from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.settings import read

needs_langgraph = pytest.mark.skipif(
    find_spec("langgraph") is None, reason="LangGraph is not installed: pip install '.[examples]'"
)


def test_forty_turns_example_matches_its_page(served: RunningServer, tmp_path: Path) -> None:
    """The page is the transcript of this run. If it differs, review the new one and copy it."""
    records = open_records(read({"REMEMBRANCER_DATA": str(served.data)}))
    agent, *voters = [keys.create(records, account=f"forty-{n}").key.reveal() for n in range(4)]
    records.close()
    script = ROOT / "examples" / "forty_turns.py"
    environment = {**os.environ, "KEY": agent, "VOTERS": " ".join(voters)}

    process = subprocess.run(
        [sys.executable, str(script), served.url],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    transcript = tmp_path / "forty-turns.md"
    transcript.write_text(process.stdout, "utf-8")
    assert process.returncode == 0, process.stderr
    assert process.stdout == (ROOT / "docs" / "tutorial" / "forty-turns.md").read_text("utf-8"), (
        f"the new transcript is {transcript}"
    )


def test_two_users_match_their_page(served: RunningServer, tmp_path: Path) -> None:
    """The page is the output of this run. If it differs, review the new one and copy it."""
    records = open_records(read({"REMEMBRANCER_DATA": str(served.data)}))
    agent, other = (keys.create(records, account=f"two-{n}").key.reveal() for n in range(2))
    records.close()
    script = ROOT / "examples" / "two_users.py"

    process = subprocess.run(
        [sys.executable, str(script), served.url],
        env={**os.environ, "KEY": agent, "OTHER": other},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    page = tmp_path / "two-users-two-sessions.md"
    page.write_text(process.stdout, "utf-8")
    expected = (ROOT / "docs" / "tutorial" / page.name).read_text("utf-8")
    assert process.returncode == 0, process.stderr
    assert process.stdout == expected, f"the new page is {page}"


def test_memory_tool_example_matches_its_page(served: RunningServer) -> None:
    page = (ROOT / "docs" / "guides" / "mcp.md").read_text("utf-8")
    expected = page.rpartition("```text\n")[2].partition("```\n")[0]
    records = open_records(read({"REMEMBRANCER_DATA": str(served.data)}))
    key = keys.create(records, account="memory-tool").key.reveal()
    records.close()

    process = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            str(ROOT / "examples" / "anthropic_memory_tool.py"),
            served.url,
        ],
        env={**os.environ, "KEY": key},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert (process.stderr, process.stdout) == ("", expected)


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
    page = (ROOT / "docs" / "tutorial" / "examples.md").read_text("utf-8")
    expected = page.rpartition("```text\n")[2].partition("```\n")[0]
    records = open_records(read({"REMEMBRANCER_DATA": str(served.data)}))
    key = keys.create(records, account=name).key.reveal()
    records.close()

    process = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / f"{name}.py"), served.url],
        env={**os.environ, "KEY": key},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert process.stderr == ""
    assert re.sub(r"e_\w+", "e_1", process.stdout) == expected
