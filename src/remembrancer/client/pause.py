"""Files that switch the memory of the hooks off: for the user, or for one project."""

from __future__ import annotations

from pathlib import Path

from .credentials import default_key_file

OFF_NAME = ".remembrancer-off"


def pause_file() -> Path:
    """Return the path of the file that switches memory off everywhere. It may not exist."""
    return default_key_file().with_name("off")


def project_pause_file(folder: Path) -> Path:
    """Return the path of the file that switches memory off in the project of a folder.

    It is in the nearest folder with `.git`, from the folder upwards, else in the folder itself.
    """
    folders = (folder, *folder.parents)
    root = next((one for one in folders if (one / ".git").exists()), folder)
    return root / OFF_NAME
