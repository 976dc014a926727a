"""What the command line does with memory: import, with its progress on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..accounts import caller_for
from ..context import Context
from ..memory.importing import read, store
from ..protocol import limits
from ..protocol.errors import InvalidRequest

LINES_MAX = 20  # of progress where no bar can be drawn


class ImportStopped(Exception):
    """Stopped. What was stored stays; run the same command again to go on."""


def import_into(context: Context, path: Path, *, user_id: str | None = None, account: str | None = None) -> str:
    """Import a file; what to say of it in the end. Raises ImportRefused, AccountUnknown, InvalidRequest, ImportStopped."""
    if user_id is not None and (not 1 <= len(user_id) <= limits.ID_CHARACTERS_MAX or "\0" in user_id or not user_id.isprintable()):
        raise InvalidRequest(f"--user-id must be one line of 1 to {limits.ID_CHARACTERS_MAX} characters")
    caller = caller_for(context, account)
    try:
        source = read(context, caller, path, user_id=user_id)
        with progress(len(source)) as advance:
            done = store(context, caller, source, progress=advance)
    except KeyboardInterrupt as error:
        raise ImportStopped from error
    return f"{done.stored:,} stored, {done.known:,} there already (account {caller.account_name})"


@contextmanager
def progress(total: int) -> Iterator[Callable[[int], None]]:
    """Shows on stderr how much of `total` is done: a bar on a terminal, else a line now and then. Gives what is to be told each step."""
    if not sys.stderr.isatty():
        yield _lines(total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("importing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("importing", total=total)
        yield lambda step: bar.advance(task, step)


def _lines(total: int) -> Callable[[int], None]:
    done = shown = 0

    def advance(step: int) -> None:
        nonlocal done, shown
        done += step
        if done == total or done - shown >= total / LINES_MAX:
            shown = done
            sys.stderr.write(f"{done:,} of {total:,}\n")

    return advance
