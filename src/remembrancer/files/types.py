"""The twelve types of created files:

how each is encoded, how its content is checked, and its media type.
"""

from __future__ import annotations

import binascii
import io
import re
import struct
import zipfile

from pydantic_core import from_json

from ..protocol import limits
from ..protocol.errors import InvalidRequest
from ..protocol.files import FileType

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

_PNG = b"\x89PNG\r\n\x1a\n"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the second marks an empty archive
_ZIP_ENTRY = b"PK\x01\x02"
_DRIVE = re.compile(r"[A-Za-z]:")
_SYMBOLIC_LINK = 0o120000
# What `zipfile` raises for bytes that are not an archive, an unknown format, or offsets outside
# the file.
_UNREADABLE = (
    zipfile.BadZipFile,
    NotImplementedError,
    ValueError,
    struct.error,
    EOFError,
    OSError,
    IndexError,
    OverflowError,
)


class ContentInvalid(InvalidRequest):
    """The content is not valid for its type."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"content: {detail}.", errors=[{"pointer": "/content", "detail": detail}])


def content_of(text: str, kind: FileType) -> bytes:
    """Return the bytes of a file from the text of the request. Raises ContentInvalid."""
    match kind:
        case "pdf":
            return _check_start(_decoded(text), (b"%PDF-",), "a PDF, which begins with %PDF-")
        case "png":
            return _check_start(_decoded(text), (_PNG,), "a PNG")
        case "zip":
            return _archive(_check_start(_decoded(text), _ZIP, "a ZIP archive"))
        case "json":
            _check_json(text)
            return text.encode()
        case _:
            return text.encode()


def media_type(extension: str) -> str:
    """Return the media type of an extension."""
    return MEDIA_TYPES.get(extension, ANY_MEDIA_TYPE)


def _decoded(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        raise ContentInvalid(
            "this must be base64 (RFC 4648) on one line, with padding and nothing else"
        ) from None


def _check_start(content: bytes, beginnings: tuple[bytes, ...], what: str) -> bytes:
    if not content.startswith(beginnings):
        raise ContentInvalid(f"the decoded base64 is not {what}")
    return content


def _check_json(text: str) -> None:
    try:
        from_json(text, allow_inf_nan=False, cache_strings=False)
    except ValueError as error:
        raise ContentInvalid(f"this is not JSON: {error}") from None


def _archive(content: bytes) -> bytes:
    """Check and return the archive. Only its directory is read; nothing is unpacked here."""
    if content.count(_ZIP_ENTRY) > limits.ZIP_ENTRIES_MAX:  # checked before an entry is read
        raise ContentInvalid(f"the archive has more than {limits.ZIP_ENTRIES_MAX:,} entries")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
    except _UNREADABLE:
        raise ContentInvalid("the archive cannot be read: it is cut off or broken") from None
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > limits.ZIP_UNPACKED_BYTES_MAX:
        raise ContentInvalid(
            f"the archive unpacks to more than {limits.ZIP_UNPACKED_BYTES_MAX:,} bytes"
        )
    if unpacked > limits.ZIP_RATIO_MAX * len(content):
        raise ContentInvalid(
            f"the archive unpacks to more than {limits.ZIP_RATIO_MAX} times its size"
        )
    if any(_leads_out(entry) for entry in entries):
        raise ContentInvalid("the archive has an entry that would be written outside its folder")
    return content


def _leads_out(entry: zipfile.ZipInfo) -> bool:
    """Return True if unpacking may write outside the folder:

    an absolute name, a name with `..`, or a symbolic link, through which another entry can write.
    """
    name = entry.orig_filename.replace("\\", "/")
    is_link = (entry.external_attr >> 16) & 0o170000 == _SYMBOLIC_LINK
    return (
        is_link
        or name.startswith("/")
        or bool(_DRIVE.match(name))
        or ".." in name.split("/")
        or "\0" in name
    )
