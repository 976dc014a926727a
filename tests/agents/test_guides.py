"""The commands of the guides, run as written, are enough for the real agents."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from agents.claude_code import ClaudeCode
from agents.codex import Codex, trust_hooks
from agents.conftest import RunningService, new_home, program

import remembrancer

pytestmark = pytest.mark.agents

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "coding-agents.md"
START_PACK = "# Constitution and protocol"


def commands(heading: str) -> str:
    """Return the first shell commands below a heading of the guide."""
    text = GUIDE.read_text("utf-8")
    section = re.split(r"^## ", text.partition(f"\n## {heading}\n")[2], flags=re.MULTILINE)[0]
    return str(re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)[0])


@pytest.fixture
def empty_home() -> Iterator[Path]:
    """A home without a key and without settings."""
    with new_home() as path:
        yield path


def run_commands(text: str, home: Path, service: RunningService) -> None:
    """Run commands of a guide as a user of this home, with the address of the test's service."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("REMEMBRANCER", "XDG_"))
    }
    subprocess.run(
        ["sh", "-eu", "-c", text.replace("http://127.0.0.1:8460", service.url)],
        env=inherited
        | {
            "HOME": str(home),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(Path(remembrancer.__file__).parents[1]),
            "REMEMBRANCER_DATA": str(service.context.settings.data_folder),
        },
        check=True,
        capture_output=True,
        timeout=60,
    )


def traces(home: Path) -> list[str]:
    """Return what is left of the service in a home; logs and transcripts belong to the agent."""
    patterns = (
        ".config/remembrancer",
        ".local/state/remembrancer",
        ".claude/settings.json",
        ".claude/skills",
        ".codex/hooks.json",
        ".codex/config.toml",
    )
    return [name for name in patterns if (home / name).exists()]


def test_guide_for_claude_code_works_as_written(service: RunningService, empty_home: Path) -> None:
    claude = ClaudeCode(program("claude-code"), empty_home, key=None)

    run_commands(commands("Claude Code"), empty_home, service)
    run = claude.run("Hello?", ["Hello."])
    run_commands(commands("Uninstall").replace("zed", "claude-code"), empty_home, service)
    after = claude.run("Hello?", ["Hello."])

    assert START_PACK in run.model_text()
    assert run.servers == {"remembrancer": "connected"}
    assert START_PACK not in after.model_text()
    assert after.servers == {}
    assert traces(empty_home) == []


def test_guide_for_codex_works_as_written(service: RunningService, empty_home: Path) -> None:
    codex = Codex(program("codex"), empty_home, key=None)

    run_commands(commands("Codex"), empty_home, service)
    trust_hooks(codex)
    run = codex.run("Hello?", ["Hello."], is_trusted=False)
    run_commands(commands("Uninstall").replace("zed", "codex"), empty_home, service)

    assert START_PACK in run.model_text()
    assert traces(empty_home) == []
