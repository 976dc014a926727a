"""The rows of the events that a search may show, read as they are needed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from ...store import Row, Transaction
from ..spaces import SQL, number_of, row_id


class HitRows(Mapping[int, Row]):
    """The rows by event number. Events that were erased a moment ago have none.

    The first events nearly always suffice; the others replace repetitions, and are read together
    when one of them is needed.
    """

    def __init__(
        self, tx: Transaction, space_id: int, events: Sequence[int], *, at_once: int
    ) -> None:
        """Read the rows of the first `at_once` of these events of a space."""
        self._tx, self._space_id = tx, space_id
        self._rows: dict[int, Row] = {}
        self._waiting: Sequence[int] = events[at_once:]
        self._read(events[:at_once])

    def __getitem__(self, event: int) -> Row:
        if event not in self._rows and self._waiting:
            self._read_waiting()
        return self._rows[event]

    def __iter__(self) -> Iterator[int]:
        self._read_waiting()
        return iter(self._rows)

    def __len__(self) -> int:
        self._read_waiting()
        return len(self._rows)

    def _read_waiting(self) -> None:
        waiting, self._waiting = self._waiting, ()
        self._read(waiting)

    def _read(self, events: Sequence[int]) -> None:
        if events:
            ids = json.dumps([row_id(self._space_id, event) for event in events])
            rows = self._tx.all(SQL.hits, ids=ids)
            self._rows.update((number_of(row.id), row) for row in rows)
