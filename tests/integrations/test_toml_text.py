"""The TOML file of Codex is edited line by line: what others wrote keeps its bytes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from remembrancer.install.config_files import ConfigUnreadable, write
from remembrancer.install.toml_text import toml_change

NAMES = ("servers", "ours")
BODY = 'command = "python"\nargs = ["-m", "x"]\n'
TRUST = [("hooks", "state", "/h/hooks.json:stop:0:0"), ("hooks", "state", "/h/hooks.json:stop:0:1")]
TEXTS = [
    'model = "x"  # fast\n',
    'model = "x"',
    "# mine\n\n[servers.other]\ncommand = 'x'\n# end\n",
    "[servers]\n\n[[list]]\na = 1\n",
    'text = """\n[servers.ours]\n"""\r\n',
    "\n",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a file that does not exist."""
    return tmp_path / "config.toml"


@pytest.mark.parametrize("text", TEXTS)
def test_added_and_removed_table_leaves_the_same_bytes(path: Path, text: str) -> None:
    path.write_bytes(text.encode())

    write([toml_change(path, NAMES, BODY)])
    installed = tomllib.loads(path.read_bytes().decode())
    again = toml_change(path, NAMES, BODY)
    write([toml_change(path, NAMES, None)])

    assert installed["servers"]["ours"] == tomllib.loads(BODY)
    assert again.before == again.after
    assert path.read_bytes() == text.encode()


def test_tables_that_codex_adds_survive_the_removal(path: Path) -> None:
    """Codex appends the trust in a folder and in hooks behind the last table."""

    def trust(file: str, number: int) -> str:
        return f'\n[hooks.state."/h/{file}.json:stop:0:{number}"]\ntrusted_hash = "1"\n'

    project = '\n[projects."/p"]\ntrust_level = "trusted"\n'
    ours = trust("hooks", 0) + trust("hooks", 1)
    for others in ("", trust("other", 0)):
        path.write_text("a = 1\n", "utf-8")
        write([toml_change(path, NAMES, BODY)])
        added = f"{project}\n[hooks.state]\n{ours}{others}"
        path.write_text(path.read_text("utf-8") + added, "utf-8")

        write([toml_change(path, NAMES, None, obsolete=TRUST)])

        kept = f"\n[hooks.state]\n{others}" if others else ""
        assert path.read_text("utf-8") == f"a = 1\n{project}{kept}"


def test_file_that_cannot_be_edited_is_refused(path: Path) -> None:
    """A table of the user is not removed, either."""
    own = "[servers.ours]\na = 1\n"
    for text, message in (
        ("a = ", "not valid TOML"),
        (own, "already has `servers.ours`"),
        ("servers = {ours = {a = 1}}\n", "already has"),
        ("servers = {other = {a = 1}}\n", "not valid TOML|cannot be edited"),
    ):
        path.write_text(text, "utf-8")
        with pytest.raises(ConfigUnreadable, match=message):
            toml_change(path, NAMES, BODY)
    path.write_text(own, "utf-8")
    change = toml_change(path, NAMES, None)
    assert change.before == change.after
