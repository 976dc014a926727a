"""The semantics of grants.

Pure: paths and scopes are in normal form (protocol/permissions.py), and time is an argument.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..protocol.permissions import EVERYONE, ONLY_ROOT, Action

_WILD = frozenset("*?")
_FOLDERS = "**"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A permission: agent, actions, scope, and end (ms since 1970, UTC)."""

    scope: str
    actions: frozenset[Action]
    agent: str
    expires_ms: int
    revoked_ms: int | None = None


def allows(grant: Grant, *, path: str, action: Action, agent: str, now_ms: int) -> bool:
    """Return True if the grant allows this agent this action on this path now.

    At the moment of its expiry it no longer does.
    """
    return (
        grant.revoked_ms is None
        and now_ms < grant.expires_ms
        and action in grant.actions
        and grant.agent in (EVERYONE, agent)
        and covers(grant.scope, path)
    )


def covers(scope: str, path: str) -> bool:
    """Return True if a path is the scope's path, is below its folder, or matches its glob.

    A folder itself is not covered. `*` matches any characters and `?` one character of a name,
    including a leading dot; `**` alone between slashes matches any number of names. All other
    characters, including brackets and backslashes, stand for themselves.
    """
    if not _WILD.intersection(scope):
        if scope.endswith("/"):
            return path.startswith(scope) and path != scope
        return path == ("/" if scope == ONLY_ROOT else scope)
    pattern, names = scope.split("/")[1:], path.split("/")[1:]
    if pattern[-1] in ("", _FOLDERS):  # everything below the folder, but not the folder itself
        pattern[-1:] = ["*", _FOLDERS]
    return names != [""] and _matches(pattern, names, _FOLDERS, _matches_name)


def anchor(scope: str) -> str:
    """Return the fixed prefix of a scope, by which grants are looked up.

    It is the path itself, or a folder with its slash.
    """
    if scope == ONLY_ROOT:
        return "/"
    if not _WILD.intersection(scope):
        return scope
    fixed = min(scope.index(letter) for letter in _WILD if letter in scope)
    return scope[: scope.rindex("/", 0, fixed) + 1]


def wider(scope: str) -> str:
    """Return an SQLite GLOB pattern that matches every path of a scope, and maybe more.

    It pre-selects grants for `covers`. In GLOB `*` also matches slashes, and a bracket starts a set
    of characters.
    """
    if scope == ONLY_ROOT:
        return "/"
    folders = scope.replace("[", "[[]").split("/")[1:]
    last = folders.pop()
    parts = ["*" if name == _FOLDERS else f"{name}/" for name in folders]
    return "/" + re.sub(r"\*+", "*", "".join([*parts, "?*" if last in ("", _FOLDERS) else last]))


def reach(scope: str) -> str:
    """Describe the reach of a scope for the people who grant it."""
    pattern = scope.split("/")[1:]
    if scope == ONLY_ROOT:
        return "The root folder itself, nothing in it."
    if scope in ("/", "/**"):
        return "Everything on the machine."
    if not _WILD.intersection(scope):
        return (
            f"Everything below {scope} at any depth, but not the folder itself."
            if scope.endswith("/")
            else "This path only, nothing below it."
        )
    if pattern[-1] in ("", _FOLDERS):
        return "Everything below each folder that matches, at any depth."
    if _FOLDERS in pattern:
        return "Every path that matches; ** stands for any number of folders, including none."
    return "Every path that matches at this depth: * and ? never match a slash."


def note(scope: str) -> str:
    """Return what a scope covers and, for a single path, how to cover a folder."""
    if _WILD.intersection(scope) or scope.endswith("/") or scope == ONLY_ROOT:
        return reach(scope)
    return f"{reach(scope)} If it is a folder, grant {scope}/ to cover what is below it."


def near_scopes(path: str) -> list[str]:
    """Return the scopes without wildcards that a person may have meant to cover this path.

    Each folder above it without its slash, nearest first, and the path itself with one.
    """
    parts = path.split("/")
    return [f"{path}/", *("/".join(parts[:end]) for end in range(len(parts) - 1, 1, -1))]


def near_miss(scope: str, path: str) -> str:
    """Say why a scope of `near_scopes` does not cover the path."""
    if scope == f"{path}/":
        return f"covers what is below {scope} but not the folder itself; its scope is {path}"
    return f"covers {scope} alone and nothing below it; the scope for that is {scope}/"


def examples(scope: str) -> tuple[list[str], list[str]]:
    """Return paths that a scope covers, and similar paths that it does not."""
    if scope == ONLY_ROOT:
        return ["/"], ["/etc"]
    plain, deep = (
        re.sub("/+", "/", "/".join(_sample_name(name, folders) for name in scope.split("/")))
        for folders in ("", "deep/er")
    )
    plain, deep = plain.rstrip("/"), deep.rstrip("/")
    above, _, last = plain.rpartition("/")
    candidates = [
        plain,
        deep,
        f"{plain}/name",
        f"{above}/folder/{last}",
        f"{plain}/deep/er/name",
        f"{plain}2",
        above,
    ]
    paths = [
        path
        for path in dict.fromkeys(candidate.rstrip("/") for candidate in candidates)
        if path.startswith("/")
    ]
    return [path for path in paths if covers(scope, path)][:3], [
        path for path in paths if not covers(scope, path)
    ][:3]


def _sample_name(name: str, folders: str) -> str:
    """Return a name that matches one name of a pattern."""
    return folders if name == _FOLDERS else re.sub(r"\*+", "name", name).replace("?", "x")


def anchors(path: str) -> list[str]:
    """Return every possible anchor of a scope that covers this path."""
    return [path, *(path[: at + 1] for at, letter in enumerate(path) if letter == "/")]


def _matches_name(pattern: str, name: str) -> bool:
    if not _WILD.intersection(pattern):
        return pattern == name
    return _matches(pattern, name, "*", lambda expected, letter: expected in ("?", letter))


def _matches(
    pattern: Sequence[str], items: Sequence[str], many: str, one_matches: Callable[[str, str], bool]
) -> bool:
    """Return True if `items` match `pattern`, in which `many` matches any number of them.

    It backtracks only to the last `many`, so that the time is bounded by the product of the
    lengths.
    """
    at = place = 0
    restart: tuple[int, int] | None = None
    while place < len(items):
        if at < len(pattern) and pattern[at] == many:
            at, restart = at + 1, (at + 1, place)
        elif at < len(pattern) and one_matches(pattern[at], items[place]):
            at, place = at + 1, place + 1
        elif restart:
            restart = (restart[0], restart[1] + 1)
            at, place = restart
        else:
            return False
    return all(rest == many for rest in pattern[at:])
