"""Open what is imported, a file, the members of a .zip archive or the files of a folder, and read
the objects of JSON documents.

Members of an archive are read in memory, chunk by chunk, and are never written to disk: their
names are labels, and a name such as `../../x` has no effect. Symbolic links of a folder are not
followed.
"""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from ....protocol import limits
from .json_stream import elements, json_lines, parse, raw_lines, whole_value
from .records import (
    Entry,
    ImportRefused,
    LeftOutRecord,
    MaybeEntry,
    Reason,
    Record,
    object_at,
    one_line,
)
from .zips import ZIP_ERRORS, is_zip, open_zip

FILES_MAX = 500_000  # files of a folder
SAMPLE_BYTES = 1 << 20  # of a file, to recognise its shape
SAMPLE_LINES = 50
SAMPLE_ELEMENTS = 3  # of a list
SAMPLE_ENTRIES = 200  # of an object
SQLITE_HEADER = b"SQLite format 3\x00"
JSON = r"\.(json|jsonl|ndjson)"  # `files` of a shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The beginning of a document.

    `layout` is "lines", "list", "object", "text" or "sqlite"; `items` are the first objects: lines,
    elements, or the object itself with the first elements of each list; `complaint` says why it is
    no JSON.
    """

    layout: str
    items: tuple[dict[str, Any], ...] = ()
    text: str = ""
    complaint: str = ""


def any_item(matches: Callable[[dict[str, Any]], bool]) -> Callable[[Sample], bool]:
    """Return a function that returns True if one of the first objects matches."""
    return lambda sample: any(map(matches, sample.items))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDocument:
    """One file, or one member of an archive. `place` names it in messages."""

    name: str  # relative to its folder or archive
    place: str
    path: Path | None  # None in an archive
    modified_at: datetime | None
    opener: Callable[[], BinaryIO]

    @property
    def base(self) -> str:
        """The name without folders."""
        return self.name.replace("\\", "/").rpartition("/")[2]

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the document for reading. Raises ImportRefused."""
        try:
            stream = self.opener()
        except (*ZIP_ERRORS, ValueError, OSError) as error:
            raise ImportRefused(f"{self.place}: {_describe(error)}") from error
        with stream:
            yield stream

    def sample(self) -> Sample:
        """Return its beginning. Raises ImportRefused for a file that cannot be read."""
        with self.opened() as stream:
            head = stream.read(SAMPLE_BYTES)
        if head.startswith(SQLITE_HEADER):
            return Sample(layout="sqlite")
        return _sample(head, is_whole=len(head) < SAMPLE_BYTES, reopen=self)


@dataclass(frozen=True, slots=True)
class Shape:
    """Data of a product: name, title for people, and names of files in a folder or archive."""

    name: str
    title: str
    files: str  # a regular expression of the end of the name without folders
    matches: Callable[[Sample], bool]
    read: Callable[[SourceDocument], Iterator[Record]]


@dataclass(slots=True)
class Source:
    """A file, an archive or a folder to import.

    `bytes_read` counts unpacked bytes; `unpacked_bytes` is what an open archive declares.
    """

    path: Path
    kind: str = "file"  # or "archive", "folder"
    bytes_read: int = 0
    unpacked_bytes: int = 0
    ignored: list[LeftOutRecord] = field(default_factory=list)

    @classmethod
    def at(cls, path: Path) -> Source:
        """Return the source at a path. Raises ImportRefused for anything but a file or folder."""
        try:
            if path.is_dir():
                return cls(path, "folder")
            if not path.is_file():
                reason = "not a regular file" if path.exists() else "no such file"
                raise ImportRefused(f"{path}: {reason}")
            if not path.stat().st_size:  # of an interrupted download, for example
                raise ImportRefused(f"{path} is empty")
            is_archive = is_zip(path)
        except (OSError, ValueError) as error:
            if isinstance(error, ImportRefused):
                raise
            raise ImportRefused(f"{path}: {_describe(error)}") from error
        return cls(path, "archive" if is_archive else "file")

    @contextmanager
    def documents(self) -> Iterator[list[SourceDocument]]:
        """Open the source and return its documents, those of upper folders first.

        Raises ImportRefused.
        """
        self.bytes_read = 0
        self.ignored = []
        if self.kind == "file":
            yield [self._file(self.path, self.path.name, str(self.path))]
        elif self.kind == "folder":
            yield sorted(self._walk(), key=_order)
        else:
            with open_zip(self.path) as archive:
                self.unpacked_bytes = sum(entry.file_size for entry in archive.infolist())
                yield sorted(self._members(archive), key=_order)

    def _file(self, path: Path, name: str, place: str) -> SourceDocument:
        try:
            modified_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        except (OSError, ValueError, OverflowError):
            modified_at = None

        def opener() -> BinaryIO:
            flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
            if self.kind == "folder":
                flags |= getattr(os, "O_NOFOLLOW", 0)
            return _counted(self, os.fdopen(os.open(path, flags), "rb"), place)

        return SourceDocument(
            name=name, place=place, path=path, modified_at=modified_at, opener=opener
        )

    def _walk(self) -> Iterator[SourceDocument]:
        count = 0
        for folder, folders, names in os.walk(self.path, onerror=self._refuse):
            for name in sorted(folders):
                if (Path(folder) / name).is_symlink():
                    self.ignored.append(LeftOutRecord(place=f"{folder}/{name}", reason=Reason.LINK))
            folders[:] = [name for name in sorted(folders) if not name.startswith(".")]
            for name in sorted(names):
                path = Path(folder) / name
                count += 1
                if count > FILES_MAX:
                    raise ImportRefused(f"{self.path}: more than {FILES_MAX:,} files")
                try:
                    mode = path.lstat().st_mode
                except OSError as error:
                    raise ImportRefused(f"{path}: {_describe(error)}") from error
                if stat.S_ISLNK(mode):
                    self.ignored.append(LeftOutRecord(place=str(path), reason=Reason.LINK))
                elif stat.S_ISREG(mode) and not name.startswith("."):
                    relative = path.relative_to(self.path).as_posix()
                    yield self._file(path, relative, _printable(str(path)))

    def _refuse(self, error: OSError) -> None:
        raise ImportRefused(f"{error.filename}: {_describe(error)}") from error

    def _members(self, archive: zipfile.ZipFile) -> Iterator[SourceDocument]:
        for entry in archive.infolist():
            if entry.filename.endswith("/"):  # a folder; a name may also be empty
                continue
            place = f"{self.path}/{_printable(entry.filename)}"
            yield SourceDocument(
                name=entry.filename,
                place=place,
                path=None,
                modified_at=None,
                opener=partial(self._open_member, archive, entry, place),
            )

    def _open_member(
        self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, place: str
    ) -> BinaryIO:
        return _counted(self, archive.open(entry), place)


def _order(document: SourceDocument) -> tuple[int, str]:
    return document.name.count("/"), document.name


def _printable(name: str) -> str:
    return name if name.isprintable() and len(name) < limits.PATH_CHARACTERS_MAX else one_line(name)


def _describe(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return one_line(error) or type(error).__name__


class _Counted(io.RawIOBase):
    """Counts bytes read, and names the place in errors."""

    def __init__(self, source: Source, stream: Any, place: str) -> None:
        super().__init__()
        self._source, self._stream, self._place = source, stream, place

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._stream.read(len(buffer))
        except (*ZIP_ERRORS, ValueError, OSError) as error:
            raise ImportRefused(f"{self._place}: {_describe(error)}") from error
        self._source.bytes_read += len(data)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def _counted(source: Source, stream: Any, place: str) -> BinaryIO:
    return io.BufferedReader(_Counted(source, stream, place), 1 << 16)


def _sample(head: bytes, *, is_whole: bool, reopen: SourceDocument) -> Sample:
    text = head.decode("utf-8-sig", "replace")
    start = text.lstrip()
    if not start.startswith(("[", "{")):
        return Sample(layout="text", text=text)
    if start.startswith("{"):
        lines, count = _line_objects(head, is_whole=is_whole)
        # A list over several lines in an object ends in a line that is an object, too.
        if 2 * len(lines) >= count and lines and (count > 1 or not is_whole):
            return Sample(layout="lines", items=lines, text=text)
    items, complaint = _first_elements(reopen)
    layout = "object" if start.startswith("{") else "list"
    return Sample(layout=layout, items=tuple(items), text=text, complaint=complaint)


def _first_elements(document: SourceDocument) -> tuple[list[dict[str, Any]], str]:
    """Return the first objects of a JSON text, and why it cannot be read on.

    Of an object: the object itself, with the first elements of each list.
    """
    items: list[dict[str, Any]] = []
    whole: dict[str, Any] = {}
    complaint = ""
    try:
        with document.opened() as stream:
            for key, index, value in islice(elements(stream, document.place), SAMPLE_ENTRIES):
                if key is None:
                    items += [value] if isinstance(value, dict) else []
                    if index is None or index + 1 >= SAMPLE_ELEMENTS:
                        break
                elif index is None:
                    whole[key] = value
                elif index < SAMPLE_ELEMENTS:
                    members = whole.setdefault(key, [])
                    if isinstance(members, list):  # a repeated key may have had another value
                        members.append(value)
    except ImportRefused as error:
        complaint = str(error)
    return [*items, *([whole] if whole else [])], complaint


def _line_objects(head: bytes, *, is_whole: bool) -> tuple[tuple[dict[str, Any], ...], int]:
    """Return the objects on the first lines, and the number of lines read, complete or not."""
    items, count = [], 0
    if not is_whole:
        head = head[: head.rfind(b"\n") + 1]
    for _, raw in islice(raw_lines(io.BytesIO(head), ""), SAMPLE_LINES):
        count += 1
        try:
            value = parse(raw.decode())
        except ValueError:
            if count == 1 and re.fullmatch(rb"\{", raw):
                return (), count  # an object over several lines
            continue
        if isinstance(value, dict):
            items.append(value)
    return tuple(items), count


# --- The records of a JSON document ------------------------------------------------------------


def entries(document: SourceDocument) -> Iterator[MaybeEntry]:
    """Yield objects: lines, elements of the list, or elements of the lists in the top object.

    A member of the top object that is no list is yielded once, as its key with the object
    {"value": it}. Raises ImportRefused for JSON that cannot be read on.
    """
    if document.sample().layout == "lines":
        with document.opened() as stream:
            yield from json_lines(stream, document.place)
        return
    with document.opened() as stream:
        for key, index, value in elements(stream, document.place):
            where = f"{document.place}, {key or 'record'} {0 if index is None else index + 1}"
            if key is not None and index is None:
                if value != []:
                    yield Entry(place=f"{document.place}, {key}", value={"value": value}, key=key)
            else:
                yield object_at(where, value, key)


def whole_objects(document: SourceDocument) -> Iterator[MaybeEntry]:
    """Yield objects: lines, elements of the list, or the top object as a whole.

    Raises ImportRefused for JSON that cannot be read on, or for a top object that is too large.
    """
    if document.sample().layout != "object":
        yield from entries(document)
        return
    with document.opened() as stream:
        yield object_at(document.place, whole_value(stream, document.place))
