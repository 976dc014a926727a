"""`remembrancer keys`: create, list and revoke API keys."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ..protocol.service_keys import PREFIX
from .commands import DataFolder, fail, format_time, open_store_records, print_table
from .output import Commands

if TYPE_CHECKING:
    from ..accounts.keys import Key

app = Commands(
    no_args_is_help=True, help="Create, list and revoke API keys. Works while a server is running."
)
DAY_CHARACTERS = len("2026-01-01")
_COLUMNS = (
    "id",
    "key",
    "account",
    "label",
    "user_id",
    "may",
    "state",
    "created",
    "expires",
    "last used",
)
_SHORT_COLUMNS = ("id", "key", "account", "label", "may", "state", "last used")


@app.command("create")
def create(
    context: typer.Context,
    account: Annotated[str, typer.Option()],
    label: str = "",
    user_id: str | None = None,
    read_only: bool = False,
    no_protocol: bool = False,
    expires_in: Annotated[str | None, typer.Option(metavar="TIME")] = None,
    data: DataFolder = None,
) -> None:
    """Create a key. It is printed once, as the last line of stdout.

    Args:
        account: Account of the key. Created if it does not exist; the first one is the owner.
        label: Label that identifies the key in lists.
        user_id: Restrict the key to this user_id.
        read_only: Create a key that cannot write.
        no_protocol: Create a key without the protocol: searches count no step, nothing is due.
        expires_in: Lifetime: 30d, 12h, 45m or 90s. Default: unlimited.
    """
    from ..accounts import keys
    from ..accounts.durations import duration

    try:
        expires_in_ms = None if expires_in is None else duration(expires_in)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--expires-in") from error
    with open_store_records(context, data, may_create=True) as records:
        new_key = keys.create(
            records,
            account=account,
            label=label,
            user_id=user_id,
            read_only=read_only,
            has_protocol=not no_protocol,
            expires_in_ms=expires_in_ms,
        )
    owner = " (the owner)" if new_key.is_owner else ""
    expiry = "" if new_key.expires_ms is None else f", expires {format_time(new_key.expires_ms)}"
    print(
        f"Key {new_key.id} of account {new_key.account}{owner}{expiry}. "
        "It will not be shown again.",
        file=sys.stderr,
    )
    print(new_key.key.reveal())


@app.command("list")
def list_keys(context: typer.Context, account: str | None = None, data: DataFolder = None) -> None:
    """List keys. Only the first characters of each key are known.

    A terminal shows days for times, and not when a key was created. Pipe the list for all columns.

    Args:
        account: Only the keys of this account.
    """
    from ..accounts import keys

    with open_store_records(context, data) as records:
        rows, now_ms = keys.list_keys(records, account), records.clock()
    if sys.stdout.isatty():
        print_table(_SHORT_COLUMNS, [_short_row(key, now_ms) for key in rows])
        return
    print_table(
        _COLUMNS,
        [
            (
                str(key.id),
                f"{PREFIX}{key.hint}…",
                key.account,
                key.label,
                key.user_id or "any",
                _may(key),
                key.state(now_ms),
                format_time(key.created_ms),
                format_time(key.expires_ms),
                format_time(key.last_used_ms),
            )
            for key in rows
        ],
    )


def _short_row(key: Key, now_ms: int) -> tuple[str, ...]:
    """Return the cells of a key for a terminal of 80 columns: times are days."""
    account = key.account if key.user_id is None else f"{key.account}\nuser {key.user_id}"
    state: str = key.state(now_ms)
    if key.expires_ms is not None and state == "good":
        state = f"good until\n{_day(key.expires_ms)}"
    return (
        str(key.id),
        f"{PREFIX}{key.hint}…",
        account,
        key.label,
        _may(key).replace(", ", "\n"),
        state,
        _day(key.last_used_ms),
    )


def _day(ms: int | None) -> str:
    return format_time(ms)[:DAY_CHARACTERS]


def _may(key: Key) -> str:
    """Return what a key may do, in a word or two."""
    access = "read" if key.read_only else "write"
    return access if key.has_protocol else f"{access}, no protocol"


@app.command("revoke")
def revoke(
    context: typer.Context,
    key_id: Annotated[int, typer.Argument(metavar="ID")],
    data: DataFolder = None,
) -> None:
    """Revoke a key. The next request with it is rejected.

    Args:
        key_id: The id of the key in `keys list`.
    """
    from ..accounts import keys

    with open_store_records(context, data) as records:
        is_revoked = keys.revoke(records, key_id)
    if not is_revoked:
        fail(f"there is no active key {key_id}; see `remembrancer keys list`")
    print(f"Key {key_id} is revoked.", file=sys.stderr)
