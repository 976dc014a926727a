"""The work of `remembrancer login`: write the key of the service to the user's key file."""

from __future__ import annotations

import sys

import typer

from ..client import Client, Retry
from ..client.credentials import KEY_NAME, URL_NAME, find_url, key_file, write_key
from ..settings import SettingInvalid, from_environment


def login(url: str | None) -> str:
    """Read a key, check it with the service, write it to the key file, and return what was done.

    Raises SettingInvalid for a key that cannot be one, and ClientError if the service rejects it.
    """
    base_url = url or find_url()
    key = _read_key()
    try:
        with Client(base_url, key, retry=Retry(times=1)) as client:
            own = client.own_key()
    except ValueError as error:
        raise SettingInvalid(str(error)) from error
    path = key_file()
    write_key(path, key)
    may = ", read-only" if own.read_only else ""
    lines = [
        f"The key of the account {own.account} (user {own.user_id}{may}) is saved in {path}.",
        "Commands, hooks and `Client()` of your programs use it.",
    ]
    if base_url != find_url():
        lines.append(f"For later commands, name its address: export {URL_NAME}={base_url}")
    if from_environment(KEY_NAME):
        lines.append(f"{KEY_NAME} is set in this shell and comes first.")
    return "\n".join(lines)


def _read_key() -> str:
    """Return the key from a hidden prompt, or from stdin if it is no terminal."""
    text = (
        typer.prompt("Key (sk_\u2026)", hide_input=True, err=True)
        if sys.stdin.isatty()
        else sys.stdin.readline()
    )
    key = str(text).strip()
    if not key:
        raise SettingInvalid(
            "No key was entered. `remembrancer serve` prints one when its data folder is new; "
            "`remembrancer keys create` makes another."
        )
    return key
