"""System files that a tool call accesses: these need a grant of the owner.

Tools of MCP servers are known by nothing but the names of the tool and of its arguments.
A command line is interpreted, not executed: what a program computes for itself is not detected.
"""

from __future__ import annotations

import itertools
import re

from shell.locations import Location
from shell.patches import patch_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["TARGETS_MAX", "Location", "accessed_paths"]

TARGETS_MAX = 20  # checks for one call
_SHELL_TOOLS = frozenset(
    "bash shell local_shell local_shell_call exec_command shell_command container.exec "
    "unified_exec write_stdin run_terminal_cmd run_shell_command execute_command terminal "
    "powershell".split()
)
_PATCH_TOOLS = frozenset(("apply_patch", "applypatch", "apply-patch"))
_MCP = re.compile(r"mcp(?::|__?(?:(?P<server>.*)__|[^_]*_)?)(?P<tool>\w+)", re.ASCII)
# Words in the names of tools and arguments of MCP servers.
_LOOKS = frozenset("list ls tree stat info exists glob directories directory".split())
_READS = frozenset("read get cat open load view show search grep query fetch head tail".split())
_DELETES = frozenset("delete remove unlink rm rmdir erase trash".split())
_COMMANDS = frozenset(("command", "cmd", "commandline"))
_PATHS = frozenset(
    "path paths file files filename filepath filepaths dir dirs directory directories folder "
    "folders uri url source destination src dst dest target root location from to".split()
)
_ARGUMENTS_MAX, _DEPTH_MAX = 200, 6  # of a call of an MCP tool that are looked at


def accessed_paths(
    tool: str, arguments: dict[str, Any], location: Location
) -> list[tuple[str, str]]:
    """Return the distinct paths and actions of a tool call that need a grant."""
    targets: list[tuple[str, str] | None] = []
    name = tool.lower()
    if name in _SHELL_TOOLS:
        from shell.programs import interpret

        return interpret(_command_text(arguments), _called_in(arguments, location))
    if name in _PATCH_TOOLS:
        here = _called_in(arguments, location)
        patch = _command_text(arguments)
        targets += [here.target(path, action) for path, action in patch_paths(patch)]
    elif match := _MCP.fullmatch(name):
        if match["server"] == "remembrancer":
            return []
        return _mcp_paths(match["tool"], arguments, _called_in(arguments, location))
    else:
        if name in ("read", "read_file"):
            action = "read"
        else:
            action = "delete" if name in ("delete", "delete_file") else "write"
        for argument in ("file_path", "notebook_path", "path", "target_file"):
            if isinstance(arguments.get(argument), str):
                targets.append(location.target(arguments[argument], action))
    return list(dict.fromkeys(target for target in targets if target))


def _mcp_paths(tool: str, arguments: dict[str, Any], location: Location) -> list[tuple[str, str]]:
    """Return the paths and actions of a call of an MCP tool, as its names tell."""
    words = set(tool.split("_"))
    action = next(
        (
            action
            for action, some in (("delete", _DELETES), ("list", _LOOKS), ("read", _READS))
            if words & some
        ),
        "write",
    )
    targets: list[tuple[str, str] | None] = []
    for name, value in itertools.islice(_strings(arguments), _ARGUMENTS_MAX):
        names = set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()))
        if names & _COMMANDS:
            from shell.programs import interpret

            targets += interpret(value, location)
        elif names & _PATHS and "\n" not in value:
            path = re.sub(r"^file:/*(?=/)", "", value)
            targets += [] if "://" in path else [location.target(path, action)]
    return list(dict.fromkeys(target for target in targets if target))


def _strings(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the strings in the arguments of a call, with the name of each.

    A command in two parts, `command` and a list `args`, is one.
    """
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict) and depth < _DEPTH_MAX:
        for key, one in value.items():
            words = one if isinstance(one, list) else value.get("args")
            if key in _COMMANDS and isinstance(words, list):
                start = f"{one} " if isinstance(one, str) else ""
                yield str(key), start + _quoted(words)
            else:
                yield from _strings(one, str(key), depth + 1)
    elif isinstance(value, list) and depth < _DEPTH_MAX:
        for one in value:
            yield from _strings(one, name, depth + 1)


def _called_in(arguments: dict[str, Any], location: Location) -> Location:
    """Return the location with the working folder that the call names."""
    for name in ("workdir", "working_directory", "cwd", "directory"):
        folder = arguments.get(name)
        if isinstance(folder, str) and folder:
            path = location.expand_home(folder)
            cwd = path if path.startswith("/") else f"{location.cwd}/{path}"
            return location.moved(cwd)
    return location


def _command_text(arguments: dict[str, Any]) -> str:
    names = ("command", "cmd", "input", "patch", "chars")
    command = next((arguments[name] for name in names if arguments.get(name)), "")
    if isinstance(command, list):
        return _quoted(command)
    return str(command)


def _quoted(words: list[Any]) -> str:
    """Return a program with its arguments, or these alone, as text: each is one word."""
    return " ".join("'" + str(word).replace("'", "'\\''") + "'" for word in words)
