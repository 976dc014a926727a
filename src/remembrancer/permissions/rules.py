"""What a grant allows.

Pure: paths and scopes come in normal form (protocol/paths.py), time as an argument.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..protocol.paths import ONLY_ROOT
from ..protocol.permissions import EVERYONE, Action

_WILD = frozenset("*?")
_FOLDERS = "**"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What the owner allowed: whom, what, where, until when (ms since 1970, UTC)."""

    scope: str
    actions: frozenset[Action]
    agent: str
    expires_ms: int
    revoked_ms: int | None = None


def allows(grant: Grant, *, path: str, action: Action, agent: str, now_ms: int) -> bool:
    """Whether the grant lets this agent do this to this path now.

    At the moment of its end it is over.
    """
    return (
        grant.revoked_ms is None
        and now_ms < grant.expires_ms
        and action in grant.actions
        and grant.agent in (EVERYONE, agent)
        and covers(grant.scope, path)
    )


def covers(scope: str, path: str) -> bool:
    """Whether a path lies in a scope: it is the one named, is somewhere below the folder (never the
    folder itself), or fits the glob.

    `*` and `?` stand for any letters and any one letter of a name, a dot at its beginning too; `**`
    alone between slashes for any number of names. All other letters, brackets and backslashes among
    them, stand for themselves.
    """
    if not _WILD.intersection(scope):
        if scope.endswith("/"):
            return path.startswith(scope) and path != scope
        return path == ("/" if scope == ONLY_ROOT else scope)
    pattern, names = scope.split("/")[1:], path.split("/")[1:]
    if pattern[-1] in ("", _FOLDERS):  # all that is below, but not the folder itself
        pattern[-1:] = ["*", _FOLDERS]
    return names != [""] and _fits(pattern, names, _FOLDERS, _fits_name)


def anchor(scope: str) -> str:
    """The fixed beginning of a scope, by which it is looked up:

    the path itself, or a folder with its slash.
    """
    if scope == ONLY_ROOT:
        return "/"
    if not _WILD.intersection(scope):
        return scope
    fixed = min(scope.index(letter) for letter in _WILD if letter in scope)
    return scope[: scope.rindex("/", 0, fixed) + 1]


def wider(scope: str) -> str:
    """A pattern of SQLite's GLOB that fits each path the scope covers, and may fit more: what is
    sorted out before `covers` judges.

    There `*` crosses slashes, and a bracket begins a set of letters.
    """
    if scope == ONLY_ROOT:
        return "/"
    folders = scope.replace("[", "[[]").split("/")[1:]
    last = folders.pop()
    parts = ["*" if name == _FOLDERS else f"{name}/" for name in folders]
    return "/" + re.sub(r"\*+", "*", "".join([*parts, "?*" if last in ("", _FOLDERS) else last]))


def reach(scope: str) -> str:
    """How far a scope reaches, for people who are about to grant it."""
    pattern = scope.split("/")[1:]
    if scope == ONLY_ROOT:
        return "The root folder itself, and nothing in it."
    if scope in ("/", "/**"):
        return "Everything on the machine."
    if not _WILD.intersection(scope):
        return (
            f"Everything below {scope}, however deep; not the folder itself."
            if scope.endswith("/")
            else "This one path, and nothing below it."
        )
    if pattern[-1] in ("", _FOLDERS):
        return "Everything below each folder that fits, however deep."
    if _FOLDERS in pattern:
        return "Every path that fits; ** stands for any number of folders, none among them."
    return "Every path that fits at this depth: * and ? never reach across a slash."


def examples(scope: str) -> tuple[list[str], list[str]]:
    """Paths that a scope covers, and paths near by that it does not."""
    if scope == ONLY_ROOT:
        return ["/"], ["/etc"]
    plain, deep = (
        re.sub("/+", "/", "/".join(_like(name, folders) for name in scope.split("/")))
        for folders in ("", "deep/er")
    )
    plain, deep = plain.rstrip("/"), deep.rstrip("/")
    above, _, last = plain.rpartition("/")
    tried = [
        plain,
        deep,
        f"{plain}/name",
        f"{above}/folder/{last}",
        f"{plain}/deep/er/name",
        f"{plain}2",
        above,
    ]
    paths = [
        path for path in dict.fromkeys(one.rstrip("/") for one in tried) if path.startswith("/")
    ]
    return [path for path in paths if covers(scope, path)][:3], [
        path for path in paths if not covers(scope, path)
    ][:3]


def _like(name: str, folders: str) -> str:
    """A name that fits one of a pattern."""
    return folders if name == _FOLDERS else re.sub(r"\*+", "name", name).replace("?", "x")


def anchors(path: str) -> list[str]:
    """Every anchor that a scope around this path can have."""
    return [path, *(path[: at + 1] for at, letter in enumerate(path) if letter == "/")]


def _fits_name(pattern: str, name: str) -> bool:
    if not _WILD.intersection(pattern):
        return pattern == name
    return _fits(pattern, name, "*", lambda wanted, letter: wanted in ("?", letter))


def _fits(
    pattern: Sequence[str], items: Sequence[str], many: str, one_fits: Callable[[str, str], bool]
) -> bool:
    """Whether `items` fit `pattern`, in which `many` stands for any number of them.

    Goes back to the last `many` alone, so that no pattern takes longer than the product of the
    lengths.
    """
    at = place = 0
    again: tuple[int, int] | None = None
    while place < len(items):
        if at < len(pattern) and pattern[at] == many:
            at, again = at + 1, (at + 1, place)
        elif at < len(pattern) and one_fits(pattern[at], items[place]):
            at, place = at + 1, place + 1
        elif again:
            again = (again[0], again[1] + 1)
            at, place = again
        else:
            return False
    return all(rest == many for rest in pattern[at:])
