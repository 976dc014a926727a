"""Progress of a command, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LINES_MAX = 20  # without a terminal


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show progress: a bar on a terminal, else occasional lines.

    Yields a function that takes the number of items done since its last call.
    """
    if not sys.stderr.isatty():
        yield _lines(title, total)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda step: bar.advance(task, step)


def _lines(title: str, total: int) -> Callable[[int], None]:
    count = reported = 0

    def advance(step: int) -> None:
        nonlocal count, reported
        count += step
        if count == total or count - reported >= total / LINES_MAX:
            reported = count
            sys.stderr.write(f"{title} {count:,} of {total:,}\n")

    return advance
