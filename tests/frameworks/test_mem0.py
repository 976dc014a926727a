"""docs/guides/from-mem0.md: mem0's own client beside ours, then its memories in this service."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from architecture.blocks import blocks
from architecture.tree import ROOT
from command import Cli
from frameworks.conftest import Place
from frameworks.environments import python_of
from frameworks.test_frameworks_guide import run

PAGE = ROOT / "docs" / "guides" / "from-mem0.md"
PROGRAMS = ROOT / "tests" / "frameworks" / "programs"


def test_programs_of_the_guide_print_what_it_shows_and_memories_are_imported(
    place: Place, tmp_path: Path, environment: Callable[..., dict[str, str]]
) -> None:
    """mem0's `Memory()` needs a model; here it is one with its own store and no model."""
    page = blocks(PAGE.read_text("utf-8"), PAGE.name)
    theirs, ours, export = (block.text for block in page if block.language == "python")
    their_output, our_output = (block.text for block in page if block.language == "text")
    variables = environment() | {
        "MEM0_FOLDER": str(tmp_path),
        "PYTHONPATH": f"{ROOT / 'src'}:{PROGRAMS}",
    }

    def printed(program: str) -> str:
        offline = program.replace(
            "from mem0 import Memory", "from mem0_offline import memory as Memory"
        )
        return run([python_of("mem0"), "-c", place.addressed(offline)], tmp_path, variables)

    assert printed(theirs) == their_output
    assert printed(ours) == our_output
    printed(export)

    written = json.loads((tmp_path / "mem0.json").read_text("utf-8"))
    cli = Cli(tmp_path / "new", EMBEDDER="none")
    assert cli("keys create --account owner").returncode == 0
    imported = cli("import", str(tmp_path / "mem0.json"))
    assert imported.returncode == 0, imported.stderr
    exported = cli("export", str(tmp_path / "out.zip"))
    assert exported.returncode == 0, exported.stderr
    members = run(["unzip", "-p", str(tmp_path / "out.zip"), "facts.jsonl"], tmp_path, variables)
    [fact] = map(json.loads, members.splitlines())
    assert [one["memory"] for one in written["results"]] == [fact["text"]]
    assert (fact["text"], fact["user_id"]) == ("Lives in Bergen by the harbour", "ingrid")
    assert fact["metadata"] == {"about": "home"}
