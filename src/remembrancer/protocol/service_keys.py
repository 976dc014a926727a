"""API keys of this service within texts: recognised by their checksum and masked.

The checksum makes a chance match impossible in practice, so nobody looks up whether the key is
valid: a text that holds one is never stored with it.
"""

from __future__ import annotations

import re
import zlib

PREFIX = "sk_"
MASK = "[masked: service-key]"
WARNING = (
    "A key of this service was in the text and was masked. Revoke it, create a new one, and keep "
    "keys in environment variables, never in messages."
)
_CHECK_CHARACTERS = 8
_SHAPE = re.compile(rf"{PREFIX}[0-9a-f]{{64}}")


def checksum(body: str) -> str:
    """Return the last eight digits of the key that begins with `body`."""
    return f"{zlib.crc32(body.encode('ascii')):08x}"


def is_service_key(text: str) -> bool:
    """Return True if the text has the format and the checksum of a key. Looks nothing up."""
    body = text[:-_CHECK_CHARACTERS]
    return _SHAPE.fullmatch(text) is not None and text == body + checksum(body)


def mask_service_keys(text: str) -> str:
    """Return the text with a mark in place of each key."""
    return _SHAPE.sub(_mask, text) if PREFIX in text else text


def require_no_service_key(text: str) -> str:
    """Return the text. Raises ValueError if it holds a key: ids are stored and shown."""
    if PREFIX in text and mask_service_keys(text) != text:
        raise ValueError("this must not contain an API key")
    return text


def service_key_warning(*texts: str | None) -> str | None:
    """Return the warning for the user if one of the texts holds a key, else None."""
    return WARNING if any(text and mask_service_keys(text) != text for text in texts) else None


def _mask(match: re.Match[str]) -> str:
    return MASK if is_service_key(match[0]) else match[0]
