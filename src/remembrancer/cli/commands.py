"""Shared parts of the commands: the data folder option, opening stores, tables, error messages."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from .output import terminal_table

if TYPE_CHECKING:
    from ..context import Context, Records
    from ..settings import Settings

_NEVER_BROKEN = frozenset({"id", "key", "may", "state", "last used"})
DataFolder = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Data folder of the service.")
]
ServiceUrl = Annotated[
    str | None,
    typer.Option(help="Address of the service. Default: REMEMBRANCER_URL, else that of the login."),
]

FilterOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="KEY=VALUE",
        help="Only what has this metadata, or passes filters in JSON. Can be repeated.",
    ),
]


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of an import that do not depend on the service."""

    user_id: str | None = None
    """User to import for. Default: the users in the file; where it names none, the account's own.
    """
    shape: Annotated[str | None, typer.Option(metavar="NAME")] = None
    """Shape to read it as. Default: recognised."""
    skip_invalid: bool = False
    """Import the rest and list invalid records."""
    report: Annotated[Path | None, typer.Option(metavar="FILE")] = None
    """New file of JSON lines: each record left out, with its place and the reason."""


NO_OPTIONS = ImportOptions()


def options_of(
    read: Callable[[Sequence[str]], dict[str, Any] | None], options: Sequence[str] | None
) -> dict[str, Any] | None:
    """Return what `pairs_of` or `filters_of` reads from options. Raises SettingInvalid."""
    from ..settings import SettingInvalid

    try:
        return read(options or ())
    except ValueError as error:
        raise SettingInvalid(str(error)) from error


def fail(message: str, status: int = 1) -> NoReturn:
    """Print one line to stderr and exit."""
    print(f"remembrancer: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(status)


def load_settings(context: typer.Context, data: Path | None, **overrides: Any) -> Settings:
    """Return the settings, with values from the command line first.

    `--data` is accepted before and after the command.
    """
    from ..settings import read

    return read(data=data or context.obj, **overrides)


def has_store(settings: Settings) -> bool:
    """Return True unless the store is a SQLite file that does not exist. Raises SettingInvalid."""
    from ..store.locations import is_missing_file

    return not is_missing_file(settings.store_url)


def check_store(settings: Settings) -> None:
    """Raise SettingInvalid if there is no store yet.

    A command on the wrong folder or file would report success about a new, empty store.
    """
    from ..settings import SettingInvalid

    if has_store(settings):
        return
    remedy = (
        "Name the file of the service with REMEMBRANCER_STORE"
        if settings.store
        else "Name the data folder of the service with --data or REMEMBRANCER_DATA"
    )
    raise SettingInvalid(
        f"There is no store {_place(settings)}. {remedy}; `remembrancer serve` creates one."
    )


def say_created(settings: Settings) -> None:
    """Say that a command created a store: its place may be the wrong one."""
    print(f"remembrancer: created a new store {_place(settings)}", file=sys.stderr)


def _place(settings: Settings) -> str:
    return f"at {settings.store_shown}" if settings.store else f"in {settings.data_folder}"


def open_context(context: typer.Context, data: Path | None) -> Context:
    """Open the whole context of the data folder, including the embedder. The caller closes it.

    A new store is created if there is none.
    """
    from ..context import assemble

    return assemble(load_settings(context, data))


@contextmanager
def open_store_records(
    context: typer.Context, data: Path | None, *, may_create: bool = False
) -> Iterator[Records]:
    """Open the records of the data folder, without embedder and models, and close them after.

    Raises SettingInvalid if there is no store, unless `may_create`.
    """
    from ..context import open_records

    settings = load_settings(context, data)
    is_new = not has_store(settings)
    if not may_create:
        check_store(settings)
    records = open_records(settings)
    try:
        yield records
    finally:
        records.close()
    if is_new:
        say_created(settings)


def service_key(agent: str | None = None) -> str:
    """Return the service's key from REMEMBRANCER_KEY, else from the key file.

    `agent` names the agent whose own key file comes before that of the login. Raises SettingInvalid
    if there is none, or if other users can read the file.
    """
    from ..client.credentials import KeyMissingError, find_key
    from ..settings import SettingInvalid

    try:
        return find_key(agent=agent)
    except KeyMissingError as error:
        raise SettingInvalid(f"{error} Keys are not accepted on the command line.") from error


def service_url(url: str | None) -> str:
    """Return the address of the service: that of `--url`, else of the environment or the login.

    Raises SettingInvalid.
    """
    from ..client.credentials import KeyMissingError, find_url
    from ..settings import SettingInvalid

    try:
        return url or find_url()
    except KeyMissingError as error:
        raise SettingInvalid(str(error)) from error


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows to stdout: as a table on a terminal, else separated by tabs."""
    if not sys.stdout.isatty():
        for row in (columns, *rows):
            print("\t".join(row))
        return
    from rich.console import Console

    Console().print(terminal_table(columns, rows, _NEVER_BROKEN))


def format_time(ms: int | None) -> str:
    """Format a time in ms since 1970 as UTC. `never` for None."""
    if ms is None:
        return "never"
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%MZ")


def error_line(error: Exception) -> tuple[str, int]:
    """Return the message for an error and the exit status.

    Our own errors have messages for users. Any other is an internal error, with its location.
    """
    from ..protocol.errors import InvalidRequest, message_of
    from ..settings import SettingInvalid

    if isinstance(error, SettingInvalid | InvalidRequest):
        return str(error), 2
    if isinstance(error, OSError) or type(error).__module__.startswith("remembrancer."):
        return str(error) or message_of(type(error)), 1
    package = Path(__file__).parents[1]
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(package)
    ]
    location = f"{Path(frames[-1].filename).relative_to(package)}, line {frames[-1].lineno}"
    return f"internal error: {type(error).__name__}: {error} ({location})", 1
