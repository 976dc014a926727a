"""Check a source from end to end, and count what an import of it would store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...protocol.imports import ImportFact, ImportTurn
from .shapes import (
    ImportRefused,
    InvalidRecord,
    LeftOutRecord,
    Record,
    Shape,
    Source,
    detect,
    records,
    shape_named,
)

LISTED_MAX = 20  # invalid records that a survey lists; the others are only counted
USERS_NAMED_MAX = 10  # users that a survey names
FIRST_RECORDS = 5


@dataclass(slots=True)
class Survey:
    """Counts of a source, the first invalid records, and the first records to import."""

    shape: str
    title: str
    turns: int = 0
    facts: int = 0
    invalid: int = 0
    users: dict[str | None, None] = field(default_factory=dict)  # in order; None: the default
    sessions: set[int] = field(default_factory=set)  # hashes of user and session
    left_out: Counter[str] = field(default_factory=Counter)  # by reason
    errors: list[InvalidRecord] = field(default_factory=list)
    first: list[ImportTurn | ImportFact] = field(default_factory=list)

    def count(self, record: Record, user_id: str | None) -> None:
        """Count one record. `user_id` is the user it would be stored for."""
        if isinstance(record, LeftOutRecord):
            self.left_out[record.reason] += 1
            return
        if isinstance(record, InvalidRecord):
            self.invalid += 1
            if len(self.errors) < LISTED_MAX:
                self.errors.append(record)
            return
        self.users[user_id] = None
        if len(self.first) < FIRST_RECORDS:
            self.first.append(record)
        if isinstance(record, ImportTurn):
            self.turns += 1
            self.sessions.add(hash((user_id, record.session_id)))
        else:
            self.facts += 1


def open_import(path: Path, shape: str | None = None) -> tuple[Source, Shape]:
    """Return a source and its shape, recognised unless named. Raises ImportRefused."""
    chosen = None if shape is None else shape_named(shape)
    source = Source.at(path)
    return source, chosen or detect(path)


def imported_records(source: Source, shape: Shape, *, skip_invalid: bool) -> Iterator[Record]:
    """Yield the records of a source.

    Raises ImportRefused where the source cannot be read on; with `skip_invalid` that is one more
    invalid record, the last one.
    """
    try:
        yield from records(source, shape)
    except ImportRefused as error:
        if not skip_invalid:
            raise
        place, _, detail = str(error).partition(": ")
        yield InvalidRecord(place=place, detail=detail)


def survey(
    source: Source,
    shape: Shape,
    *,
    space: Callable[[str | None], str | None] = lambda user_id: user_id,
    skip_invalid: bool = False,
    progress: Callable[[Survey, Source], None] = lambda _survey, _source: None,
) -> Survey:
    """Read a source to its end and return what is in it.

    `space` returns the user that a record with a user_id, or without one, is stored for. Raises
    ImportRefused for the first invalid record, unless they are skipped.
    """
    summary = Survey(shape=shape.name, title=shape.title)
    for record in imported_records(source, shape, skip_invalid=skip_invalid):
        if isinstance(record, InvalidRecord) and not skip_invalid:
            raise ImportRefused(str(record))
        own = record.user_id if isinstance(record, ImportTurn | ImportFact) else None
        summary.count(record, space(own))
        progress(summary, source)
    return summary
