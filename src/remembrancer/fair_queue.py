"""Share threads and places fairly: of the groups that wait, the least served comes first.

A group is an account, or None: all callers that are not known yet. Served is the time that the
work of a group needed (start-time fair queueing: Goyal, Vin, Cheng, "Start-time Fair Queuing",
SIGCOMM 1996). A group that has not waited for some time does not save up time, and a group that has
just come is served next, however many of another group wait.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from typing import Any, Generic, TypeVar

T = TypeVar("T")
SHARED_SECONDS = 2.0  # after another group's work, in which a queue counts as shared
_MEMORY_PAUSE_S = 0.05  # of an idle thread that has no memory to wait with
_SERVED_MIN = 1e-6  # seconds that count as soon as work is taken, so that another group comes next


class FairQueue(Generic[T]):
    """A queue of work by group. Thread-safe. Within a group: first in, first out."""

    def __init__(self, running_max: int | None = None, *, alone_max: int | None = None) -> None:
        """Create an empty queue.

        `running_max`: the most work of a group that is taken and not charged yet, while others use
        the queue too; `alone_max`: the same while none does.
        """
        self._running_max, self._alone_max = running_max, alone_max
        self._last_group: Hashable = None
        self._shared_until = 0.0  # monotonic seconds
        self._running = Counter[Hashable]()
        self._changed = threading.Condition()
        self._waiting: dict[Hashable, deque[T]] = {}
        self._served: dict[Hashable, float] = {}  # seconds, of groups above `_now` or waiting
        self._now = 0.0  # seconds served to the group that was taken last
        self._getters = 0  # threads in `get`
        self._is_closed = False

    def __len__(self) -> int:
        with self._changed:
            return sum(map(len, self._waiting.values()))

    def put(self, group: Hashable, work: T) -> bool:
        """Add work of a group; return True if more waits than threads wait for work.

        Raises RuntimeError after `close`.
        """
        with self._changed:
            if self._is_closed:
                raise RuntimeError("the queue is closed")
            if group not in self._waiting:
                self._waiting[group] = deque()
                self._served[group] = max(self._served.get(group, 0.0), self._now)
            self._waiting[group].append(work)
            if group is not None and group != self._last_group:
                if self._last_group is not None:
                    self._shared_until = time.monotonic() + SHARED_SECONDS
                self._last_group = group
            self._changed.notify()
            # A thread that was notified counts until it has taken its work, as the work does.
            return sum(map(len, self._waiting.values())) > self._getters

    def get(self, seconds: float | None = None) -> tuple[Hashable, T] | None:
        """Wait for work and return it with its group; None once closed and empty.

        Raises TimeoutError if none comes in so many `seconds`.
        """
        with self._changed:
            self._getters += 1
            try:
                while (item := self._take()) is None:
                    if self._is_closed and not self._waiting:
                        return None
                    if not self._changed.wait(seconds) and not self._waiting:
                        raise TimeoutError
                return item
            finally:
                self._getters -= 1

    def get_nowait(self) -> tuple[Hashable, T] | None:
        """Return work with its group, or None if nothing waits that may be taken."""
        with self._changed:
            return self._take()

    def charge(self, group: Hashable, seconds: float) -> None:
        """Count the time that taken work of a group needed; it is done."""
        with self._changed:
            self._served[group] = max(self._served.get(group, 0.0), self._now) + seconds
            if self._running_max is None:
                return
            self._running[group] -= 1
            if not self._running[group]:
                del self._running[group]
            self._changed.notify()

    def remove(self, group: Hashable, work: T) -> bool:
        """Take work out; return False if it does not wait."""
        with self._changed:
            waiting = self._waiting.get(group)
            if waiting is None or work not in waiting:
                return False
            waiting.remove(work)
            if not waiting:
                del self._waiting[group]
            return True

    def remove_newest_of_longer(self, group: Hashable) -> T | None:
        """Take out and return the newest work of the group that waits for most.

        None unless that group would still wait for more than `group` with one more.
        """
        with self._changed:
            longest = max(self._waiting, key=lambda one: len(self._waiting[one]), default=group)
            own = len(self._waiting.get(group, ()))
            if len(self._waiting.get(longest, ())) <= own + 1:
                return None
            return self._waiting[longest].pop()

    def close(self) -> None:
        """Accept no more work; what waits is still served. Idempotent."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _take(self) -> tuple[Hashable, T] | None:
        is_shared = time.monotonic() < self._shared_until
        alone_max = self._running_max if is_shared else self._alone_max
        groups = [
            group
            for group in self._waiting
            if (most := self._running_max if group is None else alone_max) is None
            or self._running[group] < most
        ]
        if not groups:
            return None
        group = min(groups, key=lambda one: self._served[one])
        if self._running_max is not None:
            self._running[group] += 1
        work = self._waiting[group].popleft()
        self._now = self._served[group]
        self._served[group] += _SERVED_MIN
        if not self._waiting[group]:
            del self._waiting[group]
        if len(self._served) > 2 * len(self._waiting) + 64:
            self._served = {
                one: seconds
                for one, seconds in self._served.items()
                if one in self._waiting or seconds > self._now
            }
        return group, work


class FairThreads:
    """Threads that do the work of groups in fair turns, started as they are needed."""

    def __init__(
        self,
        threads: int,
        name: str,
        *,
        threads_of_group: int | None = None,
        threads_alone: int | None = None,
    ) -> None:
        """Create a pool.

        `threads_of_group`: the most that work for one group at the same time, while another uses
        the pool too; `threads_alone`: the same while none does. More would share the interpreter's
        lock with the work of others.
        """
        self._most, self._name = threads, name
        self._queue: FairQueue[tuple[Future[Any], Callable[[], Any]]] = FairQueue(
            threads_of_group, alone_max=threads_alone
        )
        self._lock = threading.Lock()  # guards the field below
        self._threads: list[threading.Thread] = []

    def __len__(self) -> int:
        """Return how much work waits for a thread."""
        return len(self._queue)

    def submit(self, group: Hashable, work: Callable[[], T]) -> Future[T]:
        """Have work of a group done on a thread. Raises RuntimeError after `shutdown`.

        Raises MemoryError if the system starts no thread and the pool has none.
        """
        future: Future[T] = Future()
        item = (future, work)
        if not self._queue.put(group, item):
            return future
        with self._lock:
            if len(self._threads) < self._most:
                name = f"{self._name}-{len(self._threads)}"
                thread = threading.Thread(target=self._work, name=name, daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # no memory for its stack, or too many threads
                    if not self._threads and self._queue.remove(group, item):
                        raise MemoryError("no thread can be started") from error
                else:
                    self._threads.append(thread)
        return future

    def shutdown(self) -> None:
        """Wait until all work is done and the threads have ended. Idempotent."""
        self._queue.close()
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join()

    def _work(self) -> None:
        while (item := self._queue.get_nowait() or self._wait()) is not None:
            group, (future, work) = item
            if future.set_running_or_notify_cancel():
                start = time.perf_counter()
                try:
                    result = work()
                except BaseException as error:  # noqa: BLE001  the caller gets it
                    future.set_exception(error)
                else:
                    future.set_result(result)
                    del result
                self._queue.charge(group, time.perf_counter() - start)
            del item, future, work  # free them while waiting for the next

    def _wait(self) -> tuple[Hashable, tuple[Future[Any], Callable[[], Any]]] | None:
        while True:
            try:
                return self._queue.get()
            except MemoryError:  # no thread would replace one that ended here
                time.sleep(_MEMORY_PAUSE_S)


class FairPlaces:
    """A number of places that groups take in fair turns, with a bounded number of waiters."""

    def __init__(self, places: int, waiting_max: int) -> None:
        self._free, self._waiting_max = places, waiting_max
        self._lock = threading.Lock()  # guards `_free` and changes of the queue
        self._queue: FairQueue[Future[bool]] = FairQueue()  # of who waits: True for a place

    @property
    def free(self) -> int:
        """The number of places that nobody has."""
        return self._free

    @property
    def waiting(self) -> int:
        """The number of waiters."""
        return len(self._queue)

    def take(self, group: Hashable, check: Callable[[], None], seconds: float) -> bool:
        """Wait for a place, and call `check` every so many seconds; it may raise.

        Return False if too many wait: the newest of the group that waits for most.
        """
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            if len(self._queue) >= self._waiting_max:
                refused = self._queue.remove_newest_of_longer(group)
                if refused is None:
                    return False
                refused.set_result(False)
            waiter = Future[bool]()
            self._queue.put(group, waiter)
        try:
            while wait([waiter], seconds).not_done:
                check()
        except BaseException:
            with self._lock:
                is_waiting = self._queue.remove(group, waiter)
            if not is_waiting and waiter.result():  # it came at this very moment
                self.give_back(group, 0.0)
            raise
        return waiter.result()

    def give_back(self, group: Hashable, seconds: float) -> None:
        """Give a place back that a group had for so many seconds."""
        self._queue.charge(group, seconds)
        with self._lock:
            item = self._queue.get_nowait()
            if item is None:
                self._free += 1
            else:
                item[1].set_result(True)
