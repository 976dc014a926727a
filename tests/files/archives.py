"""Valid and hostile files of the binary types, made by hand."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence

_PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>"


def png(width: int = 2, height: int = 2, *, pixels: bytes | None = None) -> bytes:
    """Return a picture of one byte a pixel; `pixels` are the lines, each after its filter."""
    lines = bytes(height * (width + 1)) if pixels is None else pixels
    parts = [
        (b"IHDR", struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


def pdf(pages: Sequence[bytes] = (_PAGE,)) -> bytes:
    """Return a document of these page objects."""
    kids = " ".join(f"{number} 0 R" for number in range(3, 3 + len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>".encode(),
        *pages,
    ]
    content, index = b"%PDF-1.4\n", b""
    for number, part in enumerate(objects, 1):
        index += b"%010d 00000 n \n" % len(content)
        content += b"%d 0 obj\n%b\nendobj\n" % (number, part)
    size = len(objects) + 1
    return (
        content
        + b"xref\n0 %d\n0000000000 65535 f \n" % size
        + index
        + b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (size, len(content))
    )


PNG = png()
PDF = pdf()


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
