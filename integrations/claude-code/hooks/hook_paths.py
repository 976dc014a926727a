"""System files that a tool call accesses: these need a grant of the owner.

A command line is interpreted, not executed: what a program computes for itself is not detected.
"""

from __future__ import annotations

from hook_locations import Location
from hook_patches import patch_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["TARGETS_MAX", "Location", "accessed_paths"]

TARGETS_MAX = 20  # checks for one call
_SHELL_TOOLS = frozenset(
    "bash shell local_shell local_shell_call exec_command shell_command container.exec "
    "unified_exec write_stdin run_terminal_cmd run_shell_command execute_command terminal "
    "powershell".split()
)
_PATCH_TOOLS = frozenset(("apply_patch", "applypatch", "apply-patch"))


def accessed_paths(
    tool: str, arguments: dict[str, Any], location: Location
) -> list[tuple[str, str]]:
    """Return the distinct paths and actions of a tool call that need a grant."""
    targets: list[tuple[str, str] | None] = []
    name = tool.lower()
    if name in _SHELL_TOOLS:
        from hook_programs import interpret

        return interpret(_command_text(arguments), _called_in(arguments, location))
    if name in _PATCH_TOOLS:
        here = _called_in(arguments, location)
        patch = _command_text(arguments)
        targets += [here.target(path, action) for path, action in patch_paths(patch)]
    else:
        if name in ("read", "read_file"):
            action = "read"
        else:
            action = "delete" if name in ("delete", "delete_file") else "write"
        for argument in ("file_path", "notebook_path", "path", "target_file"):
            if isinstance(arguments.get(argument), str):
                targets.append(location.target(arguments[argument], action))
    return list(dict.fromkeys(target for target in targets if target))


def _called_in(arguments: dict[str, Any], location: Location) -> Location:
    """Return the location with the working folder that the call names."""
    for name in ("workdir", "working_directory", "cwd", "directory"):
        folder = arguments.get(name)
        if isinstance(folder, str) and folder:
            path = location.expand_home(folder)
            cwd = path if path.startswith("/") else f"{location.cwd}/{path}"
            return Location(cwd, location.projects, location.home)
    return location


def _command_text(arguments: dict[str, Any]) -> str:
    names = ("command", "cmd", "input", "patch", "chars")
    command = next((arguments[name] for name in names if arguments.get(name)), "")
    if isinstance(command, list):
        # A program with its arguments: each is one word.
        return " ".join("'" + str(word).replace("'", "'\\''") + "'" for word in command)
    return str(command)
