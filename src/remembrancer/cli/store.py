"""What the command line does with whole stores: copies one, and says what one holds."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import NamedTuple

from ..protocol.errors import InvalidRequest
from ..settings import Settings
from ..store import open_store
from ..store.locations import engine_of, place_of, schema_at, without_server
from ..store.schema import migrations
from ..store.transfer import copy as copying
from ..store.transfer.copy import CopyRefused, CopyResult, TableComparison
from ..store.transfer.digest import store_digest
from .progress import progress

_HASH_SHOWN = 16  # hex digits in a table; two stores are compared by all of them


class CopyStopped(Exception):
    """Stopped. What was copied stays; run the same command again to go on."""


class Outcome(NamedTuple):
    """A copy told: a row a table in COPIED, what to say of it, and whether it came out as asked."""

    rows: list[tuple[str, ...]]
    said: str
    is_good: bool


COPIED = ("state", "table", "rows", "copied", "hash")
HELD = ("table", "rows", "hash")


def copy_store(settings: Settings, source_url: str, target_url: str, *, finish: bool) -> Outcome:
    """Copy a store.

    Raises InvalidRequest, CopyRefused, CopyStopped, DataFolderBusy, and what opening a store
    raises.
    """
    place = place_of(source_url)
    if place == place_of(target_url):
        raise InvalidRequest(f"--from and --to are the same store: {place}")
    _refuse_another_schema(source_url)
    with ExitStack() as opened:
        if finish:
            is_ours = place == place_of(settings.store_url)
            opened.enter_context(
                without_server(source_url, settings.data_folder if is_ours else None)
            )
        source = opened.enter_context(closing(open_store(source_url)))
        target = opened.enter_context(closing(open_store(target_url)))
        try:
            copied = copying.copy(source, target, place=place, progress=progress)
        except KeyboardInterrupt as error:
            raise CopyStopped from error
        is_finished = finish and copied.is_same and not copied.has_moved_on
        if is_finished:
            copying.finish(target)
    return Outcome(
        [_row(one) for one in copied.compared],
        _said(copied, is_finished=is_finished),
        copied.is_same and finish == is_finished,
    )


def store_contents(url: str) -> list[tuple[str, ...]]:
    """What each table of a store holds, as rows of HELD.

    Raises CopyRefused where there is no store of this version.
    """
    _refuse_another_schema(url)
    with closing(open_store(url)) as store:
        return [(one.table, f"{one.rows:,}", one.hash) for one in store_digest(store)]


def _refuse_another_schema(url: str) -> None:
    """Opening an older store would bring its schema forward, under a server of an older version
    that may have it open.
    """
    place, schema, known = place_of(url), schema_at(url), migrations(engine_of(url))[-1].number
    if not schema:
        raise CopyRefused(f"there is no store at {place}")
    if schema < known:
        raise CopyRefused(
            f"{place} has schema {schema}, this version has {known}: start this version on it once, which brings it forward"
        )


def _row(one: TableComparison) -> tuple[str, ...]:
    hashes = one.source.hash[:_HASH_SHOWN] + (
        "" if one.is_same else f" is not {one.target.hash[:_HASH_SHOWN]}"
    )
    return (
        "same" if one.is_same else "differs",
        one.source.table,
        f"{one.source.rows:,}",
        f"{one.target.rows:,}",
        hashes,
    )


def _said(copied: CopyResult, *, is_finished: bool) -> str:
    if not copied.is_same:
        return "The copy is not what the source held; run the same command again."
    if is_finished:
        return (
            "The copy is finished. Name it in REMEMBRANCER_STORE. The contents of created files are not in a store: "
            "they stay in the data folder, or are copied from there by hand (docs/guides/move.md)."
        )
    grown = "The source was written to meanwhile. " if copied.has_moved_on else ""
    return f"{grown}The copy holds what the source held when this began. Stop its servers and run this again with --finish for the rest."
