"""`remembrancer store`: copy and check whole stores."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .commands import DataFolder, load_settings, print_table
from .output import Commands

app = Commands(no_args_is_help=True, help="Copy and check a store.")


@app.command("copy")
def copy(
    context: typer.Context,
    source: Annotated[str, typer.Option("--from", metavar="URL")],
    target: Annotated[str, typer.Option("--to", metavar="URL")],
    finish: bool = False,
    data: DataFolder = None,
) -> None:
    """Copy a store and compare every table.

    Works while a server is running. Run the command again to copy what was added since.

    Args:
        source: Store to copy: sqlite:PATH or postgresql://USER@HOST/DATABASE.
        target: Store to copy to: empty, or an unfinished copy of the same source.
        finish: Finish the copy, with the servers stopped. The copy becomes usable.
    """
    from .store import COPY_COLUMNS, copy_store

    outcome = copy_store(load_settings(context, data), source, target, finish=finish)
    print_table(COPY_COLUMNS, outcome.rows)
    print(outcome.message, file=sys.stderr)
    if not outcome.is_good:
        sys.exit(1)


@app.command("check")
def check(
    context: typer.Context,
    url: Annotated[str | None, typer.Option("--store", metavar="URL")] = None,
    data: DataFolder = None,
) -> None:
    """Print the number of rows and a hash of every table.

    Compare the output before a backup with the output after a restore.

    Args:
        url: Store to check. Default: the store of the settings.
    """
    from .store import CONTENT_COLUMNS, store_contents

    print_table(CONTENT_COLUMNS, store_contents(url or load_settings(context, data).store_url))
