"""A log that lost its end: what was flushed before the tear is whole, what was after it is gone."""

from __future__ import annotations

import random
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from account_rows import log_reader
from faults.service import Service
from faults.shim import Shim
from rounds import rounds

from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.memory.recall.recall import recall
from remembrancer.protocol.search import MemoryQuery
from remembrancer.settings import Settings

TURNS = 12
STORE, LOG, SHARED = (f"remembrancer.sqlite3{end}" for end in ("", "-wal", "-shm"))


@pytest.mark.long
def test_answered_turns_before_a_tear_remain_and_no_row_is_wrong(tmp_path: Path) -> None:
    """The log is cut, or overwritten, at any byte after a kill; then rows and search agree."""
    source, answers = random.Random(8460), []
    with (
        Shim(tmp_path) as shim,
        Service(tmp_path / "data", shim) as service,
        closing(log_reader(service.data / STORE)),
    ):
        for number in range(TURNS):
            assert service.remember(f"zt{number}q").status == 200
            answers.append((service.data / LOG).stat().st_size)
        service.server.kill()

    for number in range(rounds(4, 60)):
        copy = tmp_path / f"copy{number}"
        copy.mkdir(mode=0o700)
        for name in (STORE, LOG):
            shutil.copy(service.data / name, copy / name)
        cut = source.randrange(answers[-1])
        _tear(copy / LOG, cut, is_overwritten=number % 3 == 0, source=source)
        stored = _turns_and_hits(service, copy)

        flushed = [f"zt{n}q" for n, size in enumerate(answers) if size <= cut]
        assert stored[: len(flushed)] == flushed
        assert stored == [f"zt{n}q" for n in range(len(stored))]
        assert len(stored) <= len(flushed) + 1  # the log grows in steps


def _tear(log: Path, cut: int, *, is_overwritten: bool, source: random.Random) -> None:
    """Cut a file at a byte, or overwrite it from there on."""
    with log.open("r+b") as file:
        size = file.seek(0, 2)
        file.truncate(cut)
        if is_overwritten:
            file.seek(cut)
            file.write(source.randbytes(size - cut))


def _turns_and_hits(service: Service, folder: Path) -> list[str]:
    """Return the words of the stored turns, each of which a search finds; the file is sound."""
    settings = Settings(data=folder, embedder="none", durability="normal")
    with closing(testing.context(folder, settings=settings)) as context:
        check = context.store.read(lambda tx: tx.all("pragma integrity_check"))
        assert [row[0] for row in check] == ["ok"]
        rows = context.store.read(lambda tx: tx.all("select query from events order by id"))
        words = [row.query.removeprefix("Note ") for row in rows]
        for word in words:
            query = MemoryQuery(user_id="ada", query_text=word, interact=False, top_k=1)
            hits = recall(context, caller_for(context), query).hits
            assert [hit.query for hit in hits] == [f"Note {word}"]
    return words
