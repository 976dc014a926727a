"""Rooms import only rooms to their left (docs/explanation/architecture.md)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from house.rooms import PLACES, SENTENCE, violations
from house.tree import CODE, PACKAGE, ROOT, package, sources


def test_every_room_imports_only_rooms_to_its_left() -> None:
    assert violations(package()) == []


def test_the_sentence_in_the_documentation_is_the_one_that_is_checked() -> None:
    assert SENTENCE in (ROOT / "docs/explanation/architecture.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("file", "line", "found"),
    [
        ("cubes/propose.py", "from ..entrypoints import http", ["cubes/propose.py:1 imports entrypoints"]),
        ("cubes/propose.py", "from .. import entrypoints", ["cubes/propose.py:1 imports entrypoints"]),
        ("cubes/propose.py", "import remembrancer.memory.recall", ["cubes/propose.py:1 imports memory"]),
        ("cubes/propose.py", "def late():\n    from ..agent import chat", ["cubes/propose.py:2 imports agent"]),
        ("store/sqlite.py", "from ..search import index", ["store/sqlite.py:1 imports search"]),
        ("client/api.py", "from ..settings import read", ["client/api.py:1 imports settings"]),
        ("memory/recall.py", "from ..client import Client", ["memory/recall.py:1 imports client"]),
        ("entrypoints/chat.py", "from ..client import Client", []),
        ("status.py", "from .entrypoints import http", ["status.py:1 imports entrypoints"]),
        ("testing.py", "from .entrypoints import http", ["testing.py:1 imports entrypoints"]),
        ("__init__.py", "from .memory import recall", ["__init__.py:1 imports memory"]),
        ("plugins/one.py", "", ["plugins/one.py is in no room that the sentence names"]),
        ("memory/recall.py", "from ..cubes import votes\nfrom . import spaces\nimport json", []),
        ("client/api.py", "from ..protocol.memory import Hit", []),
    ],
)
def test_the_rule_bites(tmp_path: Path, file: str, line: str, found: list[str]) -> None:
    """A rule that finds nothing may be one that looks at nothing."""
    written = tmp_path / PACKAGE / file
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(line, "utf-8")

    assert violations(sources(tmp_path / PACKAGE, top=PACKAGE)) == [f"{PACKAGE}/{one}" for one in found]


@pytest.mark.parametrize("room", [room for room in ("protocol", "client") if (CODE / room).is_dir()])
def test_what_both_sides_share_loads_no_other_room(room: str) -> None:
    """In a fresh process, so that nothing else has been imported before."""
    modules = ", ".join(source.module for source in package() if source.room == room)
    said = subprocess.run(
        [sys.executable, "-c", f"import sys, {modules}; print(*sys.modules)"], capture_output=True, text=True, check=True
    ).stdout

    loaded = {name.split(".")[1] for name in said.split() if name.startswith(f"{PACKAGE}.")}
    assert loaded & set(PLACES) <= {"protocol"}
