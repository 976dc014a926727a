"""The file with the service's key that hooks and the commands of clients read."""

from __future__ import annotations

from ..client.credentials import KeyMissingError, agent_key_file, find_key
from ..settings import SettingInvalid

__all__ = ["agent_key_file", "read_service_key"]


def read_service_key(agent: str | None = None) -> str:
    """Return the service's key from REMEMBRANCER_KEY, else from the key file (of the agent).

    Raises SettingInvalid if there is none, or if other users can read the file.
    """
    try:
        return find_key(agent=agent)
    except KeyMissingError as error:
        raise SettingInvalid(f"{error} Keys are not accepted on the command line.") from error
