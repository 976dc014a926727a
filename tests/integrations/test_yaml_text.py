"""The YAML file of Goose is edited line by line: what others wrote keeps its bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from remembrancer.install.config_files import ConfigUnreadable, write
from remembrancer.install.yaml_text import yaml_change

NAMES = ("extensions", "ours")
ENTRY = {"type": "stdio", "enabled": True, "args": ["-m", "x: #y"], "envs": {}}
TEXTS = [
    "a: 1\n",
    "a: 1",
    "---\na: 1\n",
    "# mine\n\na: 1  # one\n",
    "extensions: {}\na: 1\n",
    "extensions: {} # none\r\na: 1\r\n",
    "extensions:\n",
    "a: 1\nextensions:\n    other:\n        enabled: true\n",
    "extensions:\n  # first\n\n  other: {enabled: true}\n  # last\n\n# end\nb:\n  - x\n  - y",
    "b:\n- x\n- y\nextensions:\n  other:\n    text: |\n      one\n\n      two\nc: 'd: e'\n".replace(
        "- ", "  - "
    ),
    'text: "a\n  b"\nextensions:\n  ours2: {}\n',
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a file that does not exist."""
    return tmp_path / "config.yaml"


@pytest.mark.parametrize("text", TEXTS)
def test_added_and_removed_entry_leaves_the_same_bytes(path: Path, text: str) -> None:
    path.write_bytes(text.encode())
    before = yaml.safe_load(text)

    write([yaml_change(path, NAMES, ENTRY)])
    installed = yaml.safe_load(path.read_bytes())
    again = yaml_change(path, NAMES, ENTRY)
    write([yaml_change(path, NAMES, None)])

    assert installed == {
        **before,
        "extensions": {**(before.get("extensions") or {}), "ours": ENTRY},
    }
    assert again.before == again.after
    assert path.read_bytes() == text.encode()


def test_file_that_cannot_be_edited_is_refused(path: Path) -> None:
    for text in (
        "extensions: {a: 1}\n",
        "extensions: &x\n  a: 1\n",
        "extensions:\n  a: 1\nextensions:\n  b: 1\n",
        "extensions:\n  ours: 1\n  ours: 2\n",
        "extensions:\n    a: 1\n  b: 1\n",
        "{extensions: {}}\n",
        "just text\n",
    ):
        path.write_text(text, "utf-8")
        with pytest.raises(ConfigUnreadable, match="Nothing was written"):
            yaml_change(path, NAMES, ENTRY)
