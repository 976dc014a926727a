"""The segments of all spaces of a store: files of a folder beside it, one folder for each space.

The name of a segment says which events it covers and the revision of the space that it belongs to,
so an erasure renames the segments that it leaves as they are, and removes the others.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import secrets
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from .segments import SegmentDamaged, SegmentOrigin, open_segment, write_segment
from .space_index import IndexRange

# Events of a segment: the latest events are in small ones, so that few are read from rows; each
# event is written twice, once in a small and once in a large one.
_SMALL, _LARGE = 1_024, 16_384
_NAME = re.compile(r"(\d+)-(\d+)-(\d+)\.segment")
# Comparing checksums holds the interpreter's lock for a part of the time only.
_readers = ThreadPoolExecutor(2, thread_name_prefix="remembrancer-segments")
_log = logging.getLogger(__name__)
Opening = Callable[[], tuple[SegmentOrigin, IndexRange]]


class SegmentName(NamedTuple):
    """The events that a segment covers, `low` to `high` - 1, and the revision of their space."""

    low: int
    high: int
    revision: int

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.low}-{self.high}-{self.revision}.segment"


class SegmentFolder:
    """The folder of the segments of a store. Thread-safe; several processes may use it.

    What fails is logged: searches read rows instead. A change locks the folder of its space, so
    that no segment of an earlier revision appears after an erasure has removed its segments.
    """

    def __init__(self, folder: Path, *, small: int = _SMALL, large: int = _LARGE) -> None:
        """Take the events of a small and of a large segment, which is a multiple."""
        self._folder, self.small, self.large = folder, small, large
        self._lock = threading.Lock()
        self._due: set[int] = set()

    def note(self, space_id: int) -> None:
        """Record that segments of a space are to be written, or to be removed."""
        with self._lock:
            self._due.add(space_id)

    def take_due(self) -> list[int]:
        """Return the spaces recorded since the last call."""
        with self._lock:
            due, self._due = sorted(self._due), set()
        return due

    def spaces(self) -> list[int]:
        """Return the ids of the spaces that have a folder."""
        try:
            return sorted(
                int(path.name) for path in self._folder.iterdir() if path.name.isdecimal()
            )
        except OSError:
            return []

    def names(self, space_id: int, revision: int) -> list[SegmentName]:
        """Return the segments of a space at a revision."""
        return [one for one in self._all(space_id) if one.revision == revision]

    def ranges(self, events: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the segments of a space with so many events; the rest has none."""
        low = 0
        for size in (self.large, self.small):
            while low + size <= events:
                yield low, low + size
                low += size

    def missing(self, space_id: int, revision: int, events: int) -> list[tuple[int, int]]:
        """Return the ranges of events of a space that should have a segment and have none."""
        present = {(one.low, one.high) for one in self.names(space_id, revision)}
        return [one for one in self.ranges(events) if one not in present]

    def open_ahead(
        self, space_id: int, names: Sequence[SegmentName]
    ) -> Mapping[SegmentName, Opening]:
        """Begin to open segments in threads; return what waits for each, as `open` takes it."""
        folder = self._of(space_id)
        return {name: _readers.submit(open_segment, folder / name.file).result for name in names}

    def open(
        self,
        space_id: int,
        name: SegmentName,
        is_current: Callable[[SegmentOrigin], bool],
        opening: Opening | None = None,
    ) -> IndexRange | None:
        """Return a segment, or None if it is gone; one that is wrong is removed.

        `is_current` says if a segment of this origin belongs to the rows; `opening` is that of
        `open_ahead`.
        """
        path = self._of(space_id) / name.file
        try:
            origin, content = (opening or partial(open_segment, path))()
            if origin[:3] == (space_id, name.low, name.high) and is_current(origin):
                return content
            reason = "it was made from other rows"
        except FileNotFoundError:
            return None
        except (SegmentDamaged, OSError) as error:
            reason = str(error)
        _log.warning("the segment %s is not used: %s", path, reason)
        with self._logged(space_id):
            path.unlink(missing_ok=True)
        return None

    def publish(
        self,
        name: SegmentName,
        origin: SegmentOrigin,
        content: IndexRange,
        is_current: Callable[[], bool],
    ) -> bool:
        """Write a segment; return False if that failed or the rows have changed meanwhile.

        `is_current` says if the space still has the revision of the segment.
        """
        with self._logged(origin.space_id):
            folder = self._of(origin.space_id)
            for path in (self._folder, folder):
                path.mkdir(mode=0o700, exist_ok=True)
            part = folder / f"{secrets.token_hex(8)}.part"
            try:
                write_segment(part, origin, content)
                with self._locked(origin.space_id):
                    if is_current():
                        part.rename(folder / name.file)
                        return True
            finally:
                part.unlink(missing_ok=True)
        return False

    def advance(self, space_id: int, numbers: Sequence[int], *, since: int, revision: int) -> None:
        """Remove the segments with erased events; the others belong to the new revision.

        `since` is the revision before. Call it once the erasure is durable.
        """
        if not self._of(space_id).exists():
            return
        erased = sorted(numbers)

        def is_affected(name: SegmentName) -> bool:
            has_erased = bisect_left(erased, name.low) < bisect_left(erased, name.high)
            return has_erased or name.revision < since

        self._remove(space_id, is_affected)
        with self._logged(space_id), self._locked(space_id):
            for one in self.names(space_id, since):
                path = self._of(space_id) / one.file
                with suppress(FileNotFoundError):  # a search removed it, because it is damaged
                    path.rename(path.with_name(one._replace(revision=revision).file))
        self.note(space_id)  # what was removed is written again, from what is left

    def drop(self, space_id: int) -> None:
        """Remove all segments of a space."""
        self._remove(space_id, lambda _name: True)

    def sweep(self, space_id: int, revision: int, events: int) -> None:
        """Remove what interrupted processes left: unfinished files, segments of other revisions.

        Small segments that a large one covers are removed as well.
        """
        wanted_names = {SegmentName(low, high, revision) for low, high in self.ranges(events)}
        present = wanted_names & set(self._all(space_id))

        def is_superfluous(name: SegmentName) -> bool:
            return name not in wanted_names and (
                name.revision != revision
                or name.high > events
                or any(one.low <= name.low and name.high <= one.high for one in present)
            )

        self._remove(space_id, is_superfluous)

    def _remove(self, space_id: int, is_superfluous: Callable[[SegmentName], bool]) -> None:
        if not self._of(space_id).exists():
            return
        with self._logged(space_id), self._locked(space_id):
            for path in list(self._of(space_id).iterdir()):
                name = _parsed(path)
                if name is None or is_superfluous(name):
                    path.unlink(missing_ok=True)

    def _of(self, space_id: int) -> Path:
        return self._folder / str(space_id)

    def _all(self, space_id: int) -> list[SegmentName]:
        try:
            names = [_parsed(path) for path in self._of(space_id).iterdir()]
        except OSError:
            return []
        return sorted(name for name in names if name is not None)

    @contextmanager
    def _locked(self, space_id: int) -> Iterator[None]:
        descriptor = os.open(self._of(space_id), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def _logged(self, space_id: int) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            _log.warning("segments of the index of space %d: %s", space_id, error)
            self.note(space_id)


def _parsed(path: Path) -> SegmentName | None:
    match = _NAME.fullmatch(path.name)
    return SegmentName(*map(int, match.groups())) if match else None
