"""`remembrancer audit`: verify and export the audit trail."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from .commands import DataFolder, open_store_records
from .output import Commands

app = Commands(
    no_args_is_help=True,
    help="Verify and export the audit trail of system permissions. Works while a server is "
    "running.",
)


@app.command("verify")
def verify(
    context: typer.Context,
    head: Annotated[str | None, typer.Option(metavar="SEQ:HASH")] = None,
    data: DataFolder = None,
) -> None:
    """Verify the hash chain of the audit trail and print its head. Store the head elsewhere.

    Args:
        head: A head that this command printed earlier and that must still be in the trail.
    """
    from ..permissions import audit

    expected = None
    if head is not None:
        seq, _, digest = head.partition(":")
        is_number = seq.isascii() and seq.isdigit() and len(seq) <= 15
        if not (is_number and re.fullmatch(r"[0-9a-f]{64}", digest)):
            raise typer.BadParameter(
                "must be an earlier output of this command: a number, a colon and 64 hex digits",
                param_hint="--head",
            )
        expected = audit.ChainLink(seq=int(seq), hash=digest)
    with open_store_records(context, data) as records:
        newest = audit.verify(records, expected)
    print(f"{newest.seq}:{newest.hash}")


@app.command("export")
def export(context: typer.Context, data: DataFolder = None) -> None:
    """Print the audit trail as JSON lines."""
    from ..permissions.audit import export_entries

    with open_store_records(context, data) as records:
        for line in export_entries(records):
            print(line)
