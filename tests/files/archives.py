"""Archives, honest and not."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

PNG = b"\x89PNG\r\n\x1a\n" + bytes(17)
PDF = b"%PDF-1.7\n%%EOF\n"


def archive(entries: Mapping[str, bytes], *, mode: int | None = None) -> bytes:
    """A ZIP of these contents by name, deflated; `mode` is the kind and the rights of each entry."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name)
            entry.filename = name  # as it is, also where ZipInfo would have mended it
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (mode or 0o100644) << 16
            made.writestr(entry, content)
    return held.getvalue()


def saying(made: bytes, unpacked: int) -> bytes:
    """An archive of one entry whose list of contents says that it unpacks to so many bytes."""
    at = made.rindex(b"PK\x01\x02") + 24
    return made[:at] + unpacked.to_bytes(4, "little") + made[at + 4 :]


def encrypted(made: bytes) -> bytes:
    """An archive of one entry that says it is encrypted."""
    local, listed = made.index(b"PK\x03\x04") + 6, made.rindex(b"PK\x01\x02") + 8
    marked = bytearray(made)
    marked[local] |= 1
    marked[listed] |= 1
    return bytes(marked)
