"""Import samples and files into a memory, and read back what is stored."""

from __future__ import annotations

import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from memory.asking import Memory
from service import rows

from remembrancer.memory.exchange import importer
from remembrancer.memory.exchange.shapes.records import ImportRefused
from remembrancer.memory.exchange.survey import CheckedSource

SAMPLES = Path(__file__).with_name("samples")
OWNER = "owner"  # the default user of the owner's account
_TURNS = (
    "select spaces.user_id, sessions.session_id, topic, query, response, occurred_ms from events "
    "join sessions on sessions.id = session join spaces on spaces.id = sessions.space_id "
    "order by events.id"
)
_FACTS = (
    "select spaces.user_id, text, valid_from_ms, valid_to_ms from facts "
    "join spaces on spaces.id = facts.space_id where origin = 0 order by facts.id"
)


def ms(time: str) -> int:
    """Return a time (ISO 8601) in ms since 1970."""
    return round(datetime.fromisoformat(time).timestamp() * 1000)


def archive(path: Path, folder: Path) -> Path:
    """Write the files of a folder into a .zip archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                packed.write(file, file.relative_to(folder).as_posix())
    return path


class Imports:
    """Imports into a memory."""

    def __init__(self, memory: Memory, folder: Path) -> None:
        """Use a memory, and a folder for files."""
        self.memory, self.context, self.folder = memory, memory.context, folder

    def written(self, name: str, content: str | bytes) -> Path:
        """Write a file and return its path."""
        path = self.folder / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def read(self, path: Path, **options: Any) -> CheckedSource:
        """Check a source."""
        return importer.read(self.memory.caller, path, **options)

    def stored(self, path: Path, **options: Any) -> importer.ImportResult:
        """Import a source."""
        return importer.store(self.context, self.memory.caller, self.read(path, **options))

    def imported(self, content: str | bytes, user_id: str | None = "ada") -> importer.ImportResult:
        """Import the content of a file of JSON lines."""
        return self.stored(self.written("said.jsonl", content), user_id=user_id)

    def refused(self, path: Path, **options: Any) -> str:
        """Return the error message without the path; check that nothing was stored."""
        before = rows(self.context)
        with pytest.raises(ImportRefused) as refusal:
            self.stored(path, **options)
        assert rows(self.context) == before
        message = str(refusal.value)
        assert message.startswith(str(path))
        assert message.isprintable()
        return message.removeprefix(str(path))

    def turns(self) -> list[tuple[Any, ...]]:
        """Return user, session, topic, query, response and time of the stored turns."""
        return self.context.store.read(lambda tx: [tuple(row) for row in tx.all(_TURNS)])

    def facts(self) -> list[tuple[Any, ...]]:
        """Return user, text, begin and end of the stored facts, without those read in turns."""
        return self.context.store.read(lambda tx: [tuple(row) for row in tx.all(_FACTS)])
