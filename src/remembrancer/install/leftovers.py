"""Files that remain on this machine when a configuration is removed: state of sessions, the key."""

from __future__ import annotations

import contextlib
import fcntl
import json
from dataclasses import dataclass
from pathlib import Path

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
