"""Which models a slot has: read from the settings, checked once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import get_args
from urllib.parse import urlsplit

from ..settings import PREFIX, SettingInvalid, Settings
from .port import Slot

SLOTS: tuple[Slot, ...] = get_args(Slot)
_NAMED = re.compile(
    r"(?P<model>[^\s,]+)@(?P<url>https?://[^\s,]+)"
)  # greedy: a model's name may hold an @


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTarget:
    """One model at one endpoint."""

    model: str
    base_url: str  # without a slash at its end
    key: str = field(default="", repr=False)

    @property
    def is_outside(self) -> bool:
        """Whether it is on another machine: anything but a loopback address or `localhost`."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return not ip_address(host).is_loopback
        except ValueError:
            return host != "localhost"

    def __str__(self) -> str:
        return f"{self.model}@{self.base_url}"


def targets_of(settings: Settings, slot: Slot) -> tuple[ModelTarget, ...]:
    """The models of a slot, in the order in which they are tried; none is an empty tuple.

    Raises SettingInvalid; what is wrong is told without what was written, which may hold a key.
    """
    name = f"{PREFIX}MODEL_{slot.upper()}"
    said, keys = (str(getattr(settings, f"model_{slot}{end}")).strip() for end in ("", "_key"))
    if not said:
        if keys:
            raise SettingInvalid(f"`{name}_KEY` is set, but `{name}` is not.")
        return ()
    named = [_NAMED.fullmatch(part.strip()) for part in said.split(",")]
    urls = []
    for place, match in enumerate(named, 1):
        if match is None or not _is_usable(match["url"]):
            raise SettingInvalid(
                f"`{name}`, model {place}: write MODEL@BASE_URL, such as llama3.2@http://127.0.0.1:11434/v1, without a key."
            )
        urls.append(match["url"].rstrip("/"))
    given = [key.strip() for key in keys.split(",")] if keys else [""] * len(urls)
    if len(given) == 1 and len({_origin(url) for url in urls}) == 1:
        given *= len(urls)
    if len(given) != len(urls):
        raise SettingInvalid(
            f"`{name}_KEY` must hold as many keys as `{name}` has models, with commas between; one of them may be empty."
        )
    if any(not key.isascii() or not (key or "-").isprintable() or " " in key for key in given):
        raise SettingInvalid(f"`{name}_KEY` holds something that is no key.")
    models = [match["model"] for match in named if match]
    return tuple(
        ModelTarget(model=model, base_url=url, key=key)
        for model, url, key in zip(models, urls, given, strict=True)
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
