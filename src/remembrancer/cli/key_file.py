"""The file with the service's key that hooks and the commands of clients read."""

from __future__ import annotations

import os
from pathlib import Path

from ..client.api import KEY_NAME
from ..settings import SettingInvalid, from_environment

KEY_FILE_NAME = "REMEMBRANCER_KEY_FILE"
KEY_BYTES_MAX = 4096


def key_file() -> Path:
    """Return the path of the key file, as the hooks find it. The file may not exist."""
    path = from_environment(KEY_FILE_NAME)
    return default_key_file() if path is None else Path(path)


def default_key_file() -> Path:
    """Return the path of the key file without REMEMBRANCER_KEY_FILE."""
    config = from_environment("XDG_CONFIG_HOME")
    return (Path(config) if config else Path.home() / ".config") / "remembrancer" / "key"


def read_service_key() -> str:
    """Return the service's key from REMEMBRANCER_KEY, else from the key file.

    Raises SettingInvalid if there is none, or if other users can read the file.
    """
    key = from_environment(KEY_NAME)
    if key is not None:
        return key
    path = key_file()
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_mode & 0o077 or status.st_uid != os.geteuid():
                raise SettingInvalid(f"{path} must be readable only by you: chmod 600 {path}")
            text = file.read(KEY_BYTES_MAX).decode("utf-8", "replace").strip()
    except OSError as error:
        raise SettingInvalid(
            f"Set {KEY_NAME} to the service's key, or write it to {path} (mode 0600). Keys are "
            "not accepted on the command line."
        ) from error
    if not text:
        raise SettingInvalid(f"{path} is empty. Write the service's key to it.")
    return text
