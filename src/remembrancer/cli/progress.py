"""How far a command of the command line is, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LINES_MAX = 20  # where no bar can be drawn


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Shows how much of `total` is done:

    a bar on a terminal, else a line now and then. Gives what is to be told each step.
    """
    if not sys.stderr.isatty():
        yield _lines(what, total)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda step: bar.advance(task, step)


def _lines(what: str, total: int) -> Callable[[int], None]:
    done = shown = 0

    def advance(step: int) -> None:
        nonlocal done, shown
        done += step
        if done == total or done - shown >= total / LINES_MAX:
            shown = done
            sys.stderr.write(f"{what} {done:,} of {total:,}\n")

    return advance
