"""Fuzz target: the permission hook reads any command, and misses no command beside it.

A case is a shell command, a patch, or a path.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import hook_paths
from shell import parser, values, word_parser

from remembrancer.protocol.permissions import normal_path, normal_scope

PROJECT = "/nonexistent/ada/garden"
_LOCATION = hook_paths.Location(PROJECT, [PROJECT], "/nonexistent/ada")
_TABLES = Path(__file__).parents[1] / "integrations" / "shell" / "commands"
_ACTIONS = {"read", "write", "exec", "delete"}
_CHARACTERS_MAX = 2_000


def seeds() -> Iterator[bytes]:
    """Yield the commands of the tables."""
    for file in sorted(_TABLES.glob("devious_*.txt")):
        for case in file.read_text("utf-8").split("\n=== ")[1:]:
            yield case.partition("\n")[2].encode()
    for file in sorted(_TABLES.glob("ordinary_*.txt")):
        single, _, several = file.read_text("utf-8").partition("=== several lines\n")
        for command in (*single.splitlines(), *several.rstrip("\n").split("\n===\n")):
            yield command.encode()


def check(data: bytes) -> None:
    """Read a command. Raises AssertionError if a write before or in it is not announced."""
    text = data.decode("utf-8", "replace")[:_CHARACTERS_MAX]
    targets = _targets("Bash", command=text)
    if ("/bin/sh", "exec") in targets:
        return  # too long, or unreadable: it needs a grant of its own
    assert ("/etc/aa", "write") in _targets("Bash", command=f"echo x > /etc/aa\n{text}")
    assert ("/etc/aa", "write") in _targets("Bash", command=f"(\n{text}\n) > /etc/aa\n") or (
        "<<" in text or not _is_closed(text)  # a here-document may hold the end of the group
    )
    _targets("apply_patch", input=text)
    _targets("Write", file_path=text)
    _check_scope(text)


def _targets(tool: str, **arguments: str) -> list[tuple[str, str]]:
    targets = hook_paths.accessed_paths(tool, arguments, _LOCATION)
    for path, action in targets:
        assert path.startswith("/"), path
        assert action in _ACTIONS
    return targets


def _is_closed(text: str) -> bool:
    """Return True if a group around the text is a group: its words leave no quote or list open."""
    try:
        parsed = parser.parse(values.script_text(f"(\n{text}\n) > /etc/aa\n"), 1)
    except word_parser.ShellSyntaxError:
        return False
    return len(parsed) == 1 and parsed[0][1][0].kind == "subshell"


def _check_scope(text: str) -> None:
    for normal in (normal_path, normal_scope):
        try:
            path = normal(text)
        except ValueError:
            continue
        assert path.startswith("/")
        assert normal(path) == path
        assert not {"..", ""} & set(path.strip("/").split("/")) or path == "/"
