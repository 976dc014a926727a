"""The way from mem0: its own client beside ours, then its memories in this service.

docs/guides/import.md, "Move from mem0, Zep or Letta", with mem0 itself instead of a written file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from architecture.tree import ROOT
from command import Cli
from frameworks.conftest import Place
from frameworks.environments import python_of
from frameworks.test_frameworks_guide import run

PROGRAM = ROOT / "tests" / "frameworks" / "programs" / "mem0_side_by_side.py"


def test_same_calls_give_the_same_and_its_memories_are_imported(
    place: Place, tmp_path: Path, environment: Callable[..., dict[str, str]]
) -> None:
    (folder := tmp_path / "theirs").mkdir()
    variables = environment() | {"KEY": place.key, "PYTHONPATH": str(ROOT / "src")}
    printed = run([python_of("mem0"), str(PROGRAM), place.url, str(folder)], tmp_path, variables)
    theirs, ours = (json.loads(line) for line in printed.splitlines() if line.startswith("{"))

    assert theirs["found"] == ours["found"] == "Prefers a window seat on trains"
    assert theirs["filtered"] == ours["filtered"] == ["Is allergic to peanuts"]
    assert theirs["left"] == ours["left"] == 1
    # What differs: a changed memory is overwritten there; here both wordings stay, with their times.
    assert theirs["changes"] == ["ADD", "UPDATE"]
    assert sorted(ours["changes"]) == ["current", "superseded"]

    cli = Cli(tmp_path / "new", EMBEDDER="none")
    assert cli("keys create --account owner").returncode == 0
    imported = cli("import", str(folder / "mem0.json"))
    assert imported.returncode == 0, imported.stderr
    exported = cli("export", str(tmp_path / "out.zip"))
    assert exported.returncode == 0, exported.stderr
    members = run(["unzip", "-p", str(tmp_path / "out.zip"), "facts.jsonl"], tmp_path, variables)
    facts = {line["text"]: line["metadata"] for line in map(json.loads, members.splitlines())}
    assert {text: facts[text]["about"] for text in facts} == {
        "Prefers a window seat on trains": "travel",
        "Is allergic to peanuts": "food",
    }
