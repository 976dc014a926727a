"""The records of an export as they will be stored: validated, screened, of the right user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pydantic import ValidationError

from ...protocol.message import first_fault
from ...settings import Settings
from ..intake import Intake
from ..spaces import read_metadata
from .archive import Archive
from .records import MEMBERS, EventRecord, FactRecord, MemoryFileRecord, Record
from .shapes.records import ImportRefused

BATCH = 64  # records that are checked or written together


@dataclass(frozen=True, slots=True)
class Numbered:
    """A record, and where it is."""

    archive: Archive
    name: str
    line: int
    record: Any

    def refused(self, problem: str) -> ImportRefused:
        """Return the error about it."""
        return self.archive.refused(f"{self.name}, line {self.line}: {problem}")


@dataclass(slots=True, kw_only=True)
class ExportSource:
    """The records of an export; `user_id` takes the place of the only user's, if it is not None."""

    archive: Archive
    settings: Settings
    user_id: str | None = None
    _only_user: str | None = None  # the user of the records that were read

    def records(self, name: str) -> Iterator[Numbered]:
        """Yield the records of a member. Raises ImportRefused naming the member and the line."""
        model = MEMBERS[name]
        for line, text in self.archive.lines(name):
            try:
                record = model.model_validate_json(text)
            except ValidationError as error:
                raise Numbered(self.archive, name, line, None).refused(
                    first_fault(error)
                ) from error
            one = Numbered(self.archive, name, line, self._to_store(record))
            self._check_user(one, getattr(record, "user_id", None))
            yield one

    def batches(self, name: str) -> Iterator[list[Numbered]]:
        """Yield the records of a member in batches."""
        records = self.records(name)
        while batch := list(islice(records, BATCH)):
            yield batch

    def _check_user(self, one: Numbered, user_id: str | None) -> None:
        if self.user_id is None or user_id is None:
            return
        if self._only_user not in (None, user_id):
            raise one.refused("the export has several users; --user-id needs one of a single user")
        self._only_user = user_id

    def _to_store(self, record: Record) -> Record:
        changes: dict[str, Any] = {}
        if self.user_id is not None and getattr(record, "user_id", None) is not None:
            changes["user_id"] = self.user_id
        intake = Intake(settings=self.settings)
        for name in record.SCREENED:
            text = getattr(record, name)
            if text:
                own = intake.screen(text)
                if own != text:
                    changes[name] = own
        if isinstance(record, EventRecord | FactRecord) and record.metadata:
            changes["metadata"] = read_metadata(intake.take_metadata(record.metadata))
        if isinstance(record, EventRecord | MemoryFileRecord):
            flags = list(dict.fromkeys([*record.flags, *intake.flags]))
            if flags != record.flags:
                changes["flags"] = flags
        return record.model_copy(update=changes) if changes else record
