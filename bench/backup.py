"""Measure backup, restore and archive of a SQLite store.

    python -m bench.backup --data locomo-dev.json [--events 10000,40000]

Memory is the peak of a process that does only this, beyond what its imports take.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from datetime import timedelta
from pathlib import Path

from bench.load import Turns, fill
from bench.report import table, timed, write_section
from remembrancer.accounts import caller_for
from remembrancer.backup.archive import Archiver
from remembrancer.backup.restore import restore_backup
from remembrancer.backup.write import write_backup
from remembrancer.context import Context, assemble
from remembrancer.settings import Settings

WEEK = timedelta(days=7)


def main() -> None:
    """Fill stores of several sizes, measure each, and write the section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    parser.add_argument("--events", default="10000,40000")
    options = parser.parse_args()
    rows = [row for events in options.events.split(",") for row in measure(options, int(events))]
    write_section(
        "backup",
        "Backup, restore and archive",
        f"python -m bench.backup --data {options.data.name} --events {options.events}",
        table(("events", "store", "step", "seconds", "written", "memory"), rows),
    )


def measure(options: argparse.Namespace, events: int) -> list[tuple[str, ...]]:
    """Return the rows of a store of this size."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = Settings(data=folder / "data", durability="normal")
        with closing(assemble(settings)) as context:
            caller, turns = caller_for(context, None), Turns(options.data, context)
            fill(context, caller.account_id, "owner", turns, events)
            size = f"{megabytes(folder / 'data'):,.0f} MB"
            results = [
                ("backup", *apart(back_up, settings, folder / "backup")),
                ("restore", *apart(restore, Settings(data=folder / "new"), folder / "backup")),
                *archived(context, folder / "archive", lambda: fill_one(context, turns)),
            ]
    return [(f"{events:,}", size, *result) for result in results]


def archived(context: Context, archive: Path, write: Callable[[], None]) -> list[tuple[str, ...]]:
    """Return the rows of an archive: its base, a segment after one turn, and no change."""
    rows: list[tuple[str, ...]] = []
    with Archiver(context.settings, archive, keep=WEEK) as archiver:
        for step in ("archive: base", "archive: after one turn", "archive: no change"):
            before = megabytes(archive)
            milliseconds = timed(archiver.step)
            written = megabytes(archive) - before
            rows.append((step, f"{milliseconds / 1_000:.2f}", f"{written:,.2f} MB", "–"))
            if step.endswith("base"):
                write()
    return rows


def fill_one(context: Context, turns: Turns) -> None:
    """Store one more turn."""
    fill(context, caller_for(context, None).account_id, "owner", turns, 1)


def back_up(settings: Settings, target: Path) -> None:
    """Write a backup."""
    write_backup(settings, target, progress=no_progress)


def restore(settings: Settings, source: Path) -> None:
    """Restore a backup."""
    restore_backup(settings, source, progress=no_progress)


def no_progress(_title: str, _rows: int) -> AbstractContextManager[Callable[[int], None]]:
    """Ignore progress."""
    return nullcontext(lambda _: None)


def apart(
    action: Callable[[Settings, Path], None], settings: Settings, path: Path
) -> tuple[str, ...]:
    """Run an action in a process of its own; return seconds, megabytes and peak memory."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        seconds, memory = pool.apply(measured, (action, settings, path))
    return f"{seconds:.2f}", f"{megabytes(path):,.2f} MB", f"{memory:,.0f} MB"


def measured(
    action: Callable[[Settings, Path], None], settings: Settings, path: Path
) -> tuple[float, float]:
    """Return the seconds of an action and by how many megabytes the peak of memory grew."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = status_of("VmRSS")
    milliseconds = timed(lambda: action(settings, path))
    return milliseconds / 1_000, (status_of("VmHWM") - before) / 1_024


def status_of(name: str) -> int:
    """Return a figure of this process in kilobytes."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def megabytes(folder: Path) -> float:
    """Return the size of all files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


if __name__ == "__main__":
    main()
