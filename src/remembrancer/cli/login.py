"""The work of `remembrancer login`: write the key and the address of the service to files."""

from __future__ import annotations

import sys

import typer

from ..client import Client, Retry
from ..client.credentials import KEY_NAME, URL_NAME, key_file, url_file, write_key
from ..settings import SettingInvalid, from_environment
from .commands import service_url


def login(url: str | None) -> str:
    """Read a key, check it with the service, save it with the address, and return what was done.

    Raises SettingInvalid for a key that cannot be one, and ClientError if the service rejects it.
    """
    base_url = service_url(url)
    key = _read_key()
    try:
        with Client(base_url, key, retry=Retry(times=1)) as client:
            own = client.own_key()
    except ValueError as error:
        raise SettingInvalid(str(error)) from error
    path = key_file()
    write_key(url_file(), base_url)  # first: the new key must not meet the old address
    write_key(path, key)
    may = ", read-only" if own.read_only else ""
    whose = f"account {own.account} (user {own.user_id}{may})"
    lines = [
        f"The key of the {whose} is saved in {path}, its address {base_url} beside it.",
        "Commands and `Client()` of your programs use both, agents without a key file the key.",
    ]
    if from_environment(URL_NAME) not in (None, "", base_url):
        lines.append(f"{URL_NAME} is set in this shell and comes first.")
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
