"""Index entries made by several processes, for work with many texts such as an import."""

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
from functools import partial
from multiprocessing import get_context
from typing import TypeAlias, TypeVar

from ...settings import available_bytes, end_with
from ..embedders.multilingual import MultilingualEmbedder, load
from ..embedders.port import Embedder
from .entries import EventText, IndexEntry, index_entries

Turns: TypeAlias = Sequence[EventText]
Entries: TypeAlias = list[IndexEntry]
T = TypeVar("T")

PROCESSES_MAX = 2  # more would wait for the process that stores what they make
PROCESS_BYTES = 300_000_000  # of memory that each takes
TEXTS_MIN = 2_000  # for fewer, starting processes takes longer than they save
_log = logging.getLogger(__name__)


class EntryMaker:
    """Makes index entries in this process."""

    ahead = 0  # how many batches to begin before the first one is taken

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def begin(self, turns: Turns) -> Callable[[], Entries]:
        """Begin the entries of some turns; the function that is returned gives them.

        It raises EmbedderUnavailable.
        """
        return partial(index_entries, self._embedder, turns)

    def in_order(self, steps: Iterable[T]) -> Iterator[T]:
        """Yield what an iterable begins, in its order, after it has begun `ahead` more."""
        waiting = deque[T]()
        for one in steps:
            waiting.append(one)
            while len(waiting) > self.ahead:
                yield waiting.popleft()
        yield from waiting


class EntryPool(EntryMaker):
    """Makes index entries in other processes, and in this one if they fail."""

    def __init__(self, embedder: Embedder, pool: ProcessPoolExecutor, processes: int) -> None:
        super().__init__(embedder)
        self._pool, self.ahead = pool, 2 * processes

    def begin(self, turns: Turns) -> Callable[[], Entries]:
        """See EntryMaker."""
        try:
            future = self._pool.submit(_entries, turns)
        except BrokenProcessPool:
            return super().begin(turns)
        return partial(self._finish, future, turns)

    def _finish(self, future: Future[Entries], turns: Turns) -> Entries:
        try:
            return future.result()
        except BrokenProcessPool as error:  # one was killed, perhaps for its memory
            _log.warning("index entries are made in one process: %s", error)
            self.ahead = 0
            return super().begin(turns)()


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
        yield EntryPool(embedder, pool, processes)
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
