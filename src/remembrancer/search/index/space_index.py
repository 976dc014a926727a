"""The search index of one space as arrays: its parts, their vectors and postings; and its cache."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .entries import EntryBatch

# --- The postings of a space: which parts contain a term, and how often ----------------------
# Sealed runs are sorted by term; the latest postings are in a tail in the order of their parts.

Array = npt.NDArray[Any]
Found: TypeAlias = Sequence[tuple[list[Array], list[Array]]]  # parts and counts of each term


@dataclass(frozen=True, slots=True)
class PostingRun:
    """Sealed postings. `parts[starts[i]:starts[i + 1]]` contain `terms[i]`; `terms` is sorted.

    `first` is to be added to each of `parts`. The arrays of a run that is mapped are in a file.
    """

    terms: Array  # u4
    starts: Array  # i8, one longer than terms
    parts: Array  # u4, ascending within a term
    counts: Array  # u1
    first: int = 0
    is_mapped: bool = False

    def find(self, terms: Array, found: Found) -> None:
        """Append the parts and counts of each of these terms (u4) to its place in `found`."""
        if not len(self.terms):
            return
        at = np.minimum(self.terms.searchsorted(terms), len(self.terms) - 1)
        places = (self.terms[at] == terms).nonzero()[0]
        at = at[places]
        columns = places.tolist(), self.starts[at].tolist(), self.starts[at + 1].tolist()
        for place, start, end in zip(*columns, strict=True):
            parts = self.parts[start:end]
            found[place][0].append(parts + np.uint32(self.first) if self.first else parts)
            found[place][1].append(self.counts[start:end])

    @property
    def postings(self) -> tuple[Array, Array, Array]:
        """Terms, parts and counts of all postings, sorted by term."""
        terms = np.repeat(self.terms, np.diff(self.starts))
        return terms, self.parts + np.uint32(self.first), self.counts

    @property
    def nbytes(self) -> int:
        """Memory use in bytes; 0 if it is mapped, because the system may take it back."""
        if self.is_mapped:
            return 0
        return self.terms.nbytes + self.starts.nbytes + self.parts.nbytes + self.counts.nbytes


def seal_run(terms: Array, parts: Array, counts: Array) -> PostingRun:
    """Sort postings, which are in the order of their parts, into a run."""
    order = np.argsort(terms, kind="stable")
    terms = terms[order]
    firsts = (
        np.flatnonzero(np.r_[True, terms[1:] != terms[:-1]]) if len(terms) else np.zeros(0, "i8")
    )
    return PostingRun(
        terms[firsts],
        np.r_[firsts, len(terms)].astype("i8"),
        parts[order].astype("u4"),
        counts[order].astype("u1"),
    )


def merge_runs(runs: Sequence[PostingRun]) -> PostingRun:
    """Merge runs whose parts follow each other."""
    columns = zip(*(run.postings for run in runs), strict=True)
    terms, parts, counts = (np.concatenate(column) for column in columns)
    return seal_run(terms, parts, counts)


@dataclass(frozen=True, slots=True)
class PostingTail:
    """Postings not sealed yet; every look-up scans them all, so they are few."""

    terms: Array
    parts: Array
    counts: Array

    def find(self, terms: Array, found: Found) -> None:
        """Append parts and counts like PostingRun.find; `terms` ascend."""
        if not len(self.terms):
            return
        has_term = np.zeros(len(self.terms), bool)
        for term in terms:
            has_term |= self.terms == term
        at = has_term.nonzero()[0]
        at = at[self.terms[at].argsort(kind="stable")]
        ends = self.terms[at].searchsorted(terms, side="right").tolist()
        for place, (start, end) in enumerate(pairwise([0, *ends])):
            if start < end:
                found[place][0].append(self.parts[at[start:end]])
                found[place][1].append(self.counts[at[start:end]])


EMPTY = PostingTail(np.zeros(0, "u4"), np.zeros(0, "u4"), np.zeros(0, "u1"))


def find_terms(
    postings: Sequence[PostingRun | PostingTail], terms: Array
) -> list[tuple[Array, Array]]:
    """Return the parts (u4) and counts (u1) of each of some terms (u4, ascending).

    The terms are looked up together, which takes a third of the time of one after another.
    """
    found: Found = [([], []) for _ in terms]
    for some in postings:
        some.find(terms, found)
    return [
        (parts[0], counts[0])
        if len(parts) == 1
        else (np.concatenate([EMPTY.parts, *parts]), np.concatenate([EMPTY.counts, *counts]))
        for parts, counts in found
    ]


# --- The search index of one space as arrays: columns of its parts, their vectors, their postings
# It is derived from rows and only grows at its end; erased events are marked, not moved. Searches
# use an immutable `IndexView`, so they need no lock while new events arrive.

# Postings scanned for each query word: 65,536 take about 20 microseconds.
TAIL_POSTINGS_MAX = 1 << 16
# Runs of similar size to merge into one: keeps both look-ups and merges few.
RUNS_PER_TIER = 4
CACHED_TERMS_MAX = 256  # terms whose postings a view caches
NONE = -1  # no neighbour
_ERASED_PARTS_MIN = 256  # of an index; fewer are not worth reloading it
_SEGMENT_BYTES = 16_384  # memory of a mapped segment: its objects, its entry in the page table

COLUMNS: dict[str, str] = {
    "event": "i4",  # number of the event within the space
    "side": "u1",
    "language": "u1",
    "flags": "u1",
    "speaker": "u4",
    "length": "u4",
    "session": "i8",
    "occurred_ms": "i8",
    "previous": "i4",  # previous part of its session
    "next": "i4",
    "twin": "u4",  # equal for near duplicates; 0 = not known
    "inverse_norm": "f4",  # of its int8 vector; 0 = it has none
}


@dataclass(frozen=True, slots=True)
class IndexView:
    """One immutable state of the index: `size` parts, some of which may be erased."""

    size: int
    events: int  # not erased
    columns: dict[str, Array]
    vectors: tuple[Array, ...]  # (parts, dimensions) i1, one after the other
    runs: tuple[PostingRun, ...]
    tail: PostingTail
    alive: Array  # (size,) bool
    alive_parts: int
    words: int  # total length of the parts alive
    languages: tuple[int, ...]  # numbers of its languages, most frequent first
    speakers: frozenset[int]
    flags: int = 0  # those that any part has or had
    # Parts of the space by term, if the view has only some of its parts.
    frequencies: Mapping[int, int] | None = None
    cached_postings: dict[int, tuple[Array, Array]] = field(default_factory=dict, repr=False)

    def __getitem__(self, column: str) -> Array:
        return self.columns[column][: self.size]

    @property
    def is_whole(self) -> bool:
        """True if no part is erased."""
        if self.frequencies is not None:  # `alive_parts` are those of the space
            return bool(self.alive.all())
        return self.alive_parts == self.size

    def find(self, term: int) -> tuple[Array, Array]:
        """Return the parts alive that contain a term, and the term's counts."""
        return self.find_all((term,))[0]

    def find_all(self, terms: Sequence[int]) -> list[tuple[Array, Array]]:
        """Return the parts alive that contain each term, and the term's counts.

        Terms are looked up together, and once: a search needs the same ones several times.
        """
        cached = self.cached_postings
        missing = sorted({term for term in terms if term not in cached})
        if not missing:
            return [cached[term] for term in terms]
        matches = find_terms((*self.runs, self.tail), np.array(missing, "u4"))
        if self.alive_parts != self.size:
            matches = [_alive(*one, self.alive) for one in matches]
        if len(cached) + len(missing) > CACHED_TERMS_MAX:
            cached = {term: cached[term] for term in terms if term in cached}
        cached = cached | dict(zip(missing, matches, strict=True))
        # Replaced, never changed: another thread may read it.
        object.__setattr__(self, "cached_postings", cached)
        return [cached[term] for term in terms]

    def frequencies_of(self, terms: Sequence[int]) -> list[int]:
        """Return the number of parts of the space that contain each term."""
        if self.frequencies is not None:
            return [self.frequencies.get(term, 0) for term in terms]
        return [len(parts) for parts, _ in self.find_all(terms)]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRange:
    """The index of a range of events: its own parts from 0, each linked within the range."""

    columns: Mapping[str, Array]  # see COLUMNS; each (parts,)
    vectors: Array  # (parts, dimensions) i1
    run: PostingRun
    languages: Mapping[int, int]  # number of parts by language
    speakers: frozenset[int]
    flags: int  # those that any part has
    events: int
    words: int  # total length of the parts

    def __len__(self) -> int:
        return len(self.vectors)


class SpaceIndex:
    """A growing index: `add` appends events, `erase` marks them, `view()` returns a snapshot."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        # Of the space's rows when they were read; set by the code that fills the index.
        self.revision = 0
        self.lock = threading.Lock()  # required for every change
        self.clear()

    def clear(self) -> None:
        """Remove everything. Existing views stay valid."""
        dimensions = self.dimensions
        self.next_event = 0  # number of the first event that is not in the index
        self._size = 0
        self._columns = {name: np.zeros(0, kind) for name, kind in COLUMNS.items()}
        self._alive = np.zeros(0, bool)
        self._vectors: list[Array] = []
        self._vector_tail = np.zeros((0, dimensions), "i1")
        self._vector_tail_used = 0
        self._runs: list[PostingRun] = []
        self._tail = {
            name: np.zeros(0, kind)
            for name, kind in (("terms", "u4"), ("parts", "u4"), ("counts", "u1"))
        }
        self._tail_used = 0
        self._last_of_session: dict[int, int] = {}
        self._languages = np.zeros(256, "i8")
        self._speakers: set[int] = set()
        self._flags = 0
        # Running sums over the parts alive, so that a new view does not have to visit them all.
        self._events = self._parts = self._words = 0
        self._mapped_bytes = 0  # of vectors in files
        self._segments = self._mapped_parts = 0
        self._view: IndexView | None = None

    def add(self, batch: EntryBatch, next_event: int) -> None:
        """Append the events of a batch, which come after all events in the index."""
        start, parts = self._size, len(batch)
        if parts:
            self._add_columns(batch, start)
            self._add_vectors(batch.vectors)
            self._add_postings(batch, start)
            self._languages += np.bincount(batch.head["language"], minlength=256)
            self._speakers.update(batch.head["speaker"].tolist())
            self._speakers.discard(0)
            self._flags |= int(np.bitwise_or.reduce(batch.head["flags"]))
            self._count(slice(start, start + parts), 1)
        self._size = start + parts
        self.next_event = next_event
        self._view = None

    def attach(self, segment: IndexRange, next_event: int, *, events: int = 0) -> None:
        """Append a range of events that is mapped; they come after all events in the index.

        Its vectors and postings stay in the file. `events` is the number of events that the index
        will have, if known: memory for them is reserved once.
        """
        start, parts = self._size, len(segment)
        following = (start + parts) * max(events - next_event, 0) // max(next_event, 1)
        self._reserve(start + parts, following)
        span = slice(start, start + parts)
        for name, values in segment.columns.items():
            self._columns[name][span] = values
        self._alive[span] = True
        self._link_segment(span)
        self._end_tails()
        self._vectors.append(segment.vectors)
        self._runs.append(replace(segment.run, first=start, is_mapped=True))
        self._mapped_bytes += segment.vectors.nbytes
        self._segments, self._mapped_parts = self._segments + 1, self._mapped_parts + parts
        for language, count in segment.languages.items():
            self._languages[language] += count
        self._speakers |= segment.speakers
        self._flags |= segment.flags
        self._events, self._parts = self._events + segment.events, self._parts + parts
        self._words += segment.words
        self._size = start + parts
        self.next_event = next_event
        self._view = None

    def as_range(self) -> IndexRange:
        """Return all events as one range. The index must have no erased event and no segment."""
        self._end_tails()
        runs = self._runs or [seal_run(EMPTY.terms, EMPTY.parts, EMPTY.counts)]
        return IndexRange(
            columns={name: array[: self._size] for name, array in self._columns.items()},
            vectors=np.concatenate([self._vector_tail[:0], *self._vectors]),
            run=runs[0] if len(runs) == 1 else merge_runs(runs),
            languages={int(n): int(self._languages[n]) for n in np.flatnonzero(self._languages)},
            speakers=frozenset(self._speakers),
            flags=self._flags,
            events=self._events,
            words=self._words,
        )

    def erase(self, event: int) -> bool:
        """Mark an event as erased; return False if it is not in the index."""
        span = slice(*np.searchsorted(self._columns["event"][: self._size], [event, event + 1]))
        if not self._alive[span].any():
            return False
        self._alive = self._alive.copy()  # views use the old array
        self._alive[span] = False
        self._count(span, -1)
        self._view = None
        return True

    @property
    def is_mostly_erased(self) -> bool:
        """Return True if reloading the index would free more than half of its memory."""
        return self._size - self._parts > max(self._parts, _ERASED_PARTS_MIN)

    def _count(self, span: slice, sign: int) -> None:
        lengths = self._columns["length"][span]
        self._events += sign * int(np.count_nonzero(np.diff(self._columns["event"][span])) + 1)
        self._parts += sign * len(lengths)
        self._words += sign * int(lengths.sum())

    @property
    def own_parts(self) -> int:
        """The number of parts that are in memory and in no segment."""
        return self._size - self._mapped_parts

    @property
    def nbytes(self) -> int:
        """Memory use in bytes, without mapped files: the system may take their memory back."""
        columns, tails = self._columns.values(), self._tail.values()
        arrays = [*columns, *tails, self._alive, *self._vectors, self._vector_tail]
        own = sum(array.nbytes for array in arrays) + sum(run.nbytes for run in self._runs)
        return own - self._mapped_bytes + self._segments * _SEGMENT_BYTES

    def view(self) -> IndexView:
        """Return the current state. Cheap if nothing changed since the last call."""
        if self._view is None:
            self._view = self._make_view()
        return self._view

    def _make_view(self) -> IndexView:
        tail = PostingTail(*(array[: self._tail_used] for array in self._tail.values()))
        vectors = tuple(self._vectors)
        if self._vector_tail_used:
            vectors = (*vectors, self._vector_tail[: self._vector_tail_used])
        order = np.argsort(-self._languages, kind="stable")
        return IndexView(
            size=self._size,
            events=self._events,
            columns=dict(self._columns),
            vectors=vectors,
            runs=tuple(self._runs),
            tail=tail,
            alive=self._alive[: self._size],
            alive_parts=self._parts,
            words=self._words,
            languages=tuple(int(n) for n in order if self._languages[n] > 0),
            speakers=frozenset(self._speakers),
            flags=self._flags,
        )

    def _add_columns(self, batch: EntryBatch, start: int) -> None:
        end = start + len(batch)
        self._reserve(end)
        columns, span = self._columns, slice(start, end)
        for name in ("side", "language", "flags", "speaker", "length"):
            columns[name][span] = batch.head[name]
        for name in ("event", "session", "occurred_ms", "twin"):
            columns[name][span] = getattr(batch, name)
        columns["inverse_norm"][span] = _inverse_norms(batch.vectors)
        columns["next"][span] = NONE
        self._alive[span] = True
        self._link(batch.session, start)

    def _link(self, session: Array, start: int) -> None:
        """Link the parts of each session in their order."""
        order = np.argsort(session, kind="stable")
        ordered, places = session[order], order + start
        previous = np.full(len(session), NONE, "i4")
        same = np.flatnonzero(ordered[1:] == ordered[:-1])
        previous[order[same + 1]] = places[same]
        firsts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        lasts = np.r_[firsts[1:] - 1, len(ordered) - 1]
        sessions = ordered[firsts].tolist()
        previous[order[firsts]] = [self._last_of_session.get(one, NONE) for one in sessions]
        self._last_of_session.update(zip(sessions, places[lasts].tolist(), strict=True))
        self._columns["previous"][start : start + len(session)] = previous
        linked = previous >= 0
        self._columns["next"][previous[linked]] = np.flatnonzero(linked) + start

    def _link_segment(self, span: slice) -> None:
        """Number the neighbours of new parts, which are from 0, and link sessions that go on."""
        session = self._columns["session"][span]
        previous, following = self._columns["previous"][span], self._columns["next"][span]
        firsts, lasts = np.flatnonzero(previous == NONE), np.flatnonzero(following == NONE)
        for links in (previous, following):
            links[links != NONE] += span.start
        last_of_session = self._last_of_session
        previous[firsts] = [last_of_session.get(one, NONE) for one in session[firsts].tolist()]
        linked = firsts[previous[firsts] != NONE]
        self._columns["next"][previous[linked]] = linked + span.start
        ends = (lasts + span.start).tolist()
        last_of_session.update(zip(session[lasts].tolist(), ends, strict=True))

    def _reserve(self, parts: int, following: int = 0) -> None:
        """Make the columns long enough for so many parts, and for those that will follow."""
        if parts > len(self._alive):
            capacity = max(64, parts + max(parts // 2, following + following // 8))
            columns = self._columns.items()
            self._columns = {name: _resized(array, capacity) for name, array in columns}
            self._alive = _resized(self._alive, capacity)

    def _end_tails(self) -> None:
        """Make room for vectors and postings in files after the latest ones."""
        if self._vector_tail_used:
            self._vectors.append(self._vector_tail[: self._vector_tail_used])
            self._vector_tail, self._vector_tail_used = self._vector_tail[:0], 0
        if self._tail_used:
            self._seal(seal_run(*(array[: self._tail_used] for array in self._tail.values())))
            self._tail, self._tail_used = {name: one[:0] for name, one in self._tail.items()}, 0

    def _add_vectors(self, vectors: Array) -> None:
        if len(vectors) >= 4096 and not self._vector_tail_used:  # a block of its own
            self._vectors.append(vectors)
            return
        used, end = self._vector_tail_used, self._vector_tail_used + len(vectors)
        if end > len(self._vector_tail):
            self._vector_tail = _resized(self._vector_tail, max(64, end + end // 2))
        self._vector_tail[used:end] = vectors
        self._vector_tail_used = end

    def _add_postings(self, batch: EntryBatch, start: int) -> None:
        used, end = self._tail_used, self._tail_used + len(batch.term)
        new = {"terms": batch.term, "parts": batch.part + start, "counts": batch.count}
        if end > TAIL_POSTINGS_MAX:
            old = self._tail
            self._seal(seal_run(*(np.concatenate([old[name][:used], new[name]]) for name in new)))
            self._tail, self._tail_used = {name: old[name][:0] for name in old}, 0
            return
        if end > len(self._tail["terms"]):
            capacity = max(1024, end + end // 2)
            self._tail = {name: _resized(array, capacity) for name, array in self._tail.items()}
        for name, values in new.items():
            self._tail[name][used:end] = values
        self._tail_used = end

    def _seal(self, run: PostingRun) -> None:
        self._runs.append(run)
        while len(self._runs) >= RUNS_PER_TIER:
            last = self._runs[-RUNS_PER_TIER:]
            is_large = len(last[0].parts) > 2 * RUNS_PER_TIER * len(last[-1].parts)
            if is_large or any(one.is_mapped for one in last):
                break
            self._runs[-RUNS_PER_TIER:] = [merge_runs(last)]


def _alive(parts: Array, counts: Array, alive: Array) -> tuple[Array, Array]:
    chosen = alive[parts]
    return parts[chosen], counts[chosen]


def _resized(array: Array, capacity: int) -> Array:
    larger = np.zeros((capacity, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def _inverse_norms(vectors: Array) -> Array:
    result = np.zeros(len(vectors), "f4")
    if not vectors.shape[1]:
        return result
    for at in range(0, len(vectors), 8192):  # in blocks, to keep the float copy small
        wide = vectors[at : at + 8192].astype("f4")
        squares = np.einsum("ij,ij->i", wide, wide)
        np.divide(1, np.sqrt(squares), out=result[at : at + 8192], where=squares > 0)
    return result


# --- Which events of a space fulfil a condition, for searches that filter --------------------

Find: TypeAlias = Callable[[int], Sequence[int]]
MASK_BYTES_MAX = 32 << 20  # of all masks; the least recently used ones are evicted


class EventMasks:
    """Masks over the events of spaces by condition, within a memory budget. Thread-safe."""

    def __init__(self, memory_bytes: int = MASK_BYTES_MAX) -> None:
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._masks: OrderedDict[tuple[Hashable, str], tuple[int, Array]] = OrderedDict()
        self._total = 0

    def mask(
        self, space: Hashable, condition: str, *, revision: int, end: int, find: Find
    ) -> Array:
        """Return which events before `end` fulfil a condition: (end,) bool, not to be changed.

        `find` returns the numbers of those from a number on. Stored entries have changed if
        `revision` is another one than before.
        """
        key, nothing = (space, condition), np.zeros(0, bool)
        with self._lock:
            known_revision, known = self._masks.get(key, (revision, nothing))
        known = known if known_revision == revision else nothing
        if len(known) >= end:
            return known[:end]
        mask = np.zeros(end, bool)
        mask[: len(known)] = known
        mask[find(len(known))] = True
        with self._lock:
            self._total += end - len(self._masks.pop(key, (0, nothing))[1])
            self._masks[key] = revision, mask
            while self._total > self._memory_bytes and len(self._masks) > 1:
                _, (_, oldest) = self._masks.popitem(last=False)
                self._total -= len(oldest)
        return mask


# --- A cache of space indexes within a memory budget -----------------------------------------

# Each erased event costs a copy of the deletion marks; beyond this, reloading is cheaper.
_ERASED_ONE_BY_ONE_MAX = 256
_REQUESTS_MAX = 100  # further requests are dropped; the next search repeats them


class IndexCache:
    """Space indexes within a memory budget. Thread-safe.

    The least recently used index is evicted first. One that exceeds the budget alone serves the
    search that loaded it and is not cached.
    """

    def __init__(self, *, memory_bytes: int, dimensions: int) -> None:
        self._memory_bytes = memory_bytes
        self._dimensions = dimensions
        self._lock = threading.Lock()
        self._indexes: OrderedDict[Hashable, SpaceIndex] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}
        self._total = 0
        self._requests: dict[Hashable, None] = {}
        self.has_requests = threading.Event()
        self.masks = EventMasks()

    @property
    def nbytes(self) -> int:
        """Memory use of the cached indexes in bytes."""
        return self._total

    def take(self, space: Hashable) -> SpaceIndex:
        """Return the index of a space, an empty one if it is not loaded.

        The caller brings it up to date under the lock of the index.
        """
        with self._lock:
            index = self._indexes.get(space)
            if index is None:
                index = self._indexes[space] = SpaceIndex(self._dimensions)
            self._indexes.move_to_end(space)
            return index

    def holds(self, space: Hashable, *, revision: int, end: int, within: int) -> bool:
        """Return True if an index lacks at most `within` of the events before `end`.

        Waits for no index lock.
        """
        index = self._loaded(space)
        return index is not None and index.revision >= revision and index.next_event + within >= end

    def view(
        self, space: Hashable, *, revision: int, end: int, fill: Callable[[SpaceIndex], None]
    ) -> IndexView:
        """Return an index brought up to date: `fill` adds the events missing before `end`.

        The index is reloaded if `revision` increased: then stored entries have changed.
        """
        index = self.take(space)
        with index.lock:
            if index.revision < revision:
                index.clear()
            if index.next_event < end:
                fill(index)
                self.weigh(space, index)
            index.revision = max(index.revision, revision)
            return index.view()

    def erase(self, space: Hashable, events: Sequence[int], *, since: int, revision: int) -> None:
        """Remove events from the index of a space, which is at `revision` now.

        An index that is not loaded or not at `since`, the revision before, is left to be reloaded,
        as is one that loses many events.
        """
        index = self._loaded(space)
        if index is None or len(events) > _ERASED_ONE_BY_ONE_MAX:
            return
        with index.lock:
            if index.revision == since:
                for event in events:
                    if event < index.next_event:
                        index.erase(event)
                index.revision = revision
                if index.is_mostly_erased:  # or steady erasing would fill the memory
                    index.clear()

    def own_parts(self, space: Hashable) -> int:
        """Return how many parts of the index of a space are in memory and in no segment."""
        index = self._loaded(space)
        return 0 if index is None else index.own_parts

    def _loaded(self, space: Hashable) -> SpaceIndex | None:
        with self._lock:
            return self._indexes.get(space)

    def weigh(self, space: Hashable, index: SpaceIndex) -> None:
        """Update the size of a changed index, and evict others if the budget is exceeded."""
        with self._lock:
            if self._indexes.get(space) is not index:
                return
            size = index.nbytes
            self._total += size - self._sizes.get(space, 0)
            self._sizes[space] = size
            if size > self._memory_bytes:  # it must not evict the indexes of all other spaces
                del self._indexes[space], self._sizes[space]
                self._total -= size
            while self._total > self._memory_bytes and len(self._indexes) > 1:
                oldest, _ = self._indexes.popitem(last=False)
                self._total -= self._sizes.pop(oldest, 0)

    def request(self, key: Hashable) -> None:
        """Request the loading of an index by the background thread.

        `key` identifies it to that thread.
        """
        with self._lock:
            if len(self._requests) < _REQUESTS_MAX:
                self._requests[key] = None
        self.has_requests.set()

    def take_requests(self) -> list[Hashable]:
        """Return the requests since the last call, oldest first."""
        with self._lock:
            self.has_requests.clear()
            requests, self._requests = list(self._requests), {}
        return requests

    def drop(self, space: Hashable) -> None:
        """Discard the index of a space; the next search rebuilds it."""
        with self._lock:
            self._indexes.pop(space, None)
            self._total -= self._sizes.pop(space, 0)

    def close(self) -> None:
        """Discard every index. Idempotent."""
        with self._lock:
            self._indexes.clear()
            self._sizes.clear()
            self._total = 0
            self.masks = EventMasks()
