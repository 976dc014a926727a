"""Named locks within one process."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class NamedLocks:
    """Locks by name, created on demand. Safe to use from many threads."""

    def __init__(self) -> None:
        self._locked: set[str] = set()
        self._changed = threading.Condition()

    @contextmanager
    def lock(self, names: Sequence[str], *, wait: bool) -> Iterator[bool]:
        """Hold all locks for the block. Yields False if another thread holds one and `wait` is
        False.
        """
        requested = set(names)
        with self._changed:
            if wait:
                self._changed.wait_for(lambda: not requested & self._locked)
            elif requested & self._locked:
                requested = set()
            self._locked |= requested
        try:
            yield bool(requested) or not names
        finally:
            with self._changed:
                self._locked -= requested
                self._changed.notify_all()
