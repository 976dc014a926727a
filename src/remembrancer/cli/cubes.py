"""`remembrancer cubes`: list lessons, exchange them as packs, and add the starter pack."""

from __future__ import annotations

import re
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .commands import DataFolder, open_context, open_store_records, print_table
from .output import Commands

if TYPE_CHECKING:
    from ..cubes.packs import AddedLessons

app = Commands(
    no_args_is_help=True,
    help="List lessons, and exchange them as packs. Works while a server is running.",
)
Account = Annotated[str | None, typer.Option(help="The account. Default: the owner's.")]
COLUMNS = ("id", "status", "kind", "topic", "useful", "useless", "helped", "failed")


@app.command("list")
def list_cubes(context: typer.Context, account: Account = None, data: DataFolder = None) -> None:
    """List the lessons of an account, with votes and outcomes.

    An outcome is how a turn that used the lesson ended.
    """
    from ..accounts import caller_for
    from ..cubes import packs

    with open_store_records(context, data) as records:
        rows = packs.list_cubes(records, caller_for(records, account))
    table = []
    for row in rows:
        counts = (row.useful, row.useless, row.helped, row.failed)
        table.append((row.cube_id, row.status, row.kind, _printable(row.topic), *map(str, counts)))
    print_table(COLUMNS, table)


@app.command("export")
def export(
    context: typer.Context,
    file: Path,
    account: Account = None,
    status: Literal["private", "published", "trusted", "all"] | None = None,
    force: bool = False,
    data: DataFolder = None,
) -> None:
    """Write lessons to a pack, signed with the key of the service.

    Prints the public key. `remembrancer cubes import` reads the file.

    Args:
        file: New file. Its name becomes the name of the pack.
        status: Only lessons of this status. all: all but retired ones. Default: published and
            trusted.
        force: Replace the file if it exists.
    """
    from ..accounts import caller_for
    from ..cubes.packs import export_pack
    from ..memory.exchange.archive import new_file

    with open_store_records(context, data) as records:
        caller = caller_for(records, account)
        pack = export_pack(records, caller, name=_pack_name(file), status=status)
    with new_file(file, force=force) as target:
        target.write(pack.content)
    for cube_id, reason in pack.omitted:
        print(f"left out {cube_id}: {_printable(reason)}", file=sys.stderr)
    print(f"signed with the key {pack.key}", file=sys.stderr)
    print(f"{pack.lessons:,} lessons (account {caller.account_name}, {len(pack.content):,} bytes)")


@app.command("import")
def import_file(
    context: typer.Context,
    file: Path,
    account: Account = None,
    publish: bool = False,
    key: Annotated[str | None, typer.Option(metavar="PUBLIC_KEY")] = None,
    data: DataFolder = None,
) -> None:
    """Import the lessons of a pack, all or none. What the account has already is not stored again.

    Prints who signed the pack, and each lesson that the screening refuses to publish.

    Args:
        file: A pack.
        publish: Publish the lessons that pass the screening.
        key: Refuse a pack that another key signed. Default: any key.
    """
    from ..accounts import caller_for
    from ..cubes.packs import PACK_BYTES_MAX, import_pack, parse_pack

    with file.open("rb") as source:
        content = source.read(PACK_BYTES_MAX + 1)  # one more than parse_pack accepts
    pack = parse_pack(content, signer=key)
    print(f"{pack.name}: signed with the key {pack.key} (id {pack.key_id})", file=sys.stderr)
    with closing(open_context(context, data)) as service:
        caller = caller_for(service, account)
        added = import_pack(service, caller, pack, publish=publish)
    _print_added(added, caller.account_name)


@app.command("add")
def add(
    context: typer.Context,
    pack: Literal["starter"],
    account: Account = None,
    data: DataFolder = None,
) -> None:
    """Add and publish the lessons of the service. Those of the account stay as they are.

    Args:
        pack: starter: lessons about Python, each with a proof.
    """
    from ..accounts import caller_for
    from ..cubes.packs import add_starter

    del pack  # there is one
    with closing(open_context(context, data)) as service:
        caller = caller_for(service, account)
        added = add_starter(service, caller)
    _print_added(added, caller.account_name)


def _print_added(added: AddedLessons, account: str) -> None:
    for topic, reason in added.refused:
        print(f"{_printable(topic)}: {reason}", file=sys.stderr)
    print(
        f"{added.stored:,} stored ({added.published:,} published), "
        f"{added.present:,} already present (account {account})"
    )


def _pack_name(file: Path) -> str:
    """Return the name of a pack from that of its file, up to the first full stop."""
    name = re.sub(r"[^a-z0-9]+", "-", file.name.lstrip(".").partition(".")[0].lower())
    return name[:64].strip("-") or "lessons"


def _printable(text: str) -> str:
    """Return a text of an agent as one line without control characters."""
    return "".join(filter(str.isprintable, " ".join(text.split())))
