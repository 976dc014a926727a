"""The file with the service's key that hooks and the commands of clients read."""

from __future__ import annotations

from ..client.credentials import KeyMissingError, default_key_file, find_key, key_file
from ..settings import SettingInvalid

__all__ = ["default_key_file", "key_file", "read_service_key"]


def read_service_key() -> str:
    """Return the service's key from REMEMBRANCER_KEY, else from the key file.

    Raises SettingInvalid if there is none, or if other users can read the file.
    """
    try:
        return find_key()
    except KeyMissingError as error:
        raise SettingInvalid(f"{error} Keys are not accepted on the command line.") from error
