"""Names that one thread of a process holds at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class NamedLocks:
    """Locks by name, made as they are needed. Safe to use from many threads."""

    def __init__(self) -> None:
        self._held: set[str] = set()
        self._changed = threading.Condition()

    @contextmanager
    def lock(self, names: Sequence[str], *, wait: bool) -> Iterator[bool]:
        """Hold them all for the block; False: another holds one, and there was no waiting."""
        asked = set(names)
        with self._changed:
            if wait:
                self._changed.wait_for(lambda: not asked & self._held)
            elif asked & self._held:
                asked = set()
            self._held |= asked
        try:
            yield bool(asked) or not names
        finally:
            with self._changed:
                self._held -= asked
                self._changed.notify_all()
