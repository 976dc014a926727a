"""Add and remove our entries in JSON files and our sections of Markdown files.

Everything else in these files keeps its bytes.
"""

from __future__ import annotations

import contextlib
import difflib
import fcntl
import json
import os
import re
import secrets
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from .json_text import EditableJson, JsonTextError

Edit = Callable[[EditableJson], None]
BEGIN, END = "remembrancer: begin", "remembrancer: end"


def json_change(path: Path, edit: Edit, *, allows_comments: bool = False) -> Change:
    """Return the change of a JSON file by `edit`, in place. A file without content is deleted.

    Raises ConfigUnreadable.
    """
    before = text_of(path)
    try:
        document = EditableJson(before, allows_comments=allows_comments)
    except JsonTextError as error:
        comments = "" if allows_comments else " Comments are not supported."
        raise ConfigUnreadable(
            f"{path} is not valid JSON ({error}).{comments} Nothing was written."
        ) from error
    require_object(document, path)
    edit(document)
    return Change(path, before, document.text)


def require_object(document: EditableJson, path: Path, *names: str) -> None:
    """Raise ConfigUnreadable if there is a value other than an object at these names."""
    value = document.value(*names)
    if value is not None and not isinstance(value, dict):
        what = f"`{names[-1]}` must be an object" if names else "it must contain a JSON object"
        raise ConfigUnreadable(f"{path}: {what}. Nothing was written.")


def member_change(
    path: Path, names: tuple[str, ...], value: Any, *, allows_comments: bool = False
) -> Change:
    """Return the change of a JSON file that sets a member, or removes it if `value` is None.

    Raises ConfigUnreadable.
    """

    return json_change(
        path,
        lambda document: put_member(document, path, names, value),
        allows_comments=allows_comments,
    )


def put_member(document: EditableJson, path: Path, names: tuple[str, ...], value: Any) -> None:
    """Set a member of a JSON file, or remove it if `value` is None. Raises ConfigUnreadable."""
    for depth in range(1, len(names)):
        require_object(document, path, *names[:depth])
    if value is None:
        document.remove(names)
    else:
        document.put(names, value)


def part_change(path: Path, part: str | None, marks: tuple[str, str]) -> Change:
    """Return the change of a text file that sets our section, or removes it if `part` is None.

    Marker lines enclose the section; `marks` open and close a comment. Raises ConfigUnreadable.
    """
    before = text_of(path)
    text = before or ""
    begin, end = (f"{marks[0]} {mark}{marks[1]}" for mark in (BEGIN, END))
    markers = re.findall(rf"^{re.escape(begin)}$|^{re.escape(end)}$", text, re.MULTILINE)
    if markers not in ([], [begin, end]):
        raise ConfigUnreadable(
            f"{path}: the lines `{begin}` and `{end}` must occur once each, in this order. "
            "Nothing was written."
        )
    block = "" if part is None else f"{begin}\n{part.strip()}\n{end}\n"
    if markers:
        pattern = rf"(?P<above>\n?)^{re.escape(begin)}$.*?^{re.escape(end)}$\n?"
        after = re.sub(
            pattern,
            lambda match: f"{match['above']}{block}" if block else "",
            text,
            flags=re.MULTILINE | re.DOTALL,
        )
    else:
        # One line break, also behind a last line without one: removal takes it away again.
        after = f"{text}{chr(10) if text else ''}{block}" if block else text
    return Change(path, before, after or None)


ROOT = Path(__file__).parents[3]  # of the repository, if the package runs from it
PROGRAM = "remembrancer_hook.py"
NAME = "remembrancer"
DEFAULT_URL = "http://127.0.0.1:8460"
GATES = ("writes", "all", "off")  # what the hooks ask a grant for; the first is the default


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOptions:
    """Options of an installation.

    `home` is the folder of the user or of the project. `config_home` is the user's XDG_CONFIG_HOME;
    None means the default. `tools` are those that the agent lists, as `client.tools.chosen_tools`
    takes them, `gate` is one of GATES.
    """

    home: Path
    is_project: bool
    url: str
    remove: bool
    config_home: Path | None = None
    tools: str = "memory"
    gate: str = GATES[0]

    @property
    def config(self) -> Path:
        """The folder of the user's configuration."""
        return self.config_home or self.home / ".config"


def hook_command(agent: str, options: InstallOptions) -> str:
    """Return the shell command that runs the hook program with this Python."""
    words = [options.url] if options.url != DEFAULT_URL else []
    words += [f"--gate={options.gate}"] if options.gate != GATES[0] else []
    return _hook_program(PROGRAM, agent, *words)


def headers_command() -> str:
    """Return the shell command that prints the headers of MCP requests, with the key."""
    return _hook_program("remembrancer_headers.py")


def mcp_command(agent: str, options: InstallOptions, *, beside_hooks: bool = False) -> list[str]:
    """Return the words of the command that serves MCP over standard input and output.

    It reads the key from REMEMBRANCER_KEY or the agent's key file: no configuration contains one.
    `beside_hooks`: its texts leave to the hooks what they do.
    """
    words = ["--agent", agent, *(["--beside-hooks"] if beside_hooks else [])]
    words += ["--tools", options.tools, "--url", options.url]
    return [sys.executable, "-m", "remembrancer", "mcp", *words]


def folder() -> Path:
    """Return the folder with the agents' files, in the package or in the repository."""
    installed = Path(str(resources.files("remembrancer"))) / "integrations"
    return installed if installed.is_dir() else ROOT / "integrations"


def _hook_program(name: str, *arguments: str) -> str:
    """Return the shell command that runs a program of the hooks' folder with this Python."""
    program = folder() / "claude-code" / "hooks" / name
    return shlex.join([sys.executable, "-I", "-S", str(program), *arguments])


NO_FILE = "/dev/null"  # a missing file in diffs


class ConfigUnreadable(ValueError):
    """A file cannot be parsed or edited safely. It was not changed."""


class ScopeUnsupported(ValueError):
    """The application cannot be configured for this scope."""


class FileChanged(RuntimeError):
    """Another program changed a file meanwhile. Nothing was written. Run the command again."""


@dataclass(frozen=True, slots=True)
class Change:
    """The content of a file before and after. None means no file."""

    path: Path
    before: str | None
    after: str | None


def text_of(path: Path) -> str | None:
    """Return the content of a file, or None if it does not exist. Raises ConfigUnreadable."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (UnicodeDecodeError, IsADirectoryError, NotADirectoryError) as error:
        raise ConfigUnreadable(
            f"{path} is not a text file: {error}. Nothing was written."
        ) from error


def diff(changes: Sequence[Change]) -> str:
    """Return the changes as a unified diff."""
    lines: list[str] = []
    for change in changes:
        before, after = ("" if text is None else text for text in (change.before, change.after))
        name = str(change.path)
        diff = difflib.unified_diff(
            before.splitlines(keepends=True),
            after.splitlines(keepends=True),
            NO_FILE if change.before is None else name,
            NO_FILE if change.after is None else name,
        )
        lines += (
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in diff
        )
    return "".join(lines)


def write(changes: Sequence[Change]) -> None:
    """Write the changes. All new contents go to temporary files first.

    Raises FileChanged and OSError, having changed nothing.
    """
    for change in changes:
        if text_of(change.path) != change.before:
            raise FileChanged(
                f"{change.path} was changed by another program. Nothing was written. "
                "Run the command again."
            )
    pending: list[tuple[Path, Path]] = []
    try:
        for change in changes:
            if change.after is not None:
                real = change.path.resolve()
                pending.append((real.with_name(f"{real.name}.{secrets.token_hex(4)}"), real))
                _fill(*pending[-1], change.after)
    except BaseException:
        for temporary, _ in pending:
            temporary.unlink(missing_ok=True)
        raise
    for temporary, path in pending:
        temporary.replace(path)
    for change in changes:
        if change.after is None:
            change.path.unlink()
            _delete_empty_folders(change.path)


def _delete_empty_folders(path: Path) -> None:
    """Delete the folders above a deleted file that are empty, below the home and the project."""
    for folder in path.parents:
        if folder in (Path.home(), Path.cwd()):
            return
        try:
            folder.rmdir()
        except OSError:  # it is not empty
            return


def _fill(temporary: Path, real: Path, text: str) -> None:
    """Write a temporary file with the permissions of the file that it will replace."""
    real.parent.mkdir(parents=True, exist_ok=True)
    mode = real.stat().st_mode & 0o777 if real.exists() else 0o644
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(text.encode("utf-8"))
    temporary.chmod(mode)


_OUR_FOLDERS = ("hooks", "remembrancer")  # deleted once they are empty
_BACKGROUND = "background"  # what hooks lock while they send (hook_background.py)
_OF_ALL_AGENTS = (_BACKGROUND, "away-*")  # deleted with the last state


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """Files that a removal deletes.

    `unsent` counts the requests in them that the service has not received; a file that cannot be
    read counts as one.
    """

    files: tuple[Path, ...] = ()
    unsent: int = 0


def find_leftovers(agent: str, state_folder: Path) -> Leftovers:
    """Return the state files of an agent's sessions, once none is written any more."""
    with contextlib.suppress(OSError), (state_folder / _BACKGROUND).open("rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    states = tuple(sorted(state_folder.glob(f"{agent}-*")))
    return Leftovers(files=states, unsent=sum(map(_unsent, states)))


def delete(leftovers: Leftovers) -> None:
    """Delete the files, and the folders of the service that become empty. Raises OSError."""
    for path in leftovers.files:
        path.unlink(missing_ok=True)
        folder = path.parent
        shared = {one for pattern in _OF_ALL_AGENTS for one in folder.glob(pattern)}
        if shared >= set(folder.glob("*")):
            for one in shared:
                one.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the folder is not empty
            while folder.name in _OUR_FOLDERS:
                folder.rmdir()
                folder = folder.parent


def _unsent(path: Path) -> int:
    try:
        state = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return 1
    queue = state.get("queue") if isinstance(state, dict) else None
    return len(queue) if isinstance(queue, list) else 0
