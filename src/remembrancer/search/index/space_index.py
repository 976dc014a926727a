"""The search index of one space as arrays: columns of its parts, their vectors, their postings.

It is derived from rows and only grows at its end; erased events are marked, not moved. Searches use
an immutable `IndexView`, so they need no lock while new events arrive.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .entries import EntryBatch
from .postings import EMPTY, PostingRun, PostingTail, find_terms, merge_runs, seal_run

Array = npt.NDArray[Any]

# Postings scanned for each query word: 65,536 take about 20 microseconds.
TAIL_POSTINGS_MAX = 1 << 16
# Runs of similar size to merge into one: keeps both look-ups and merges few.
RUNS_PER_TIER = 4
CACHED_TERMS_MAX = 256  # terms whose postings a view caches
# If all parts have nearly the same length, small differences must not matter.
LENGTH_SPREAD_MIN = 0.1
NONE = -1  # no neighbour
# Each erased event costs a copy of the deletion marks; beyond this, reloading is cheaper.
_ERASED_ONE_BY_ONE_MAX = 256
_ERASED_PARTS_MIN = 256  # of an index; fewer are not worth reloading it
_REQUESTS_MAX = 100  # further requests are dropped; the next search repeats them

_COLUMNS: dict[str, str] = {
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
    log_length: tuple[float, float]  # mean and standard deviation of log(1 + length)
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

    def frequency(self, term: int) -> int:
        """Return the number of parts of the space that contain a term."""
        return (
            len(self.find(term)[0]) if self.frequencies is None else self.frequencies.get(term, 0)
        )


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
        self._columns = {name: np.zeros(0, kind) for name, kind in _COLUMNS.items()}
        self._alive = np.zeros(0, bool)
        self._vectors: list[Array] = []
        self._vector_tail = np.zeros((0, dimensions), "i1")
        self._vector_tail_used = 0
        self._runs: list[PostingRun] = []
        self._tail = {
            "terms": np.zeros(0, "u4"),
            "parts": np.zeros(0, "u4"),
            "counts": np.zeros(0, "u1"),
        }
        self._tail_used = 0
        self._last_of_session: dict[int, int] = {}
        self._languages = np.zeros(256, "i8")
        self._speakers: set[int] = set()
        self._flags = 0
        # Running sums over the parts alive, so that a new view does not have to visit them all.
        self._events = self._parts = self._words = 0
        self._logs = self._squares = 0.0
        self._view: IndexView | None = None

    def add(self, batch: EntryBatch, next_event: int) -> None:
        """Append the events of a batch, which come after all events in the index."""
        start, parts = self._size, len(batch)
        if parts:
            self._add_columns(batch, start)
            self._add_vectors(batch.vectors)
            self._add_postings(batch, start)
            self._languages += np.bincount(batch.head["language"], minlength=256)
            self._speakers.update(np.unique(batch.head["speaker"]).tolist())
            self._speakers.discard(0)
            self._flags |= int(np.bitwise_or.reduce(batch.head["flags"]))
            self._count(slice(start, start + parts), 1)
        self._size = start + parts
        self.next_event = next_event
        self._view = None

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
        logs = np.log1p(lengths.astype("f8"))
        self._events += sign * int(np.count_nonzero(np.diff(self._columns["event"][span])) + 1)
        self._parts += sign * len(lengths)
        self._words += sign * int(lengths.sum())
        self._logs += sign * float(logs.sum())
        self._squares += sign * float((logs * logs).sum())

    @property
    def nbytes(self) -> int:
        """Memory use in bytes, including mapped files."""
        arrays = [
            *self._columns.values(),
            self._alive,
            *self._vectors,
            self._vector_tail,
            *self._tail.values(),
        ]
        return sum(array.nbytes for array in arrays) + sum(run.nbytes for run in self._runs)

    def view(self) -> IndexView:
        """Return the current state. Cheap if nothing changed since the last call."""
        if self._view is None:
            self._view = self._make_view()
        return self._view

    def _make_view(self) -> IndexView:
        tail = (
            PostingTail(*(array[: self._tail_used] for array in self._tail.values()))
            if self._tail_used
            else EMPTY
        )
        vectors = tuple(self._vectors)
        if self._vector_tail_used:
            vectors = (*vectors, self._vector_tail[: self._vector_tail_used])
        mean = self._logs / self._parts if self._parts else 0.0
        variance = self._squares / self._parts - mean * mean if self._parts else 0.0
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
            log_length=(mean, max(variance, LENGTH_SPREAD_MIN**2) ** 0.5),
            languages=tuple(int(n) for n in order if self._languages[n] > 0),
            speakers=frozenset(self._speakers),
            flags=self._flags,
        )

    def _add_columns(self, batch: EntryBatch, start: int) -> None:
        end = start + len(batch)
        if end > len(self._alive):
            capacity = max(64, end + end // 2)
            self._columns = {
                name: _resized(array, capacity) for name, array in self._columns.items()
            }
            self._alive = _resized(self._alive, capacity)
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
        for first, last in zip(firsts, lasts, strict=True):
            key = int(ordered[first])
            previous[order[first]] = self._last_of_session.get(key, NONE)
            self._last_of_session[key] = int(places[last])
        self._columns["previous"][start : start + len(session)] = previous
        linked = previous >= 0
        self._columns["next"][previous[linked]] = np.flatnonzero(linked) + start

    def _add_vectors(self, vectors: Array) -> None:
        if (
            len(vectors) >= 4096 and not self._vector_tail_used
        ):  # a large batch becomes a block of its own
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
            joined = {name: np.concatenate([self._tail[name][:used], new[name]]) for name in new}
            self._seal(seal_run(joined["terms"], joined["parts"], joined["counts"]))
            self._tail = {name: array[:0] for name, array in self._tail.items()}
            self._tail_used = 0
            return
        if end > len(self._tail["terms"]):
            self._tail = {
                name: _resized(array, max(1024, end + end // 2))
                for name, array in self._tail.items()
            }
        for name, values in new.items():
            self._tail[name][used:end] = values
        self._tail_used = end

    def _seal(self, run: PostingRun) -> None:
        self._runs.append(run)
        while len(self._runs) >= RUNS_PER_TIER:
            last = self._runs[-RUNS_PER_TIER:]
            if len(last[0].parts) > 2 * RUNS_PER_TIER * len(last[-1].parts):
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


class IndexCache:
    """Space indexes within a memory budget. Thread-safe.

    The least recently used index is evicted first.
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
        with self._lock:
            index = self._indexes.get(space)
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

    def erase(self, space: Hashable, events: Sequence[int], *, revision: int) -> None:
        """Remove events from the index of a space, at `revision` of the space.

        An index that is not loaded or not at the previous revision is left to be reloaded, as is
        one that loses many events.
        """
        if len(events) > _ERASED_ONE_BY_ONE_MAX:
            return
        with self._lock:
            index = self._indexes.get(space)
        if index is None:
            return
        with index.lock:
            if index.revision == revision - 1:
                for event in events:
                    if event < index.next_event:
                        index.erase(event)
                index.revision = revision
                if index.is_mostly_erased:  # or steady erasing would fill the memory
                    index.clear()

    def weigh(self, space: Hashable, index: SpaceIndex) -> None:
        """Update the size of a changed index, and evict others if the budget is exceeded."""
        with self._lock:
            if self._indexes.get(space) is not index:
                return
            size = index.nbytes
            self._total += size - self._sizes.get(space, 0)
            self._sizes[space] = size
            while self._total > self._memory_bytes and len(self._indexes) > 1:
                oldest, _ = self._indexes.popitem(last=False)
                self._total -= self._sizes.pop(oldest, 0)

    def request(self, key: Hashable) -> None:
        """Request the loading of an index by the background thread.

        `wanted` identifies it to that thread.
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
