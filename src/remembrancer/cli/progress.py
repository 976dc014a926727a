"""Progress of a command, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LINES_MAX = 20  # without a terminal
FIRST_SECONDS, LONGEST_SECONDS = 1.0, 60.0  # between lines of an activity without a terminal


class Interrupted(Exception):
    """Interrupted by the user."""


@contextmanager
def interruptible(rest: str) -> Iterator[None]:
    """Raise Interrupted when the user interrupts; `rest` tells what remains and what to do."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise Interrupted(f"Interrupted. {rest}") from error


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


@contextmanager
def activity(title: str) -> Iterator[Callable[[Callable[[], str]], None]]:
    """Show that work of unknown length goes on.

    Yields a function to call often; its argument returns how far the work is. On a terminal the
    state appears at once and is renewed four times a second. Else lines appear after one second
    and then at growing intervals, up to a minute.
    """
    interval, is_terminal = FIRST_SECONDS, sys.stderr.isatty()
    due = time.monotonic() + (0.0 if is_terminal else interval)

    def report(state: Callable[[], str]) -> None:
        nonlocal interval, due
        if time.monotonic() < due:
            return
        if is_terminal:
            interval = 0.25
            sys.stderr.write(f"\r{title} {state()}\x1b[K")
            sys.stderr.flush()
        else:
            sys.stderr.write(f"{title} {state()}\n")
            interval = min(2 * interval, LONGEST_SECONDS)
        due = time.monotonic() + interval

    try:
        yield report
    finally:
        if is_terminal:
            sys.stderr.write("\r\x1b[K")
