"""The table of shapes, and how a source is recognised and read.

Each shape is defined beside its readers. `detect` tries them in order, so that a shape with few
signs comes after those with more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from ..records import FORMAT, MANIFEST
from . import conversations, markdown, memories
from .documents import Sample, Shape, Source, SourceDocument
from .records import ImportRefused, InvalidRecord, LeftOutRecord, Reason, Record, one_line

SAMPLES_MAX = 200  # files of a folder or archive that are sampled
_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson", ".af", "")

SHAPES = (
    memories.HINDSIGHT,
    conversations.CHATGPT,
    conversations.CLAUDE,
    conversations.CLAUDE_CODE,
    conversations.CODEX,
    memories.CLAUDE_MEM,
    memories.LETTA,
    memories.MEM0,
    memories.GRAPHITI,
    conversations.EVENTS,
    conversations.OPENAI,
    markdown.BASIC_MEMORY,
    markdown.MARKDOWN,
)
NAMES = tuple(shape.name for shape in SHAPES)
_BY_NAME = {shape.name: shape for shape in SHAPES}
_NOTES = ("basic-memory", "markdown")


class ShapeUnknown(ImportRefused):
    """The source has none of the shapes."""


def shape_named(name: str) -> Shape:
    """Return a shape. Raises ShapeUnknown."""
    if name not in _BY_NAME:
        raise ShapeUnknown(f"--shape {one_line(name, 60)}: known shapes are {', '.join(NAMES)}")
    return _BY_NAME[name]


def is_native_archive(documents: list[SourceDocument]) -> bool:
    """Return True for the archive or folder of an export of this service.

    No shape reads it: it is restored, not imported.
    """
    return any(one.name == MANIFEST and FORMAT in one.sample().text for one in documents)


def detect(path: Path) -> Shape:
    """Return the shape of a file, archive or folder. Raises ShapeUnknown, ImportRefused."""
    source = Source.at(path)
    with source.documents() as documents:
        if is_native_archive(documents):
            raise ImportRefused(f"{path}: an export of Remembrancer, which no shape reads")
        if source.kind == "file":
            return _of_file(documents[0])
        shape, complaint = _of_many(documents)
        if shape is not None:
            return shape
        if complaint:
            raise ImportRefused(complaint)
        names = ", ".join(one_line(one.name, 60) for one in documents[:5]) or "no files"
        kind = {"archive": "an archive", "folder": "a folder"}[source.kind]
        raise _unknown(path, f"{kind} with {len(documents):,} files ({names})")


def _of_many(documents: list[SourceDocument]) -> tuple[Shape | None, str]:
    """Return the first shape in the table that a document has, and a reason why one is no JSON."""
    candidates = (one for one in documents if any(_has_name(one, shape) for shape in SHAPES))
    names: set[str] = set()
    complaint = ""
    for document in islice(candidates, SAMPLES_MAX):
        sample = document.sample()  # not kept: it may be large
        names |= {
            shape.name
            for shape in SHAPES
            if _has_name(document, shape) and _matches(shape, document, sample)
        }
        complaint = complaint or ("" if sample.items else sample.complaint)
    return next((shape for shape in SHAPES if shape.name in names), None), complaint


def _of_file(document: SourceDocument) -> Shape:
    sample = document.sample()
    for shape in SHAPES:
        has_name = shape.name not in _NOTES or _has_name(document, shape)
        if has_name and _matches(shape, document, sample):
            return shape
    suffix = Path(document.name).suffix.lower()
    if sample.complaint and not sample.items and suffix in _JSON_SUFFIXES:
        raise ImportRefused(sample.complaint)
    if sample.layout == "text" and (not sample.text.strip() or suffix in (".jsonl", ".ndjson")):
        return _BY_NAME["events"]  # reports its first line, or that there is none
    raise _unknown(document.path or Path(document.name), _seen_in(sample))


def _seen_in(sample: Sample) -> str:
    if sample.layout == "sqlite":
        return "a SQLite database without claude-mem's tables"
    if sample.items:
        keys = ", ".join(one_line(key, 40) for key in list(sample.items[0])[:8])
        return f"JSON ({sample.layout}) of objects with {keys or 'no members'}"
    if sample.layout in ("list", "object"):
        return f"an empty JSON {sample.layout}, or one without objects"
    return f"text that begins with {one_line(sample.text, 40)!r}"


SHAPE_HINT = "--shape NAME reads it as one of them"  # of the command


def _unknown(path: Path, content: str) -> ShapeUnknown:
    return ShapeUnknown(
        f"{path}: not a known shape: {content}. Known shapes: {', '.join(NAMES)}. {SHAPE_HINT}"
    )


def _has_name(document: SourceDocument, shape: Shape) -> bool:
    return re.search(shape.files + r"$", document.base, re.IGNORECASE) is not None


def _matches(shape: Shape, document: SourceDocument, sample: Sample) -> bool:
    if sample.layout == "sqlite":
        return shape.name == "claude-mem" and memories.is_claude_mem_database(document)
    return shape.matches(sample)


def records(source: Source, shape: Shape) -> Iterator[Record]:
    """Yield the records of a source, in order. Raises ImportRefused where it cannot be read on."""
    with source.documents() as documents:
        yield from source.ignored
        if source.kind == "file":
            yield from _reader(shape, documents)(documents[0])
            return
        read = _reader(shape, documents)
        for document in documents:
            try:
                if _is_readable(shape, document):
                    yield from read(document)
                else:
                    yield LeftOutRecord(place=document.place, reason=Reason.OTHER_FILE)
            except ImportRefused as error:
                yield InvalidRecord(place=document.place, reason=_without_place(error, document))


def _reader(
    shape: Shape, documents: list[SourceDocument]
) -> Callable[[SourceDocument], Iterator[Record]]:
    """Return the reader of a shape, with the bank of Hindsight's archive."""
    if shape.name != "hindsight":
        return shape.read
    manifest = next((one for one in documents if one.base == "manifest.json"), None)
    return partial(memories.read_hindsight, bank=memories.bank_of(manifest) if manifest else None)


def _is_readable(shape: Shape, document: SourceDocument) -> bool:
    """Return True if a file of a folder has the shape, or is broken, which its reader reports."""
    if shape.name in _NOTES or not _has_name(document, shape):
        return _has_name(document, shape)
    sample = document.sample()
    return bool(sample.complaint and not sample.items) or _matches(shape, document, sample)


def _without_place(error: ImportRefused, document: SourceDocument) -> str:
    return str(error).removeprefix(document.place).lstrip(":, ")
