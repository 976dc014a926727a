"""The name of the project of a folder: the same in every checkout of one repository.

That is the address of the remote `origin`, or of the first remote, without scheme, user and `.git`;
without a remote the path of the repository; outside of one the folder of the session. Git itself is
not run: it takes longer than everything else that a hook does.
"""

from __future__ import annotations

import os
import re

NAME_CHARACTERS_MAX = 512  # protocol/limits.py, METADATA_TEXT_CHARACTERS_MAX
CONFIG_BYTES_MAX = 1 << 20
OFF_NAME = ".remembrancer-off"  # client/pause.py, OFF_NAME
_SECTION = re.compile(r"\[remote \"(?P<name>[^\"\n]*)\"\]")
_URL = re.compile(r"url\s*=\s*(?P<url>\S.*)")
_ADDRESS = re.compile(
    r"(?:[A-Za-z][\w+.-]*://)?(?:[^/@\s]*@)?(?P<host>[\w.-]+)(?::(?P<port>\d+)(?=/))?[:/]+"
    r"(?P<path>[^\s]+)"
)


def project_name(cwd: str, folder: str, home: str) -> str:
    """Return the name of the project of a working folder, or else of the folder of a session.

    Empty for the home folder and those above it.
    """
    root = _repository_root(cwd) or _repository_root(folder)
    if root:
        config = _read(os.path.join(_common_folder(root), "config"))
        return (_remote_name(config) or os.path.realpath(root))[:NAME_CHARACTERS_MAX]
    folder = os.path.realpath(folder) if folder else ""
    is_above_home = os.path.realpath(home).startswith(os.path.join(folder, ""))
    if not folder or is_above_home or folder == os.path.realpath(home):
        return ""
    return folder[:NAME_CHARACTERS_MAX]


def off_file(cwd: str, folder: str) -> str:
    """Return the path of `.remembrancer-off` for a working folder, or else the session's, or "".

    It counts in the folder and in those above it up to the repository.
    """
    for start in filter(None, (cwd, folder)):
        root, place = _repository_root(start), start
        while not os.path.exists(os.path.join(place, OFF_NAME)):
            if not root or place == root:
                break
            place = os.path.dirname(place)
        else:
            return os.path.join(place, OFF_NAME)
    return ""


def _repository_root(folder: str) -> str:
    """Return the nearest folder with `.git`, from a folder upwards; empty without one."""
    while folder and not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        folder = "" if parent == folder else parent
    return folder


def _common_folder(root: str) -> str:
    """Return the folder with the settings of a repository, also for a worktree or a submodule."""
    git = os.path.join(root, ".git")
    link = _read(git)
    if link.startswith("gitdir:"):
        git = os.path.join(root, link[7:].strip())
        common = _read(os.path.join(git, "commondir")).strip()
        git = os.path.join(git, common) if common else git
    return git


def _remote_name(config: str) -> str:
    """Return the name by the remote `origin`, or else the first one; empty without one."""
    names: dict[str, str] = {}
    remote = None
    for line in map(str.strip, config.splitlines()):
        if line.startswith("["):
            section = _SECTION.match(line)
            remote = section["name"] if section else None
        elif remote is not None and (url := _URL.match(line)):
            names.setdefault(remote, _plain_address(url["url"].strip()))
    return names.get("origin") or next(iter(names.values()), "")


def _plain_address(url: str) -> str:
    """Return an address without scheme, user, password, port and `.git`."""
    plain = url.removesuffix("/").removesuffix(".git")
    match = None if plain.startswith(("/", ".", "file:")) else _ADDRESS.fullmatch(plain)
    return f"{match['host'].lower()}/{match['path']}" if match else plain


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(CONFIG_BYTES_MAX).decode("utf-8", "replace")
    except OSError:
        return ""
