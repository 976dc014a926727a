"""Address and key of the service from the environment and the files of the user."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

SERVICE_URL = "http://127.0.0.1:8460"  # the default address of `remembrancer serve`
URL_NAME, KEY_NAME = "REMEMBRANCER_URL", "REMEMBRANCER_KEY"
KEY_FILE_NAME = "REMEMBRANCER_KEY_FILE"
FILE_BYTES_MAX = 4096


class KeyMissingError(ValueError):
    """There is no key of the service, or a file of `remembrancer login` cannot be used.

    The message says what to do.
    """


def find_url(environment: Mapping[str, str] = os.environ) -> str:
    """Return the address of the service: REMEMBRANCER_URL, else the saved or default address.

    Raises KeyMissingError if other users can read the file, which is also a file of the key.
    """
    if url := environment.get(URL_NAME):
        return url
    path = url_file(environment)
    try:
        return _own_text(path)
    except FileNotFoundError:
        return SERVICE_URL
    except OSError as error:
        raise KeyMissingError(f"{path} cannot be read: {error.strerror}") from error


def find_key(environment: Mapping[str, str] = os.environ, *, agent: str | None = None) -> str:
    """Return the key of the service: REMEMBRANCER_KEY, else the content of the key file.

    Raises KeyMissingError if there is none, or if other users can read the file.
    """
    if key := environment.get(KEY_NAME):
        return key
    path = key_file(environment, agent=agent)
    try:
        return _own_text(path)
    except OSError as error:
        raise KeyMissingError(
            f"Set {KEY_NAME} to the service's key, or write it to {path} (mode 0600): "
            "`remembrancer login` does. `remembrancer serve` prints a key when its data folder is "
            "new, and `remembrancer keys create` makes another."
        ) from error


def key_file(environment: Mapping[str, str] = os.environ, *, agent: str | None = None) -> Path:
    """Return the path of the key file, as the hooks find it. The file may not exist.

    An agent without a file of its own uses that of `remembrancer login`.
    """
    if path := environment.get(KEY_FILE_NAME):
        return Path(path)
    if agent and (own := agent_key_file(agent, environment)).exists():
        return own
    return default_key_file(environment)


def agent_key_file(agent: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the file with the key of one agent. The file may not exist."""
    return default_key_file(environment).with_name(f"{agent}.key")


def default_key_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the key file without REMEMBRANCER_KEY_FILE."""
    config = environment.get("XDG_CONFIG_HOME")
    return (Path(config) if config else Path.home() / ".config") / "remembrancer" / "key"


def url_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the file with the address that the saved key is for.

    It is `url` beside the key file; for the file of REMEMBRANCER_KEY_FILE, its name with `.url`,
    because several such files may be in one folder.
    """
    path = key_file(environment)
    is_default = path == default_key_file(environment)
    return path.with_name("url" if is_default else f"{path.name}.url")


def write_key(path: Path, key: str) -> None:
    """Write a file for a key or its address that only its owner can read, at once."""
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


def _own_text(path: Path) -> str:
    """Return the text of a file that only its owner can read. Raises KeyMissingError, OSError."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if status.st_mode & 0o077 or status.st_uid != os.geteuid():
            raise KeyMissingError(f"{path} must be readable only by you: chmod 600 {path}")
        text = file.read(FILE_BYTES_MAX).decode("utf-8", "replace").strip()
    if not text:
        raise KeyMissingError(f"{path} is empty. Run `remembrancer login` to write it again.")
    return text
