"""Readers that open the content of a created file as a program of its type would.

They bound the time and memory that a hostile file can take: sizes are checked before anything is
unpacked, and few files are read at the same time.
"""

from __future__ import annotations

import ast
import csv
import io
import logging
import re
import struct
import threading
import warnings
import zipfile
from collections.abc import Callable, Mapping
from itertools import islice
from operator import itemgetter
from typing import Any
from xml.parsers import expat

from pydantic_core import from_json

from ..protocol import limits
from ..protocol.files import FileType

READERS_MAX = 2  # files read at the same time: a picture may take 200 MB
_PDF_READS_MAX = 1_000_000  # of the file by the reader; a large document needs some 100,000
_PDF_END_BYTES = 1024  # of the file, in which its end must be (ISO 32000)
_PDF_DEPTH_MAX = 64  # levels of a page tree
_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 1_000  # by which the delimiter is chosen
_PNG = b"\x89PNG\r\n\x1a\n"
_SVG = "http://www.w3.org/2000/svg"
_PIECE_BYTES = 1 << 20  # of an archive's entry, unpacked at a time
_ZIP_ENTRY = b"PK\x01\x02"
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_PYTHON_NAME = "created file"
_DRIVE = re.compile(r"[A-Za-z]:")
_SYMBOLIC_LINK = 0o120000
_ENCRYPTED = 0x1
_slots = threading.BoundedSemaphore(READERS_MAX)
warnings.filterwarnings("ignore", category=SyntaxWarning, module=_PYTHON_NAME)
csv.field_size_limit(1 << 30)  # a quoted field may be as long as the file


class NotReadable(ValueError):
    """The content is not of its type. The message says why, without repeating the content."""


def check(content: bytes, kind: FileType) -> str | None:
    """Open the content; return a note about it, or None.

    Raises NotReadable. Any text is HTML, Markdown, CSS, JavaScript or plain text: nothing here
    reads those.
    """
    reader = _READERS.get(kind)
    if reader is None:
        return None
    with _slots:
        try:
            return reader(content)
        except NotReadable:
            raise
        except (_ReadTooOftenError, Exception) as error:  # readers raise anything for broken files
            raise NotReadable(
                f"the {kind} file is broken or cut off and cannot be opened"
            ) from error


class _ReadTooOftenError(BaseException):
    """The reader went on for too long. Not an Exception, which readers may catch."""


class _BoundedFile(io.BytesIO):
    """A file that ends a reader that does not come to an end."""

    reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Read bytes. Raises _ReadTooOftenError."""
        self.reads += 1
        if self.reads > _PDF_READS_MAX:
            raise _ReadTooOftenError
        return super().read(size)


def _read_png(content: bytes) -> None:
    if not content.startswith(_PNG):
        raise NotReadable("the content is not a PNG")
    width, height = struct.unpack_from(">2I", content, len(_PNG) + 8)  # of the first part
    if width * height > limits.PNG_PIXELS_MAX:
        raise NotReadable(f"the picture has more than {limits.PNG_PIXELS_MAX:,} pixels")
    from PIL import Image  # here: 10 MB of memory that most servers never need

    with Image.open(io.BytesIO(content), formats=["PNG"]) as picture:
        picture.verify()  # the checksums of all parts
    with Image.open(io.BytesIO(content), formats=["PNG"]) as picture:
        picture.load()  # the pixels


def _read_pdf(content: bytes) -> None:
    if not content.startswith(b"%PDF-"):
        raise NotReadable("the content is not a PDF, which begins with %PDF-")
    end = content.rstrip(b"\0\t\n\f\r ")[-_PDF_END_BYTES:]
    if b"startxref" not in end or b"%%EOF" not in end:  # a reader would search the whole file
        raise NotReadable("the PDF is cut off: its end is missing")
    import pypdf  # here: for servers that create PDFs

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it would log parts of the content
    document = pypdf.PdfReader(_BoundedFile(content), strict=True)
    if document.is_encrypted:
        return  # header and index are good; the pages need the password
    root: Any = document.trailer["/Root"]
    node: Any = root["/Pages"]
    for _ in range(_PDF_DEPTH_MAX):
        children = node.get("/Kids")
        if node.get("/Type") == "/Page" or not children:
            break
        node = children[0].get_object()
    if node.get("/Type") != "/Page":
        raise NotReadable("the PDF has no page")


def _read_zip(content: bytes) -> None:
    """Unpack every entry, without keeping it."""
    if not content.startswith((b"PK\x03\x04", b"PK\x05\x06")):  # the second: an empty archive
        raise NotReadable("the content is not a ZIP archive")
    if content.count(_ZIP_ENTRY) > limits.ZIP_ENTRIES_MAX:  # checked before an entry is read
        raise NotReadable(f"the archive has more than {limits.ZIP_ENTRIES_MAX:,} entries")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        _check_entries(entries, len(content))
        for entry in entries:
            if entry.flag_bits & _ENCRYPTED:
                continue  # it needs the password
            with archive.open(entry) as unpacked:  # at most `file_size` bytes, then its checksum
                while unpacked.read(_PIECE_BYTES):
                    pass


def _check_entries(entries: list[zipfile.ZipInfo], size_bytes: int) -> None:
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > limits.ZIP_UNPACKED_BYTES_MAX:
        raise NotReadable(
            f"the archive unpacks to more than {limits.ZIP_UNPACKED_BYTES_MAX:,} bytes"
        )
    if unpacked > limits.ZIP_RATIO_MAX * size_bytes:
        raise NotReadable(f"the archive unpacks to more than {limits.ZIP_RATIO_MAX} times its size")
    if any(_leads_out(entry) for entry in entries):
        raise NotReadable("the archive has an entry that would be written outside its folder")
    if any(entry.compress_type not in _ZIP_METHODS for entry in entries):
        raise NotReadable("the archive has an entry that is neither stored nor deflated")


def _leads_out(entry: zipfile.ZipInfo) -> bool:
    """Return True if unpacking may write outside the folder:

    an absolute name, a name with `..`, or a symbolic link, through which another entry can write.
    """
    name = entry.orig_filename.replace("\\", "/")
    is_link = (entry.external_attr >> 16) & 0o170000 == _SYMBOLIC_LINK
    is_absolute = name.startswith("/") or _DRIVE.match(name) is not None
    return is_link or is_absolute or ".." in name.split("/") or "\0" in name


def _read_svg(content: bytes) -> None:
    """Parse the XML. No entity is expanded and nothing else is loaded."""
    if len(content) > limits.SVG_BYTES_MAX:
        raise NotReadable(f"an SVG has at most {limits.SVG_BYTES_MAX:,} bytes")
    parser = expat.ParserCreate(namespace_separator=" ")
    depth = elements = 0

    def start(name: str, _: object) -> None:
        nonlocal depth, elements
        elements += 1
        if depth == 0 and name != f"{_SVG} svg":
            raise NotReadable(f'the root element is not <svg xmlns="{_SVG}">')
        depth += 1
        if depth > limits.SVG_DEPTH_MAX:
            raise NotReadable(f"elements are nested more than {limits.SVG_DEPTH_MAX} deep")
        if elements > limits.SVG_ELEMENTS_MAX:
            raise NotReadable(f"there are more than {limits.SVG_ELEMENTS_MAX:,} elements")

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse_entity(*_: object) -> None:
        raise NotReadable("entities must not be declared")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.EntityDeclHandler = refuse_entity
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise NotReadable(f"line {error.lineno} is not XML: {reason}") from None


def _read_json(content: bytes) -> None:
    try:
        from_json(content, allow_inf_nan=False, cache_strings=False)
    except ValueError as error:
        raise NotReadable(f"this is not JSON: {error}") from None


def _read_csv(content: bytes) -> str | None:
    """Read all rows. Rows of different lengths are accepted, with a note."""
    try:
        _, note = _read_rows(content, _delimiter(content))
    except csv.Error as error:
        raise NotReadable(f"this is not CSV: {error}") from None
    return note


def _delimiter(content: bytes) -> str:
    """Return the delimiter that reads the first rows best: the same number of fields, several."""
    candidates = []
    for delimiter in _DELIMITERS:
        try:
            fields, note = _read_rows(content, delimiter, rows_max=_SAMPLE_ROWS)
        except csv.Error:
            continue
        if fields > 1:
            candidates.append((note is not None, delimiter))
    return min(candidates, key=itemgetter(0))[1] if candidates else _DELIMITERS[0]


def _read_rows(
    content: bytes, delimiter: str, rows_max: int | None = None
) -> tuple[int, str | None]:
    """Return the most fields that a row has, and a note if rows differ. Raises csv.Error."""
    first, most, note = 0, 0, None
    file = io.TextIOWrapper(io.BytesIO(content), "utf-8", newline="")
    rows = islice(csv.reader(file, delimiter=delimiter, strict=True), rows_max)
    for number, row in enumerate(rows, 1):
        first, most = first or len(row), max(most, len(row))
        if row and len(row) != first and note is None:
            note = (
                f"Row {number} has {len(row)} fields, the first row {first}: a value that contains "
                "the separator needs quotes."
            )
    return most, note


def _read_python(content: bytes) -> None:
    if len(content) > limits.PYTHON_FILE_BYTES_MAX:
        raise NotReadable(f"a Python file has at most {limits.PYTHON_FILE_BYTES_MAX:,} bytes")
    try:
        ast.parse(content, filename=_PYTHON_NAME)
    except SyntaxError as error:
        reason = re.sub(r"'[^']{2,}'", "a name", error.msg)
        raise NotReadable(f"line {error.lineno} is not Python: {reason}") from None


_READERS: Mapping[FileType, Callable[[bytes], str | None]] = {
    "png": _read_png,
    "pdf": _read_pdf,
    "zip": _read_zip,
    "svg": _read_svg,
    "json": _read_json,
    "csv": _read_csv,
    "py": _read_python,
}
