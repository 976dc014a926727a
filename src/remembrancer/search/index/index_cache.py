"""A cache of space indexes within a memory budget."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

from .space_index import IndexView, SpaceIndex

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

    def erase(self, space: Hashable, events: Sequence[int], *, since: int, revision: int) -> None:
        """Remove events from the index of a space, which is at `revision` now.

        An index that is not loaded or not at `since`, the revision before, is left to be reloaded,
        as is one that loses many events.
        """
        if len(events) > _ERASED_ONE_BY_ONE_MAX:
            return
        with self._lock:
            index = self._indexes.get(space)
        if index is None:
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
        with self._lock:
            index = self._indexes.get(space)
        return 0 if index is None else index.own_parts

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
