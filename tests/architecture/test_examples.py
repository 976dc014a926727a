"""The examples run as their pages show them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from architecture.conftest import Served
from architecture.tree import ROOT

from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.settings import read

needs_langgraph = pytest.mark.skipif(
    find_spec("langgraph") is None, reason="LangGraph is not installed: pip install '.[examples]'"
)


def test_forty_turns_go_as_their_page_tells(served: Served, tmp_path: Path) -> None:
    """Issue: 'its transcript is a page of the docs, made by the docs test'.

    Where it differs, take the new one and read it.
    """
    records = open_records(read({"REMEMBRANCER_DATA": str(served.data)}))
    agent, *voters = [keys.create(records, account=f"forty-{n}").key.reveal() for n in range(4)]
    records.close()
    script = ROOT / "examples" / "forty_turns.py"
    environment = {**os.environ, "KEY": agent, "VOTERS": " ".join(voters)}

    done = subprocess.run(
        [sys.executable, str(script), served.url],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    made = tmp_path / "forty-turns.md"
    made.write_text(done.stdout, "utf-8")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (ROOT / "docs" / "tutorial" / "forty-turns.md").read_text("utf-8"), (
        f"the new transcript is {made}"
    )


def test_the_memory_tool_keeps_files_as_its_page_shows(served: Served) -> None:
    """Issue: 'Anthropic memory tool adapter [...] in the SDK', 'shown by a runnable example'."""
    page = (ROOT / "docs" / "guides" / "memory-tool.md").read_text("utf-8")
    told = page.rpartition("```text\n")[2].partition("```\n")[0]
    records = open_records(read({"REMEMBRANCER_DATA": str(served.data)}))
    key = keys.create(records, account="memory-tool").key.reveal()
    records.close()

    done = subprocess.run(
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

    assert (done.stderr, done.stdout) == ("", told)


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
def test_a_conversation_goes_the_same_way_through_every_adapter(served: Served, name: str) -> None:
    """Issue: 'Adapters, thin: [...] each shown by a runnable example with a scripted model'."""
    page = (ROOT / "docs" / "guides" / "adapters.md").read_text("utf-8")
    told = page.rpartition("```text\n")[2].partition("```\n")[0]
    records = open_records(read({"REMEMBRANCER_DATA": str(served.data)}))
    key = keys.create(records, account=name).key.reveal()
    records.close()

    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / f"{name}.py"), served.url],
        env={**os.environ, "KEY": key},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert done.stderr == ""
    assert re.sub(r"e_\w+", "e_1", done.stdout) == told
