"""Fuzz target: content is opened by the reader of its type, or refused with a reason.

A case is the type, a line feed, and the content. The types `name` and `base64` are the name of a
file and its content as it is sent.
"""

from __future__ import annotations

import io
import json
import unicodedata
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from typing import cast, get_args
from xml.etree import ElementTree as ET

import matplotlib.figure
import pypdf
from files.archives import PDF, PNG, archive, encrypted, png

from remembrancer.files import readers
from remembrancer.files.files import safe_extension, safe_name
from remembrancer.files.readers import NotReadable
from remembrancer.files.types import ContentInvalid, content_of
from remembrancer.protocol import limits
from remembrancer.protocol.files import FileType

_KINDS = get_args(FileType)
_SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><g id="a"/><text>x &amp; y</text></svg>'


def seeds() -> Iterator[bytes]:
    """Yield a small file of each type."""
    contents = {
        "png": [PNG, png(3, 5, pixels=bytes(range(4)) * 5), *_pictures("png")],
        "pdf": [PDF, *_pictures("pdf"), _document()],
        "zip": [
            archive({"a.txt": b"some text", "folder/b.txt": b"more text"}),
            encrypted(archive({"a.txt": b"a"})),
        ],
        "svg": [_SVG, *_pictures("svg")],
        "json": [b'{"a": [1, 2.5e3, null, true, "\\u00e9"], "b": {}}'],
        "csv": [b'a,"b ""x"""\n1,2\n', b"a;b\tc\n1;2\n"],
        "py": [b"def f(x: int = 3) -> str:\n    return f'{x!r}' * 2\n"],
        "txt": [b"any text"],
        "name": [b"../report.final.csv", "über  \u3164 con.txt".encode()],
        "base64": [b"data:image/png;base64,aGVsbG8=", b"aGVs\nbG8-_w"],
    }
    for kind, files in contents.items():
        for content in files:
            yield kind.encode() + b"\n" + content


def _pictures(kind: str) -> Iterator[bytes]:
    """Yield an empty figure that matplotlib saved."""
    buffer = io.BytesIO()
    matplotlib.figure.Figure(figsize=(0.2, 0.2)).savefig(buffer, format=kind)
    yield buffer.getvalue()


def _document() -> bytes:
    """Return a document of two pages that pypdf wrote."""
    document, buffer = pypdf.PdfWriter(), io.BytesIO()
    document.add_blank_page(9, 9)
    document.add_blank_page(9, 9)
    document.write(buffer)
    return buffer.getvalue()


def check(data: bytes) -> None:
    """Open content. Raises AssertionError if it is accepted but other programs cannot read it."""
    named, _, content = data.partition(b"\n")
    kind = named.decode("ascii", "replace")
    if kind == "name":
        _check_name(content.decode("utf-8", "replace"))
    elif kind == "base64":
        _check_base64(content.decode("utf-8", "replace"))
    elif kind in _KINDS:
        try:
            note = readers.check(content, cast(FileType, kind))
        except NotReadable as refusal:
            assert str(refusal).isprintable()
            return
        assert note is None or note.isprintable()
        _check_accepted(content, kind)


def _check_accepted(content: bytes, kind: str) -> None:
    if kind == "json":
        with suppress(RecursionError):
            json.loads(content)
    elif kind == "svg":
        assert ET.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314
    elif kind == "zip":
        with zipfile.ZipFile(io.BytesIO(content)) as opened:
            for entry in opened.infolist():
                assert not entry.filename.startswith("/")
                assert ".." not in entry.filename.split("/")


def _check_name(requested: str) -> None:
    extension = safe_extension(requested.rpartition(".")[2])
    name = safe_name(requested, extension)
    assert len(name) <= limits.FILENAME_CHARACTERS_MAX
    assert len(name.encode()) <= limits.FILENAME_BYTES_MAX
    assert not set(name) & set('/\\\0\n:*?"<>|')
    assert not name.startswith((".", "-", " "))
    assert name.isprintable()
    assert unicodedata.is_normalized("NFC", name)


def _check_base64(text: str) -> None:
    try:
        content_of(text, "png")
    except ContentInvalid as refusal:
        assert str(refusal).isprintable()
