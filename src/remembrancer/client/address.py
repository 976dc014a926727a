"""Validation of base URLs and API keys before anything is sent."""

from __future__ import annotations

import httpx2


def normalize_base_url(text: str, name: str, example: str) -> str:
    """Return the URL without a trailing slash.

    `name` and `example` appear in the message of the ValueError raised for an invalid URL.
    """
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL:
        raise ValueError(f"{name} is not a valid URL; expected something like {example}") from None
    if (
        url.scheme not in ("http", "https")
        or not url.host
        or url.userinfo
        or url.query
        or url.fragment
    ):
        raise ValueError(
            f"{name} must be an http:// or https:// URL with a host and, optionally, a port and a "
            f"path, such as {example}"
        )
    return str(url).rstrip("/")


def is_valid_key(key: str) -> bool:
    """Return True if the key can be sent in a header: printable ASCII without spaces."""
    return bool(key) and key.isascii() and key.isprintable() and " " not in key
