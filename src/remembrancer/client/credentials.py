"""Address and key of the service from the environment and the key file of the user."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

SERVICE_URL = "http://127.0.0.1:8460"  # the default address of `remembrancer serve`
URL_NAME, KEY_NAME = "REMEMBRANCER_URL", "REMEMBRANCER_KEY"
KEY_FILE_NAME = "REMEMBRANCER_KEY_FILE"
KEY_BYTES_MAX = 4096


class KeyMissingError(ValueError):
    """There is no key of the service, or its file cannot be used. The message says what to do."""


def find_url(environment: Mapping[str, str] | None = None) -> str:
    """Return the address of the service: REMEMBRANCER_URL, else the default address."""
    return (os.environ if environment is None else environment).get(URL_NAME) or SERVICE_URL


def find_key(environment: Mapping[str, str] | None = None) -> str:
    """Return the key of the service: REMEMBRANCER_KEY, else the content of the key file.

    Raises KeyMissingError if there is none, or if other users can read the file.
    """
    environment = os.environ if environment is None else environment
    return environment.get(KEY_NAME) or _read(key_file(environment))


def key_file(environment: Mapping[str, str] | None = None) -> Path:
    """Return the path of the key file, as the hooks find it. The file may not exist."""
    environment = os.environ if environment is None else environment
    path = environment.get(KEY_FILE_NAME)
    return Path(path) if path else default_key_file(environment)


def default_key_file(environment: Mapping[str, str] | None = None) -> Path:
    """Return the path of the key file without REMEMBRANCER_KEY_FILE."""
    config = (os.environ if environment is None else environment).get("XDG_CONFIG_HOME")
    return (Path(config) if config else Path.home() / ".config") / "remembrancer" / "key"


def write_key(path: Path, key: str) -> None:
    """Write a key file that only its owner can read. It replaces the file at once."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{key}\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_mode & 0o077 or status.st_uid != os.geteuid():
                raise KeyMissingError(f"{path} must be readable only by you: chmod 600 {path}")
            text = file.read(KEY_BYTES_MAX).decode("utf-8", "replace").strip()
    except OSError as error:
        raise KeyMissingError(
            f"Set {KEY_NAME} to the service's key, or write it to {path} (mode 0600): "
            "`remembrancer login` does. `remembrancer serve` prints a key when its data folder is "
            "new, and `remembrancer keys create` makes another."
        ) from error
    if not text:
        raise KeyMissingError(f"{path} is empty. Write the service's key to it.")
    return text
