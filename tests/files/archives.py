"""Valid and hostile archives."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

PNG = b"\x89PNG\r\n\x1a\n" + bytes(17)
PDF = b"%PDF-1.7\n%%EOF\n"


def archive(entries: Mapping[str, bytes], *, mode: int | None = None) -> bytes:
    """Return a deflated ZIP of these contents by name.

    `mode` is the file type and the permissions of each entry.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive_file:
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name)
            entry.filename = name  # unchanged: ZipInfo would normalize it
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (mode or 0o100644) << 16
            archive_file.writestr(entry, content)
    return buffer.getvalue()


def with_stated_size(content: bytes, unpacked: int) -> bytes:
    """Return a one-entry archive whose directory states this unpacked size."""
    at = content.rindex(b"PK\x01\x02") + 24
    return content[:at] + unpacked.to_bytes(4, "little") + content[at + 4 :]


def encrypted(content: bytes) -> bytes:
    """Return a one-entry archive whose entry is marked as encrypted."""
    local, listed = content.index(b"PK\x03\x04") + 6, content.rindex(b"PK\x01\x02") + 8
    marked = bytearray(content)
    marked[local] |= 1
    marked[listed] |= 1
    return bytes(marked)
