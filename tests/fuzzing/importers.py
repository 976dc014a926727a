"""Fuzz target: any file is imported or refused; what is refused stores nothing, and twice is once.

A case is the name of a file, a line feed, and its content. A name that ends in `/` is a folder and
one that ends in `.zip/` an archive; their content is files, each after a line `--- name`. An
archive named `export.zip/` has the manifest that its members need.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from zlib import crc32

from exchange_files import exported, fill_all, members, written
from memory.asking import Memory, memory_in
from service import rows

from remembrancer import testing
from remembrancer.memory.exchange import importer
from remembrancer.memory.exchange.archive import Archive, is_export
from remembrancer.memory.exchange.check import ExportCheck
from remembrancer.memory.exchange.record_index import RecordIndex
from remembrancer.memory.exchange.restore import restore
from remembrancer.memory.exchange.shapes.records import ImportRefused
from remembrancer.memory.exchange.source import ExportSource

STORED_ONE_OF = 10
_SAMPLES = Path(__file__).parents[1] / "memory" / "exchange" / "samples"
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_SEPARATOR = b"\n--- "


def seeds() -> Iterator[bytes]:
    """Yield the samples of every shape, as files, a folder and an archive, and our own exports."""
    for sample in sorted(_SAMPLES.iterdir()):
        if not sample.is_dir():
            continue
        files = {
            path.relative_to(sample).as_posix(): path.read_bytes()
            for path in sorted(sample.rglob("*"))
            if path.is_file()
        }
        for name, content in files.items():
            yield name.rpartition("/")[2].encode() + b"\n" + content
        if len(files) > 1:
            yield b"folder/" + joined(files)
            yield b"files.zip/" + joined(files)
    yield b'events.jsonl\n{"user_id": "a", "query": "q", "response": "r", "topic": null}\n'
    yield b"export.zip/" + joined(_export())


def joined(files: Mapping[str, bytes]) -> bytes:
    """Return files as the content of a case."""
    return b"".join(_SEPARATOR + name.encode() + b"\n" + text for name, text in files.items())


@cache
def _export() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        context = testing.context(Path(folder))
        try:
            fill_all(context)
            return members(exported(context, Path(folder, "export.zip")))
        finally:
            context.close()


class _ImportTarget:
    """An empty memory, opened anew after something was stored."""

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="fuzz-importers-")
        self.folder = Path(self._temporary.name)
        self.memory: Memory | None = None

    def empty(self) -> Memory:
        """Return a memory in which nothing is stored."""
        if self.memory is None:
            folder = self.folder / "data"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            self.memory = memory_in(testing.context(folder))
        return self.memory

    def written(self, data: bytes) -> Path | None:
        """Write the files of a case into an empty folder; return what is to be imported."""
        folder = self.folder / "files"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return _written(data, folder)

    def discard(self) -> None:
        """Close the memory."""
        if self.memory is not None:
            self.memory.context.close()
            self.memory = None

    def close(self) -> None:
        """Close the memory and delete the files."""
        self.discard()
        self._temporary.cleanup()


@cache
def _target() -> _ImportTarget:
    target = _ImportTarget()
    atexit.register(target.close)
    return target


def check(data: bytes) -> None:
    """Import a file, twice. Raises AssertionError if it is refused and something is stored."""
    target = _target()
    path = target.written(data)
    if path is None:
        return
    memory = target.empty()
    before = rows(memory.context)
    try:
        stored = _imported(memory, path)
    except ImportRefused as refusal:
        message = str(refusal)
        assert message.startswith(str(path)), message
        assert message.isprintable(), message
        assert rows(memory.context) == before, message
        return
    except BaseException:
        target.discard()
        raise
    if stored:
        after = rows(memory.context)
        assert _imported(memory, path) == 0
        assert rows(memory.context) == after
        target.discard()


def probe(data: bytes) -> None:
    """Check one case in STORED_ONE_OF; of the others, read the file to its end.

    Storing takes ten times as long.
    """
    if crc32(data) % STORED_ONE_OF == 0:
        check(data)
        return
    target = _target()
    path, memory = target.written(data), target.empty()
    if path is None:
        return
    with suppress(ImportRefused):
        if is_export(path):
            with Archive(path) as archive, RecordIndex() as index:
                source = ExportSource(archive=archive, settings=memory.context.settings)
                ExportCheck(memory.context, memory.caller, source, index).run(lambda _: None)
            return
        for _ in importer.read(memory.caller, path):
            pass


def _imported(memory: Memory, path: Path) -> int:
    """Import a path as the command does; return the number of new records."""
    if is_export(path):
        return restore(memory.context, memory.caller, path).stored
    source = importer.read(memory.caller, path)
    return importer.store(memory.context, memory.caller, source).stored


def _written(data: bytes, folder: Path) -> Path | None:
    """Write the files of a case; return the path to import, None if it has no usable name."""
    first, _, content = data.partition(b"\n")
    name = _name(first.rstrip(b"/"))
    if not first.endswith(b"/"):
        path = folder / name
        path.write_bytes(content)
        return path
    files: dict[str, bytes] = {}
    for part in (b"\n" + content).split(_SEPARATOR)[1:]:
        member, _, text = part.partition(b"\n")
        files["/".join(_name(step) for step in member.split(b"/"))] = text
    if name == "export.zip":
        with suppress(KeyError, ValueError, TypeError):
            return written(folder / name, {**_export(), **files})
        return None
    if name.endswith(".zip"):
        return _archived(folder / name, files)
    for place, inside in files.items():
        path = folder / name / place
        with suppress(OSError):  # a file in place of a folder
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(inside)
    (folder / name).mkdir(exist_ok=True)
    return folder / name


def _archived(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def _name(text: bytes) -> str:
    """Return a name that any file system has."""
    letters = text[:80].decode("ascii", "ignore")
    name = "".join(letter for letter in letters if letter in _NAME_CHARACTERS).lstrip(".")
    return name or "file"
