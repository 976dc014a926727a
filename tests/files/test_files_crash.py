"""After a kill, acknowledged files are complete, erased files are gone, and no orphan remains."""

from __future__ import annotations

import hashlib
import os
import random
import sys
from pathlib import Path

import pytest
from command import killed_after

import remembrancer
from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.context import Context
from remembrancer.files.blobs import open_blobs
from remembrancer.files.files import FileUnknown, find_file, sweep
from remembrancer.search.embedders.port import NoEmbedder

TELLER = Path(__file__).with_name("file_teller.py")
YEARS_MS = 100 * 365 * 86_400_000  # beyond the time of any file here


def content_of(context: Context, filename: str) -> bytes:
    row = find_file(context, filename, caller_for(context))
    return b"".join(open_blobs(context.settings).read(row.blob, 0, row.size_bytes))


def test_acknowledged_files_are_complete_after_kill_9(folder: Path) -> None:
    rng = random.Random(8460)
    environment = {**os.environ, "PYTHONPATH": str(Path(remembrancer.__file__).parents[1])}
    there: dict[str, str] = {}
    erased_names: set[str] = set()
    for run in range(4):
        teller = [sys.executable, str(TELLER), str(folder), str(run)]
        for line in killed_after(teller, rng.randrange(1, 60), env=environment):
            match line.split():
                case ["+", name, digest]:
                    there[name] = digest
                case ["?", name]:  # being erased: the process may be killed before it acknowledges
                    there.pop(name)
                case ["-", name]:
                    erased_names.add(name)

        context = testing.context(folder, embedder=NoEmbedder())
        try:
            assert {
                name: hashlib.sha256(content_of(context, name)).hexdigest() for name in there
            } == there
            for name in erased_names:
                with pytest.raises(FileUnknown):
                    find_file(context, name, caller_for(context))
        finally:
            context.close()

    later = testing.context(
        folder, embedder=NoEmbedder(), clock=testing.FrozenClock(testing.START_MS + YEARS_MS)
    )
    sweep(later)
    sizes = {
        row.blob: row.size
        for row in later.store.read(lambda tx: tx.all("select blob, size_bytes as size from files"))
    }
    charged = later.store.read(
        lambda tx: tx.one("select charged_bytes from file_usage")
    ).charged_bytes
    later.close()
    assert {path.name for path in (folder / "blobs").rglob("*") if path.is_file()} == set(sizes)
    assert charged == sum(sizes.values())
    assert len(there) > 20
    assert len(erased_names) > 5
