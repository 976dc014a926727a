"""The work of `remembrancer export`, and of `remembrancer import` for its files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..accounts import caller_for
from ..context import Caller, Context, Records
from ..memory.exchange.archive import Archive
from ..memory.exchange.export import ExportResult, count_events, export
from ..memory.exchange.records import MEMBERS
from ..memory.exchange.restore import restore
from ..memory.exchange.source import ExportSource
from ..settings import Settings
from .progress import progress


class ExportStopped(Exception):
    """Interrupted. No file was written."""


def export_to(
    records: Records,
    path: Path,
    *,
    account: str | None = None,
    user_ids: Sequence[str] = (),
    force: bool = False,
) -> str:
    """Write an export and return a summary.

    Raises AccountUnknown, UserUnknown, ExportExists, ExportStopped, StoreUnavailable.
    """
    caller = caller_for(records, account)
    try:
        with progress("exporting", count_events(records, caller, user_ids)) as advance:
            result = export(records, caller, path, user_ids=user_ids, force=force, advance=advance)
    except KeyboardInterrupt as error:
        raise ExportStopped from error
    return f"{_counts(result)} (account {caller.account_name}, {result.bytes:,} bytes)"


def _counts(result: ExportResult) -> str:
    names = {name: name.removesuffix(".jsonl").replace("_", " ") for name in result.records}
    return ", ".join(f"{count:,} {names[name]}" for name, count in result.records.items() if count)


def inspect_export(path: Path, *, user_id: str | None) -> str:
    """Check the records of an export and return what it holds. Raises ImportRefused."""
    with Archive(path) as archive:
        manifest = archive.manifest
        source = ExportSource(archive=archive, settings=Settings(), user_id=user_id)
        count = sum(entry.records for entry in manifest.members.values())
        with progress("checking", count) as advance:
            for name in MEMBERS:
                for batch in source.batches(name):
                    advance(len(batch))
    members = manifest.members.items()
    counts = [
        f"{entry.records:,} {name.removesuffix('.jsonl').replace('_', ' ')}"
        for name, entry in members
        if entry.records
    ]
    title = f"{manifest.format}: an export of the account {manifest.account}"
    origin = f"version {manifest.version}, {manifest.created_at:%Y-%m-%d}"
    return "\n".join([f"{title}, {origin}", *counts])


def restore_from(context: Context, caller: Caller, path: Path, *, user_id: str | None) -> str:
    """Import an export and return a summary. Raises ImportRefused."""
    result = restore(context, caller, path, user_id=user_id, progress=progress)
    parts = [f"{result.stored:,} stored", f"{result.present:,} already present"]
    if result.left:
        parts.append(f"{result.left:,} not stored, because the account has another one")
    if result.without_cube:
        parts.append(f"{result.without_cube:,} votes on cubes that this store does not have")
    return f"{', '.join(parts)} (account {caller.account_name})"
