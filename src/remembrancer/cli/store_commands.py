"""`remembrancer store`: copy and check whole stores."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Annotated

import typer

from .commands import DataFolder, load_settings, print_table
from .output import Commands
from .progress import interruptible, progress

if TYPE_CHECKING:
    from ..store.transfer.copy import CopyResult, TableDigest

_HASH_DIGITS = 16  # printed; comparisons use all digits

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
    from ..protocol.errors import InvalidRequest
    from ..store import open_store
    from ..store.locations import place_of, without_server
    from ..store.transfer import copy as copying

    settings = load_settings(context, data)
    place = place_of(source)
    if place == place_of(target):
        raise InvalidRequest(f"--from and --to are the same store: {place}")
    copying.require_schema(source)
    with ExitStack() as stack:
        if finish:
            is_ours = place == place_of(settings.store_url)
            stack.enter_context(without_server(source, settings.data_folder if is_ours else None))
        original = stack.enter_context(closing(open_store(source)))
        copied = stack.enter_context(closing(open_store(target)))
        with interruptible("The copied rows remain. Run the same command again to continue."):
            result = copying.copy(original, copied, place=place, progress=progress)
        is_finished = finish and result.is_same and not result.has_moved_on
        if is_finished:
            copying.finish(copied)
    rows = [_row(name, digest, result.target[name]) for name, digest in result.source.items()]
    print_table(("state", "table", "rows", "copied", "hash"), rows)
    print(_message(result, is_finished=is_finished), file=sys.stderr)
    if not result.is_same or finish != is_finished:
        sys.exit(1)


def _row(table: str, source: TableDigest, target: TableDigest) -> tuple[str, ...]:
    state, hashes = "same", source.hash[:_HASH_DIGITS]
    if source != target:
        state, hashes = "differs", f"{hashes} is not {target.hash[:_HASH_DIGITS]}"
    return (state, table, f"{source.rows:,}", f"{target.rows:,}", hashes)


def _message(result: CopyResult, *, is_finished: bool) -> str:
    if not result.is_same:
        return "The copy differs from the source. Run the same command again."
    if is_finished:
        return (
            "The copy is finished. Set REMEMBRANCER_STORE to it. The store does not contain the "
            "contents of created files: leave them in the data folder, or copy them by hand "
            "(docs/guides/several-servers.md)."
        )
    changes = "The source changed during the copy. " if result.has_moved_on else ""
    return (
        f"{changes}The copy has the contents of the source at the start of this run. Stop its "
        "servers and run the command again with --finish to copy the rest."
    )


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
    from ..store import open_store
    from ..store.transfer.copy import require_schema, store_digest

    url = url or load_settings(context, data).store_url
    require_schema(url)
    with closing(open_store(url)) as store:
        digests = store_digest(store)
    rows = [(name, f"{digest.rows:,}", digest.hash) for name, digest in digests.items()]
    print_table(("table", "rows", "hash"), rows)
