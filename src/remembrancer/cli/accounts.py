"""`remembrancer accounts`: list accounts, create links, allow outside models."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .commands import DataFolder, format_time, load_settings, open_store_records, print_table
from .output import Commands

app = Commands(no_args_is_help=True, help="List and invite accounts.")


@app.command("list")
def list_accounts(context: typer.Context, data: DataFolder = None) -> None:
    """List accounts."""
    from .. import accounts

    with open_store_records(context, data) as records:
        rows = accounts.list_accounts(records)
    print_table(
        ("id", "account", "role", "keys in force", "created"),
        [
            (str(row.id), row.name, row.role, str(row.keys), format_time(row.created_ms))
            for row in rows
        ],
    )


@app.command("invite")
def invite(context: typer.Context, name: str, data: DataFolder = None) -> None:
    """Create an invitation or password-reset link.

    The link works once and expires after a day. Earlier links of the account stop working.

    Args:
        name: The account. Created if it does not exist.
    """
    from ..accounts import sign_in
    from ..console.sign_in import link

    settings = load_settings(context, data)
    with open_store_records(context, data) as records:
        token = sign_in.invite(records, name)
    base_url = settings.public_url.rstrip("/") or f"http://{settings.host}:{settings.port}"
    print(link(base_url, token.reveal()))


@app.command("models")
def models(
    context: typer.Context,
    name: str,
    allowed: Annotated[bool, typer.Option("--allow/--forbid")],
    data: DataFolder = None,
) -> None:
    """Allow or forbid language models on other machines.

    They would read the account's memory. Models on this machine are always allowed.

    Args:
        name: The account.
        allowed: Allow or forbid outside models.
    """
    from .. import accounts

    with open_store_records(context, data) as records:
        accounts.allow_outside_models(records, name, allowed=allowed)
    verb = "may" if allowed else "may not"
    print(f"Models on other machines {verb} read the memory of {name.strip()}.", file=sys.stderr)
