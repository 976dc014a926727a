"""Where a service or a model is and what opens it, as somebody gave them: refused before anything is sent there."""

from __future__ import annotations

import httpx2


def address(given: str, name: str, example: str) -> str:
    """The address without a slash at its end. Raises ValueError, which calls it `name`, for what cannot be one."""
    try:
        url = httpx2.URL(given)
    except httpx2.InvalidURL:
        raise ValueError(f"{name} is no address; it should be like {example}") from None
    if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment:
        raise ValueError(f"{name} must be http:// or https://, a host, and nothing more than a port and a path")
    return str(url).rstrip("/")


def is_one_word(key: str) -> bool:
    """Whether this can be a key at all: it goes into a header."""
    return bool(key) and key.isascii() and key.isprintable() and " " not in key
