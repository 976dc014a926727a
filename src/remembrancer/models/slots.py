"""Read the models of each slot from the settings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import get_args
from urllib.parse import urlsplit

from ..settings import PREFIX, SettingInvalid, Settings
from .port import Slot

SLOTS: tuple[Slot, ...] = get_args(Slot)
# Greedy, since the name of a model may contain an @.
_TARGET = re.compile(r"(?P<model>[^\s,]+)@(?P<url>https?://[^\s,]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTarget:
    """One model at one endpoint."""

    model: str
    base_url: str  # without a trailing slash
    key: str = field(default="", repr=False)

    @property
    def is_outside(self) -> bool:
        """Return True if its host is neither a loopback address nor `localhost`."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return not ip_address(host).is_loopback
        except ValueError:
            return host != "localhost"

    @property
    def name(self) -> str:
        """The model and the host of its endpoint, as MODEL@HOST."""
        return f"{self.model}@{urlsplit(self.base_url).netloc}"

    def __str__(self) -> str:
        return f"{self.model}@{self.base_url}"


def targets_of(settings: Settings, slot: Slot) -> tuple[ModelTarget, ...]:
    """Return the models of a slot, in the order in which they are tried.

    Raises SettingInvalid. Its message does not repeat the value, which may contain a key.
    """
    name = f"{PREFIX}MODEL_{slot.upper()}"
    value, keys = (str(getattr(settings, f"model_{slot}{end}")).strip() for end in ("", "_key"))
    if not value:
        if keys:
            raise SettingInvalid(f"`{name}_KEY` is set, but `{name}` is not.")
        return ()
    matches = [_TARGET.fullmatch(part.strip()) for part in value.split(",")]
    urls = []
    for position, match in enumerate(matches, 1):
        if match is None or not _is_usable(match["url"]):
            raise SettingInvalid(
                f"`{name}`, model {position}: write MODEL@BASE_URL, "
                "such as llama3.2@http://127.0.0.1:11434/v1, without a key."
            )
        urls.append(match["url"].rstrip("/"))
    key_list = [key.strip() for key in keys.split(",")] if keys else [""] * len(urls)
    if len(key_list) == 1 and len({_origin(url) for url in urls}) == 1:
        key_list *= len(urls)
    if len(key_list) != len(urls):
        raise SettingInvalid(
            f"`{name}_KEY` must have as many keys as `{name}` has models, separated by commas; "
            "a key may be empty."
        )
    if any(not key.isascii() or not (key or "-").isprintable() or " " in key for key in key_list):
        raise SettingInvalid(f"`{name}_KEY` contains an invalid key.")
    models = [match["model"] for match in matches if match]
    return tuple(
        ModelTarget(model=model, base_url=url, key=key)
        for model, url, key in zip(models, urls, key_list, strict=True)
    )


def _is_usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return (
            bool(parts.hostname)
            and parts.port != 0
            and "@" not in parts.netloc
            and not parts.query
            and not parts.fragment
        )
    except ValueError:
        return False


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
