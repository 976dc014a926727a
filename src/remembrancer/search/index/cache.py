"""The indexes of the spaces in use, within a budget of memory:

the least lately used one goes first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

from .space_index import IndexView, SpaceIndex

# each costs a copy of the marks; beyond this, reading all of the space again is cheaper
_ERASED_ONE_BY_ONE_MAX = 256

_WANTED_MAX = 100  # more are asked for again


class IndexCache:
    """Indexes by what they are of, such as the id of a space. Safe to use from many threads."""

    def __init__(self, *, memory_bytes: int, dimensions: int) -> None:
        self._memory_bytes = memory_bytes
        self._dimensions = dimensions
        self._lock = threading.Lock()
        self._indexes: OrderedDict[Hashable, SpaceIndex] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}
        self._total = 0
        self._wanted: dict[Hashable, None] = {}
        self.is_wanted = threading.Event()

    def take(self, space: Hashable) -> SpaceIndex:
        """The index of a space, empty when it was not here; whoever takes it brings it up to date
        under its lock.
        """
        with self._lock:
            index = self._indexes.get(space)
            if index is None:
                index = self._indexes[space] = SpaceIndex(self._dimensions)
            self._indexes.move_to_end(space)
            return index

    def holds(self, space: Hashable, *, revision: int, end: int, within: int) -> bool:
        """Whether the index of a space is here and lacks at most `within` of the events before
        `end`: no lock is waited for.
        """
        with self._lock:
            index = self._indexes.get(space)
        return index is not None and index.revision >= revision and index.next_event + within >= end

    def view(
        self, space: Hashable, *, revision: int, end: int, fill: Callable[[SpaceIndex], None]
    ) -> IndexView:
        """The index of a space brought up to date: `fill` takes in what is missing before number
        `end`.

        It is read anew when `revision` went up: then something that it holds has changed.
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
        """Take events out of the index of a space, which erasing them brought to `revision`.

        An index that is further behind than that one step, or not here, is left to be read anew; so
        is one that loses many.
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

    def weigh(self, space: Hashable, index: SpaceIndex) -> None:
        """Count anew what an index takes after it changed, and let go of others when the budget is
        spent.
        """
        with self._lock:
            if self._indexes.get(space) is not index:
                return
            size = index.nbytes
            self._total += size - self._sizes.get(space, 0)
            self._sizes[space] = size
            while self._total > self._memory_bytes and len(self._indexes) > 1:
                oldest, _ = self._indexes.popitem(last=False)
                self._total -= self._sizes.pop(oldest, 0)

    def want(self, wanted: Hashable) -> None:
        """Note what whoever reads in the background needs to know of a space whose index was asked
        for and is not here.
        """
        with self._lock:
            if len(self._wanted) < _WANTED_MAX:
                self._wanted[wanted] = None
        self.is_wanted.set()

    def wanted(self) -> list[Hashable]:
        """What was asked for since this was called last, in the order of the asking."""
        with self._lock:
            self.is_wanted.clear()
            asked, self._wanted = list(self._wanted), {}
        return asked

    def drop(self, space: Hashable) -> None:
        """Forget the index of a space; the next search builds it anew."""
        with self._lock:
            self._indexes.pop(space, None)
            self._total -= self._sizes.pop(space, 0)

    def close(self) -> None:
        """Let go of every index. Idempotent."""
        with self._lock:
            self._indexes.clear()
            self._sizes.clear()
            self._total = 0
