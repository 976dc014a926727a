"""The twelve types of created files: their media types, and their content as it is sent."""

from __future__ import annotations

import binascii
import re

from ..protocol.errors import InvalidRequest
from ..protocol.files import FileType
from . import readers

MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "png": "image/png",
    "zip": "application/zip",
    "py": "text/x-python; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
ANY_MEDIA_TYPE = "application/octet-stream"  # for a program's output with any other extension
BINARY_TYPES = ("pdf", "png", "zip")  # sent as base64

_DATA_URL = re.compile(r"\s{0,100}data:[^,;]{0,100}(?:;[^,;]{1,100}){0,5}?;base64,", re.IGNORECASE)
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/=\s]|[^\x00-\x7f]")
_NOT_URL_SAFE = re.compile(r"[^A-Za-z0-9_=\s-]|[^\x00-\x7f]")
_AFTER_PADDING = re.compile(r"=\s*(?=[^=\s])")
_URL_SAFE = str.maketrans("-_", "+/")


class ContentInvalid(InvalidRequest):
    """The content is not valid for its type."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"content: {detail}.", errors=[{"pointer": "/content", "detail": detail}])


def content_of(text: str, kind: FileType) -> tuple[bytes, str | None]:
    """Return the content of a file from the text of the request, opened by a reader of its type.

    And a note on it if there is one. Raises ContentInvalid.
    """
    content = _decoded(text) if kind in BINARY_TYPES else text.encode()
    try:
        return content, readers.check(content, kind)
    except readers.NotReadable as error:
        raise ContentInvalid(str(error)) from error


def media_type(extension: str) -> str:
    """Return the media type of an extension."""
    return MEDIA_TYPES.get(extension, ANY_MEDIA_TYPE)


def _decoded(text: str) -> bytes:
    """Decode base64: of one of the two alphabets, in lines of any length, also as a data URL."""
    data_url = _DATA_URL.match(text)
    start = data_url.end() if data_url else 0
    is_url_safe = "-" in text[start:] or "_" in text[start:]
    wrong = (_NOT_URL_SAFE if is_url_safe else _NOT_BASE64).search(text, start)
    if wrong is not None:
        raise ContentInvalid(
            f"this must be base64 (RFC 4648): character {wrong.start() + 1:,} does not belong to it"
        )
    inner = _AFTER_PADDING.search(text, start)
    if inner is not None:
        raise ContentInvalid(
            f"this must be base64 (RFC 4648): it goes on after the padding, character "
            f"{inner.start() + 1:,}"
        )
    compact = "".join(text[start:].split())
    if is_url_safe:  # its padding is often left out
        compact = compact.rstrip("=").translate(_URL_SAFE)
        compact += "=" * (-len(compact) % 4)
    try:
        return binascii.a2b_base64(compact, strict_mode=True)
    except ValueError:
        raise ContentInvalid(
            "this must be base64 (RFC 4648) with its padding: it is cut off after character "
            f"{len(text):,}"
        ) from None
