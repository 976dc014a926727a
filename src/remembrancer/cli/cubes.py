"""`remembrancer cubes`: list lessons, and add the starter pack."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .commands import DataFolder, open_context, open_store_records, print_table
from .output import Commands

if TYPE_CHECKING:
    from ..cubes.account_lessons import AddedLessons

app = Commands(
    no_args_is_help=True,
    help="List lessons, and add those of the service. Works while a server is running.",
)
Account = Annotated[str | None, typer.Option(help="The account. Default: the owner's.")]
COLUMNS = ("id", "status", "kind", "topic", "useful", "useless", "helped", "failed")


@app.command("list")
def list_cubes(context: typer.Context, account: Account = None, data: DataFolder = None) -> None:
    """List the lessons of an account, with votes and outcomes.

    An outcome is how a turn that used the lesson ended.
    """
    from ..accounts import caller_for
    from ..cubes.account_lessons import list_cubes as lessons_of

    with open_store_records(context, data) as records:
        rows = lessons_of(records, caller_for(records, account))
    table = []
    for row in rows:
        counts = (row.useful, row.useless, row.helped, row.failed)
        table.append((row.cube_id, row.status, row.kind, _printable(row.topic), *map(str, counts)))
    print_table(COLUMNS, table)


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
    from ..cubes.account_lessons import add_starter

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


def _printable(text: str) -> str:
    """Return a text of an agent as one line without control characters."""
    return "".join(filter(str.isprintable, " ".join(text.split())))
