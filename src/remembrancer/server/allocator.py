"""Make the C library's allocator return memory to the operating system.

By default glibc raises its limits with every large block that is freed, up to 32 MiB, and gives
every few threads an arena of their own. A flood of large requests then leaves fragments in all of
them; `python -m bench.soak` compares the memory before and after one.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# parameters of mallopt(3)
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8

# Larger blocks are mapped one by one and unmapped when freed: bodies and files, but not the arrays
# of a search, for which new pages cost more than the search of them.
MAPPED_BYTES_MIN = 4 << 20
TRIMMED_BYTES_MIN = 16 << 20  # free memory at the end of the heap
ARENAS_MAX = 2  # the interpreter's lock lets few threads allocate at once
# Between two searches for free pages within the heap, which the limits above do not return. Each
# takes some milliseconds, without the interpreter's lock.
_TRIM_SECONDS = 10.0


def return_memory() -> bool:
    """Set the limits of glibc's allocator; return False without glibc. Call it before threads."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    limits = {
        _MMAP_THRESHOLD: MAPPED_BYTES_MIN,
        _TRIM_THRESHOLD: TRIMMED_BYTES_MIN,
        _ARENA_MAX: ARENAS_MAX,
    }
    return all(mallopt(parameter, value) for parameter, value in limits.items())


def trim() -> None:
    """Return the free pages of the heap. Without glibc nothing happens."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)


@contextmanager
def trimming() -> Iterator[None]:
    """Return the free pages of the heap every ten seconds during the block."""
    ends = threading.Event()

    def work() -> None:
        while not ends.wait(_TRIM_SECONDS):
            trim()

    thread = threading.Thread(target=work, name="remembrancer-trim", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()
