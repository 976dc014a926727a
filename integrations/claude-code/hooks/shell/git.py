"""git and patch: the files that they change, and the commands that they run."""

from __future__ import annotations

import re

from .calls import Call
from .patches import diff_paths
from .values import UNKNOWN, plain, script_text

_GIT_CHANGES = frozenset(
    "init clone checkout switch restore reset clean pull merge rebase cherry-pick revert apply am "
    "stash add rm mv commit submodule worktree sparse-checkout read-tree checkout-index gc fetch "
    "filter-branch".split()
)
_GIT_RUNNERS = frozenset("rebase filter-branch clone fetch ls-remote".split())
_GIT_SCRIPTS = frozenset("x exec tree-filter index-filter msg-filter upload-pack".split())


def git_command(call: Call) -> str:
    """Check git: its folders, its output, and settings that are commands."""
    words = list(call.arguments)
    inner = Call(call.interpreter, ["git"], call.state.copy(), call.stdin, "git")
    trees, folders = [], []
    while words and words[0].startswith("-"):
        word = words.pop(0)
        name, sign, value = word.partition("=")
        if name in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path") and (
            not sign and words
        ):
            value = words.pop(0)
        if name == "-C" and value:
            inner.state.enter(call.interpreter.location.expand_home(plain(value)))
        elif name == "--work-tree":
            trees.append(value)
        elif name == "--git-dir":
            folders.append(value)
        elif name == "-c":
            _git_setting(call, value)
    command, words = (words[0], words[1:]) if words else ("", [])
    if command in _GIT_CHANGES:
        for tree in [*(trees or ([] if command == "clone" else ["."])), *folders]:
            inner.write(tree)
    inner.arguments = words
    _git_paths(inner, command)
    if command == "rev-parse" and "--show-toplevel" in words:
        projects = call.interpreter.location.projects
        return (projects[0] if projects else call.state.cwds[0]) + "\n"
    return UNKNOWN


def _git_setting(call: Call, setting: str) -> None:
    """Check a setting whose value is a command."""
    name, _, value = script_text(setting).partition("=")
    if name.lower().startswith("alias."):
        if value.startswith("!"):
            call.script(value[1:])
    elif re.search(
        r"(?i)pager|editor|sshcommand|fsmonitor|external|textconv|clean|smudge|helper|cmd|program"
        r"|hookspath|askpass|driver|process",
        name,
    ):
        call.script(value.lstrip("!"))


def _git_paths(call: Call, command: str) -> None:
    """Check the paths in the arguments of a git command."""
    options, words = call.options("oxfF", "output output-directory exec file prefix directory")
    for name, value in options:
        is_output = name in ("output", "output-directory", "separate-git-dir")
        if is_output or (name == "o" and command in ("archive", "format-patch")):
            call.write(value)
        if name in _GIT_SCRIPTS and value and command in _GIT_RUNNERS:
            call.script(value)
    if command == "config":
        if any(name == "system" for name, _ in options) and not any(
            name in ("get", "list", "l", "get-all") for name, _ in options
        ):
            call.write("/etc/gitconfig")
        for name, value in options:
            if name in ("f", "file"):
                call.write(value)
        if len(words) > 1:
            _git_setting(call, f"{words[-2]}={words[-1]}")
    elif command in ("apply", "am"):
        folder = next((value for name, value in options if name == "directory"), "")
        texts = [call.stdin, *(call.interpreter.patch_text(path, call.state) for path in words)]
        for text in texts:
            for path in diff_paths(text, None):
                call.write(f"{folder.rstrip('/')}/{path}" if folder else path)
    elif command == "clone" and len(words) > 1:
        call.write(words[-1])
    elif command in ("init", "bundle") and words:
        call.write(words[-1] if command == "init" else words[1] if len(words) > 1 else "")
    elif command == "worktree" and len(words) > 1:
        call.write(words[1])
    elif command == "submodule" and words[:1] == ["foreach"]:
        call.script(" ".join(script_text(word) for word in words[1:]))
    elif command == "bisect" and words[:1] == ["run"]:
        call.run(words[1:])
    elif command in ("diff", "grep", "hash-object"):
        for word in words:
            if word.startswith(("/", "~", "../")) and command != "grep":
                call.read(word)
    elif command == "checkout-index":
        for name, value in options:
            if name == "prefix":
                call.write(value)


def patch_command(call: Call) -> str:
    """Check patch: the files of the diff, in the folder of `-d`."""
    options, words = call.options(
        "dpioBrFYzV", "directory strip input output reject-file prefix backup-dir"
    )
    strip: int | None = None
    text = call.stdin
    inner = Call(call.interpreter, ["patch"], call.state.copy(), call.stdin, "patch")
    for name, value in options:
        if name in ("p", "strip") and plain(value).isdigit():
            strip = int(value)
        elif name in ("o", "output", "r", "reject-file"):
            call.write(value)
        elif name in ("i", "input"):
            text = call.interpreter.patch_text(value, call.state)
            call.read(value)
    for name, value in options:
        if name in ("d", "directory"):
            call.write(value)
            inner.state.enter(plain(value))
    if words:
        inner.write(words[0])
        text = call.interpreter.patch_text(words[1], call.state) if len(words) > 1 else text
    for path in diff_paths(text, strip):
        inner.write(path)
    inner.write(".")
    return UNKNOWN
