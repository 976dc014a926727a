"""The work of `remembrancer export`, and of `remembrancer import` for its files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..accounts import caller_for
from ..context import Caller, Context, Records
from ..memory.exchange.archive import Archive
from ..memory.exchange.export import count_events, export
from ..memory.exchange.records import MEMBERS
from ..memory.exchange.restore import restore
from ..memory.exchange.source import ExportSource
from ..settings import Settings, processors
from .progress import interruptible, progress


@dataclass(frozen=True, slots=True)
class ExchangeReport:
    """The result of an export or import: a summary for people, and a document for programs."""

    text: str
    document: dict[str, Any]

    def rendered(self, *, as_json: bool) -> str:
        """Return the summary, or the document as JSON."""
        return json.dumps(self.document, ensure_ascii=False, indent=2) if as_json else self.text


def export_to(
    records: Records,
    path: Path,
    *,
    account: str | None = None,
    user_ids: Sequence[str] = (),
    filters: Mapping[str, Any] | None = None,
    force: bool = False,
) -> ExchangeReport:
    """Write an export and report it.

    Raises AccountUnknown, UserUnknown, ExportExists, Interrupted, StoreUnavailable.
    """
    caller = caller_for(records, account)
    chosen: dict[str, Any] = {"user_ids": user_ids, "filters": filters}
    with (
        interruptible("No file was written."),
        progress("exporting", count_events(records, caller, user_ids)) as advance,
    ):
        result = export(records, caller, path, force=force, advance=advance, **chosen)
    counts = ", ".join(_counts(result.records))
    text = f"{counts} (account {caller.account_name}, {result.bytes:,} bytes)"
    document = {"file": str(path), "account": caller.account_name, **asdict(result)}
    return ExchangeReport(text, document)


def _counts(records: Mapping[str, int]) -> list[str]:
    """Return how many records of each kind there are, by the names of the members."""
    names = {name: name.removesuffix(".jsonl").replace("_", " ") for name in records}
    return [f"{count:,} {names[name]}" for name, count in records.items() if count]


def inspect_export(path: Path, *, user_id: str | None) -> ExchangeReport:
    """Check the records of an export and report what it holds. Raises ImportRefused."""
    with Archive(path) as archive:
        manifest = archive.manifest
        source = ExportSource(archive=archive, settings=Settings(), user_id=user_id)
        records = {name: entry.records for name, entry in manifest.members.items()}
        with progress("checking", sum(records.values())) as advance:
            for name in MEMBERS:
                for batch in source.batches(name):
                    advance(len(batch))
    title = f"{manifest.format}: an export of the account {manifest.account}"
    origin = f"version {manifest.version}, {manifest.created_at:%Y-%m-%d}"
    document = {
        "shape": manifest.format,
        "account": manifest.account,
        "version": manifest.version,
        "created_at": manifest.created_at.isoformat(),
        "records": records,
    }
    return ExchangeReport("\n".join([f"{title}, {origin}", *_counts(records)]), document)


def restore_from(
    context: Context, caller: Caller, path: Path, *, user_id: str | None
) -> ExchangeReport:
    """Import an export and report it. Raises ImportRefused."""
    result = restore(
        context, caller, path, user_id=user_id, progress=progress, processors=processors()
    )
    parts = [f"{result.stored:,} stored", f"{result.present:,} already present"]
    if result.left:
        parts.append(f"{result.left:,} not stored, because the account has another one")
    if result.without_cube:
        parts.append(f"{result.without_cube:,} votes on cubes that this store does not have")
    document = {"account": caller.account_name, **asdict(result)}
    return ExchangeReport(f"{', '.join(parts)} (account {caller.account_name})", document)
