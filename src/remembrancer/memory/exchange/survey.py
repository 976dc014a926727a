"""Check a source from end to end, and count what an import of it would store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...protocol.imports import ImportFact, ImportTurn
from .shapes.documents import Shape, Source
from .shapes.records import ImportRefused, InvalidRecord, LeftOutRecord, Record
from .shapes.table import detect, records, shape_named

LISTED_MAX = 100  # records that a survey lists of those left out, and of invalid ones
FIRST_RECORDS = 5


@dataclass(slots=True)
class Survey:
    """Counts of a source, the first records to import, and the first that are not."""

    shape: str
    title: str
    turns: int = 0
    facts: int = 0
    invalid: int = 0
    users: dict[str | None, None] = field(default_factory=dict)  # in order; None: the default
    sessions: set[int] = field(default_factory=set)  # hashes of user and session
    reasons: Counter[str] = field(default_factory=Counter)  # of those left out
    left_out: list[LeftOutRecord] = field(default_factory=list)
    errors: list[InvalidRecord] = field(default_factory=list)
    first: list[ImportTurn | ImportFact] = field(default_factory=list)

    def count(self, record: Record, user_id: str | None) -> None:
        """Count one record. `user_id` is the user it would be stored for."""
        if isinstance(record, InvalidRecord):
            self.invalid += 1
            self.errors += [record][: LISTED_MAX - len(self.errors)]
        elif isinstance(record, LeftOutRecord):
            self.reasons[record.reason] += 1
            self.left_out += [record][: LISTED_MAX - len(self.left_out)]
        else:
            self.users[user_id] = None
            self.first += [record][: FIRST_RECORDS - len(self.first)]
            if isinstance(record, ImportTurn):
                self.turns += 1
                self.sessions.add(hash((user_id, record.session_id)))
            else:
                self.facts += 1


@dataclass(frozen=True, slots=True)
class CheckedSource:
    """A source that was read to its end. Yields its turns and facts as often as needed."""

    source: Source
    shape: Shape
    survey: Survey
    user_id: str | None

    def __len__(self) -> int:
        return self.survey.turns + self.survey.facts

    def __iter__(self) -> Iterator[ImportTurn | ImportFact]:
        is_whole = not self.survey.invalid
        for record in _records(self.source, self.shape, skip_invalid=not is_whole):
            if isinstance(record, ImportTurn | ImportFact):
                yield _for_user(record, self.user_id)
            elif is_whole and isinstance(record, InvalidRecord):
                raise ImportRefused(str(record))  # the file has changed meanwhile


def check(
    path: Path,
    *,
    user_id: str | None = None,
    shape: str | None = None,
    space: Callable[[str | None], str | None] = lambda user_id: user_id,
    skip_invalid: bool = False,
    left_out: Callable[[LeftOutRecord], object] = lambda _: None,
    progress: Callable[[Survey, Source], object] = lambda _survey, _source: None,
) -> CheckedSource:
    """Read a file, archive or folder to its end; its shape is recognised unless named.

    `user_id` overrides the ones in it; `space` returns the user that a record with a user_id, or
    without one, is stored for. Calls `left_out` for what an import does not store, and `progress`
    for each record. Raises ImportRefused, also for the first invalid record if none is skipped.
    """
    chosen = None if shape is None else shape_named(shape)
    source = Source.at(path)
    chosen = chosen or detect(path)
    summary = Survey(shape=chosen.name, title=chosen.title)
    for record in _records(source, chosen, skip_invalid=skip_invalid):
        owner = None
        if isinstance(record, ImportTurn | ImportFact):
            owner = space(_for_user(record, user_id).user_id)
        elif isinstance(record, InvalidRecord) and not skip_invalid:
            raise ImportRefused(str(record))
        else:
            left_out(record)
        summary.count(record, owner)
        progress(summary, source)
    return CheckedSource(source, chosen, summary, user_id)


def _for_user(record: ImportTurn | ImportFact, user_id: str | None) -> ImportTurn | ImportFact:
    return record if user_id is None else record.model_copy(update={"user_id": user_id})


def _records(source: Source, shape: Shape, *, skip_invalid: bool) -> Iterator[Record]:
    """Yield the records of a source.

    Raises ImportRefused where the source cannot be read on; with `skip_invalid` that is one more
    invalid record, the last one.
    """
    try:
        yield from records(source, shape)
    except ImportRefused as error:
        if not skip_invalid:
            raise
        place, _, reason = str(error).partition(": ")
        yield InvalidRecord(place=place, reason=reason)
