"""Index entries: words and vectors of texts, computed in batches, in this process or in others."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ...settings import available_bytes, end_with
from ..embedders.multilingual import MultilingualEmbedder, load
from ..embedders.port import (
    CHARACTERS_MAX,
    Embedder,
    EmbedderUnavailable,
    NoEmbedder,
    Vectors,
)
from ..embedders.regressions import load_regression
from ..embedders.serving import quantize
from ..text.analysis import COUNT_MAX, EMPTY, IN_SESSION, REPEATED, SUSPECT, Passage, analyze
from ..text.machine_text import MACHINE_NOTICE, Twin, is_machine_turn, twin_of

# --- Index entries: the words and vectors of texts, computed in batches before they are stored

_log = logging.getLogger(__name__)
# Version of the format and the analysis. Entries of other versions are renewed in the background.
VERSION = 4
READABLE = (1, 2, 3, 4)  # versions that can be searched until then
_BYTES, _NUMBERS = ("side", "language", "flags", "spare"), ("speaker", "length", "terms")
HEAD = np.dtype([(one, "u1") for one in _BYTES] + [(one, "<u4") for one in _NUMBERS])
# `twins` is 1 if the event's twin (near_duplicates.py), reduced to 32 bits, follows its counts.
_START = np.dtype([("version", "u1"), ("twins", "u1"), ("parts", "<u2"), ("terms", "<u4")])
_TWIN = np.dtype("<u4")
Array = npt.NDArray[Any]
LONG_PASSAGE_CHARACTERS = 800  # embedded of a passage that is longer than an embedder reads
# Number within the space, session, occurred_ms, words, vectors.
PackedEntry: TypeAlias = tuple[int, int, int, bytes, bytes | None]

# Flag of an event that looks like a prompt injection (screening.py).
INSTRUCTION_LIKE = "instruction_like"


class OwnSentence(NamedTuple):
    """A sentence of a user: its place in the message, in characters, and its text."""

    start: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventText:
    """The text of an event: two sides, such as a question and its answer, and its time.

    `occurred_ms` is in ms since 1970, UTC. `spoken` are sentences of the query that are embedded
    beside it and not stored.
    """

    query: str
    response: str
    topic: str | None
    occurred_ms: int
    spoken: tuple[OwnSentence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """The searchable form of an event, computed before the transaction because models are slow."""

    words: bytes
    vectors: bytes | None
    by: str  # the analysis and embedder that made it: see analysis_id
    flags: tuple[str, ...] = ()  # of the event
    twin: Twin | None = None  # what it has in common with its near duplicates
    # (len(spoken of the text), 512): vectors of the built-in embedder; None if another one made it
    spoken: Vectors | None = field(default=None, compare=False)

    @property
    def is_machine_notice(self) -> bool:
        """Return True if only a machine wrote the event."""
        return MACHINE_NOTICE in self.flags


def index_entries(
    embedder: Embedder, turns: Sequence[EventText], *, needs_vectors: bool = False
) -> list[IndexEntry]:
    """Return the index entries of turns, embedded in one batch.

    While a remote embedder does not answer, the entries have words alone, as without an embedder,
    so that nothing is lost; maintenance adds the vectors. With `needs_vectors` this raises
    EmbedderUnavailable.
    """
    analyses = [_analysis(turn) for turn in turns]
    passages = [part.text for parts, _, _ in analyses for part in parts]
    # Of a very long one the beginning: a vector of so much text says little, and embedding it takes
    # most of the time of a large turn. Only those of texts beyond 64 usual ones are that long.
    texts = [
        one[:LONG_PASSAGE_CHARACTERS] if len(one) > CHARACTERS_MAX else one for one in passages
    ]
    by, vectors, spoken = analysis_id(embedder), None, None
    # In one batch: a few texts more cost little, because the weights are read once for all.
    beside = [one.text for turn in turns for one in turn.spoken]
    if not isinstance(embedder, MultilingualEmbedder):
        beside = []
    try:
        coded = embedder.encode(texts + beside) if texts else None
        if coded is not None and coded.shape[1]:
            vectors = quantize(coded[: len(texts)])
            spoken = coded[len(texts) :] if beside else None
    except EmbedderUnavailable as error:
        if needs_vectors or not embedder.is_remote:
            raise
        _log.warning("%d texts are stored without vectors: %s", len(texts), error)
        by = analysis_id(NoEmbedder())
    is_empty = load_regression("empty", embedder.name) if vectors is not None else None
    entries, start, said = [], 0, 0
    for turn, (parts, flags, twin) in zip(turns, analyses, strict=True):
        end, first, said = start + len(parts), said, said + len(turn.spoken)
        if is_empty is not None and coded is not None:
            for part, vector in zip(parts, coded[start:end], strict=True):
                part.flags |= EMPTY if is_empty.odds(vector) > 0 else 0
        entries.append(
            IndexEntry(
                words=pack(parts, twin),
                vectors=None if vectors is None else vectors[start:end].tobytes(),
                by=by,
                flags=flags,
                twin=twin,
                spoken=None if spoken is None else spoken[first:said],
            )
        )
        start = end
    return entries


def _analysis(turn: EventText) -> tuple[list[Passage], tuple[str, ...], Twin | None]:
    """Return the passages of an event, its flags, and what it shares with near duplicates."""
    is_machine = is_machine_turn(turn.query, turn.response)
    of_turn: dict[str, Any] = {"topic": turn.topic, "occurred_ms": turn.occurred_ms}
    parts = analyze(query=turn.query, response=turn.response, is_machine=is_machine, **of_turn)
    is_suspect = any(part.flags & SUSPECT for part in parts)
    flags = {INSTRUCTION_LIKE: is_suspect, MACHINE_NOTICE: is_machine}
    twin = twin_of(turn.query, turn.response, is_machine=is_machine)
    return parts, tuple(name for name, is_set in flags.items() if is_set), twin


def unpack_repaired(
    rows: Sequence[PackedEntry], dimensions: int, text_of: Callable[[int], EventText]
) -> EntryBatch:
    """Convert rows to arrays like `unpack`, analyzing damaged or outdated words again.

    `said` returns the text of an event by its number.
    """
    try:
        return unpack(rows, dimensions)
    except EntryDamaged:
        return unpack([_repaired(row, dimensions, text_of) for row in rows], dimensions)


def _repaired(
    row: PackedEntry, dimensions: int, text_of: Callable[[int], EventText]
) -> PackedEntry:
    try:
        unpack([row], dimensions)
    except EntryDamaged:
        parts, _, twin = _analysis(text_of(row[0]))
        return (*row[:3], pack(parts, twin), row[4])
    return row


def analysis_id(embedder: Embedder) -> str:
    """Identify the analysis and embedder that make entries; a change makes them stale."""
    return f"{embedder.name} words/{VERSION}"


class EntryDamaged(ValueError):
    """The bytes of a row cannot be read; its words must be rebuilt from its text."""


def pack(parts: Sequence[Passage], twin: Twin | None = None) -> bytes:
    """Serialize the parts of one event, and what it has in common with its near duplicates."""
    heads = np.zeros(len(parts), HEAD)
    for head, part in zip(heads, parts, strict=True):
        head["side"], head["language"], head["flags"] = part.side, part.language, part.flags
        head["speaker"], head["length"], head["terms"] = part.speaker, part.length, len(part.terms)
    if twin is not None and twin.in_session:
        heads["flags"] |= IN_SESSION
    terms = np.array([term for part in parts for term in part.terms], "<u4")
    counts = np.array(
        [min(count, COUNT_MAX) for part in parts for count in part.terms.values()], "u1"
    )
    start = np.array([(VERSION, twin is not None, len(parts), len(terms))], _START)
    packed = start.tobytes() + heads.tobytes() + terms.tobytes() + counts.tobytes()
    return packed if twin is None else packed + (twin.number & 0xFFFFFFFF).to_bytes(4, "little")


def repeated(words: bytes) -> bytes:
    """Return the words of an entry marked as those of an event that repeats an earlier one."""
    parts = int(np.frombuffer(words, _START, 1)["parts"][0])
    start, end = _START.itemsize, _START.itemsize + HEAD.itemsize * parts
    heads = np.frombuffer(words[start:end], HEAD).copy()
    heads["flags"] |= REPEATED
    return words[:start] + heads.tobytes() + words[end:]


@dataclass(frozen=True, slots=True)
class EntryBatch:
    """Events as arrays, in the order of their numbers; P parts, T postings."""

    event: Array  # (P,) i8: number of the event within its space
    session: Array  # (P,) i8
    occurred_ms: Array  # (P,) i8
    head: Array  # (P,) HEAD
    twin: Array  # (P,) u4: equal for near duplicates; 0 = not known
    vectors: Array  # (P, dimensions) i1; a row of zeros where there is none
    term: Array  # (T,) u4
    part: Array  # (T,) i8: place of the part within this batch
    count: Array  # (T,) u1

    def __len__(self) -> int:
        return len(self.event)


def unpack(rows: Sequence[PackedEntry], dimensions: int) -> EntryBatch:
    """Convert rows (event number, session, occurred_ms, words, vectors or None) to arrays.

    Raises EntryDamaged.
    """
    events, sessions, times, words, blobs = zip(*rows, strict=True) if rows else ((),) * 5
    parts, postings, has_twin = _sizes(words)
    firsts = _START.itemsize + HEAD.itemsize * parts
    lasts = firsts + 4 * postings
    ends = lasts + postings
    bounds = list(zip(words, firsts.tolist(), lasts.tolist(), ends.tolist(), strict=True))
    head = np.frombuffer(
        b"".join([one[_START.itemsize : first] for one, first, _, _ in bounds]), HEAD
    )
    term = np.frombuffer(b"".join([one[first:last] for one, first, last, _ in bounds]), "<u4")
    count = np.frombuffer(b"".join([one[last:end] for one, _, last, end in bounds]), "u1")
    twin = np.zeros(len(words), _TWIN)
    twin[has_twin] = np.frombuffer(b"".join([one[end:] for one, _, _, end in bounds]), _TWIN)
    sums = np.r_[0, np.cumsum(head["terms"], dtype="i8")]
    if (sums[np.cumsum(parts)] != np.cumsum(postings)).any():
        raise EntryDamaged("the term counts of an event's parts do not match its terms")
    sizes = (parts * dimensions).tolist()
    vectors = [
        one if one is not None and len(one) == size else bytes(size)
        for one, size in zip(blobs, sizes, strict=True)
    ]
    return EntryBatch(
        event=np.repeat(np.array(events, "i8"), parts),
        session=np.repeat(np.array(sessions, "i8"), parts),
        occurred_ms=np.repeat(np.array(times, "i8"), parts),
        head=head,
        twin=np.repeat(twin, parts),
        vectors=np.frombuffer(b"".join(vectors), "i1").reshape(len(head), dimensions),
        term=term,
        part=np.repeat(np.arange(len(head)), head["terms"]),
        count=count,
    )


def _sizes(words: Sequence[bytes]) -> tuple[Array, Array, Array]:
    """Return the numbers of parts and of terms in each row, and if it has a twin.

    Raises EntryDamaged.
    """
    lengths = np.array([len(one) for one in words], "i8")
    if (lengths < _START.itemsize).any():
        raise EntryDamaged(f"{lengths.min()} bytes are too short for a header of {_START.itemsize}")
    starts = np.frombuffer(b"".join([one[: _START.itemsize] for one in words]), _START)
    parts, postings = starts["parts"].astype("i8"), starts["terms"].astype("i8")
    unknown = ~np.isin(starts["version"], READABLE)
    if unknown.any():
        raise EntryDamaged(f"words of version {starts['version'][unknown][0]}, not {VERSION}")
    has_twin = starts["twins"] == 1
    sizes = _START.itemsize + HEAD.itemsize * parts + 5 * postings + _TWIN.itemsize * has_twin
    wrong = (parts == 0) | (lengths != sizes)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise EntryDamaged(f"{lengths[at]} bytes for {parts[at]} parts and {postings[at]} terms")
    return parts, postings, has_twin


# --- Index entries made by several processes, for work with many texts such as an import -----

Turns: TypeAlias = Sequence[EventText]
Entries: TypeAlias = list[IndexEntry]
T = TypeVar("T")

PROCESSES_MAX = 2  # more would wait for the process that stores what they make
PROCESS_BYTES = 300_000_000  # of memory that each takes
TEXTS_MIN = 2_000  # for fewer, starting processes takes longer than they save


class EntryMaker:
    """Makes index entries: in other processes, if it has some and they work, else in this one."""

    def __init__(
        self, embedder: Embedder, pool: ProcessPoolExecutor | None = None, processes: int = 0
    ) -> None:
        self._embedder, self._pool = embedder, pool
        self.ahead = 2 * processes  # how many batches to begin before the first one is taken

    def begin(self, turns: Turns) -> Callable[[], Entries]:
        """Begin the entries of some turns; the function that is returned gives them.

        It raises EmbedderUnavailable.
        """
        here = partial(index_entries, self._embedder, turns)
        if self._pool is None:
            return here
        try:
            return partial(self._finish, self._pool.submit(_entries, turns), here)
        except BrokenProcessPool:
            return here

    def _finish(self, future: Future[Entries], here: Callable[[], Entries]) -> Entries:
        try:
            return future.result()
        except BrokenProcessPool as error:  # one was killed, perhaps for its memory
            _log.warning("index entries are made in one process: %s", error)
            self.ahead = 0
            return here()

    def in_order(self, steps: Iterable[T]) -> Iterator[T]:
        """Yield what an iterable begins, in its order, after it has begun `ahead` more."""
        waiting = deque[T]()
        for one in steps:
            waiting.append(one)
            while len(waiting) > self.ahead:
                yield waiting.popleft()
        yield from waiting


@contextmanager
def entry_maker(embedder: Embedder, texts: int, processors: int) -> Iterator[EntryMaker]:
    """Yield what makes the entries of so many texts: several processes where that is faster.

    Only the built-in embedder is shared out: others use all processors themselves, or wait for an
    endpoint, and without one words alone take less time than to pass them on.
    """
    processes = min(processors, PROCESSES_MAX)
    is_shared = isinstance(embedder, MultilingualEmbedder)
    memory = available_bytes()
    # twice, because others need memory, too
    has_memory = memory is None or memory > 2 * processes * PROCESS_BYTES
    if texts < TEXTS_MIN or processes < 2 or not (is_shared and has_memory):
        yield EntryMaker(embedder)
        return
    # not forked: this process has threads
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _prepare, (os.getpid(),))
    with _interrupts_ignored():
        for _ in range(processes):  # each starts one, because none is idle yet
            pool.submit(_entries, [])
    try:
        yield EntryMaker(embedder, pool, processes)
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ignore SIGINT, also in processes that are started meanwhile: it interrupts their imports."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _prepare(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the parent decides
    end_with(parent)
    load()


def _entries(turns: Turns) -> Entries:
    return index_entries(MultilingualEmbedder(), turns)
