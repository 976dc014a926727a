"""The work of `remembrancer store`: copy a store and hash its contents."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import NamedTuple

from ..protocol.errors import InvalidRequest
from ..settings import Settings
from ..store import open_store
from ..store.locations import place_of, without_server
from ..store.transfer import copy as copying
from ..store.transfer.copy import CopyResult, TableComparison, require_schema, store_digest
from .progress import interruptible, progress

_HASH_DIGITS = 16  # printed; comparisons use all digits


class Outcome(NamedTuple):
    """The result of a copy: one row per table (COPY_COLUMNS), a message, and success."""

    rows: list[tuple[str, ...]]
    message: str
    is_good: bool


COPY_COLUMNS = ("state", "table", "rows", "copied", "hash")
CONTENT_COLUMNS = ("table", "rows", "hash")


def copy_store(settings: Settings, source_url: str, target_url: str, *, finish: bool) -> Outcome:
    """Copy a store.

    Raises InvalidRequest, CopyRefused, Interrupted, DataFolderBusy, and what opening a store
    raises.
    """
    place = place_of(source_url)
    if place == place_of(target_url):
        raise InvalidRequest(f"--from and --to are the same store: {place}")
    require_schema(source_url)
    with ExitStack() as stack:
        if finish:
            is_ours = place == place_of(settings.store_url)
            stack.enter_context(
                without_server(source_url, settings.data_folder if is_ours else None)
            )
        source = stack.enter_context(closing(open_store(source_url)))
        target = stack.enter_context(closing(open_store(target_url)))
        with interruptible("The copied rows remain. Run the same command again to continue."):
            result = copying.copy(source, target, place=place, progress=progress)
        is_finished = finish and result.is_same and not result.has_moved_on
        if is_finished:
            copying.finish(target)
    return Outcome(
        [_row(comparison) for comparison in result.compared],
        _message(result, is_finished=is_finished),
        result.is_same and finish == is_finished,
    )


def store_contents(url: str) -> list[tuple[str, ...]]:
    """Return the rows (CONTENT_COLUMNS) and hashes of each table of a store.

    Raises CopyRefused unless the store has the schema of this version.
    """
    require_schema(url)
    with closing(open_store(url)) as store:
        return [(digest.table, f"{digest.rows:,}", digest.hash) for digest in store_digest(store)]


def _row(comparison: TableComparison) -> tuple[str, ...]:
    source, target = comparison.source, comparison.target
    hashes = source.hash[:_HASH_DIGITS]
    if not comparison.is_same:
        hashes += f" is not {target.hash[:_HASH_DIGITS]}"
    state = "same" if comparison.is_same else "differs"
    return (state, source.table, f"{source.rows:,}", f"{target.rows:,}", hashes)


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
