"""The command line. Answers go to stdout, all else to stderr. Exit status: 0 good, 1 a finding or
failure, 2 wrong use.

A command imports what it needs when it runs, so that none waits for the parts of another.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from .. import __version__

if TYPE_CHECKING:
    from ..context import Context, Records
    from ..settings import Settings

app = typer.Typer(
    name="remembrancer",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
keys_app = typer.Typer(
    no_args_is_help=True, help="Make, list and revoke API keys. Works beside a running server."
)
accounts_app = typer.Typer(no_args_is_help=True, help="See who has an account.")
models_app = typer.Typer(no_args_is_help=True, help="Language models, where the settings name any.")
app.add_typer(keys_app, name="keys")
app.add_typer(accounts_app, name="accounts")
audit_app = typer.Typer(
    no_args_is_help=True,
    help="Verify and export the audit trail of system permissions. Works beside a running server.",
)
app.add_typer(audit_app, name="audit")
app.add_typer(models_app, name="models")
store_app = typer.Typer(
    no_args_is_help=True,
    help="Copy a whole store to another place or engine, and say what one holds.",
)
app.add_typer(store_app, name="store")

DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Folder that holds everything the service keeps.",
        show_default=False,
    ),
]


def main() -> None:
    """Run the command that the program's arguments name, then exit."""
    try:
        app()
    except Exception as error:  # noqa: BLE001 - the outer wall of every command: people get a line, not a traceback
        fail(*_told(error))


def fail(message: str, status: int = 1) -> NoReturn:
    """End with one line on stderr."""
    print(f"remembrancer: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(status)


def _version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def front(
    context: typer.Context,
    data: DataFolder = None,
    _: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and end.", is_eager=True, callback=_version
        ),
    ] = False,
) -> None:
    """A shared memory and a set of tools for AI agents."""
    context.obj = data


@app.command()
def serve(
    context: typer.Context,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on.", show_default=False)
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="TCP port to listen on; 0: any free one.", show_default=False)
    ] = None,
    data: DataFolder = None,
) -> None:
    """Serve over HTTP until told to stop."""
    from ..server.app import serve as serve_http

    serve_http(settings_of(context, data, host=host, port=port))


@keys_app.command("create")
def keys_create(
    context: typer.Context,
    account: Annotated[
        str,
        typer.Option(
            help="Whose key; the account is made when there is none. The first one is the owner."
        ),
    ],
    label: Annotated[str, typer.Option(help="What people will know the key by.")] = "",
    user_id: Annotated[
        str | None, typer.Option(help="Pin the key to this one user_id.", show_default=False)
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="A key that cannot write.")
    ] = False,
    expires_in: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="When it ends: 30d, 12h, 45m or 90s.", show_default=False
        ),
    ] = None,
    data: DataFolder = None,
) -> None:
    """Make a key. It is shown once, as the last line of stdout."""
    from ..accounts import keys
    from ..accounts.durations import duration

    try:
        expires_in_ms = None if expires_in is None else duration(expires_in)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--expires-in") from error
    with records_of(context, data) as records:
        new = keys.create(
            records,
            account=account,
            label=label,
            user_id=user_id,
            read_only=read_only,
            expires_in_ms=expires_in_ms,
        )
    whose = f"{new.account} (the owner)" if new.is_owner else new.account
    ends = "" if new.expires_ms is None else f", good until {moment(new.expires_ms)}"
    print(f"Key {new.id} of account {whose}{ends}. It will not be shown again.", file=sys.stderr)
    print(new.key.reveal())


@keys_app.command("list")
def keys_list(
    context: typer.Context,
    account: Annotated[
        str | None, typer.Option(help="Only the keys of this account.", show_default=False)
    ] = None,
    data: DataFolder = None,
) -> None:
    """List keys; of a key itself only the beginning is known."""
    from ..accounts import keys

    with records_of(context, data) as records:
        found, now_ms = keys.list_keys(records, account), records.clock()
    columns = (
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
    rows = []
    for key in found:
        may = "read" if key.read_only else "write"
        what = (
            str(key.id),
            f"{keys.PREFIX}{key.hint}…",
            key.account,
            key.label,
            key.user_id or "any",
            may,
            key.state(now_ms),
        )
        rows.append(
            (*what, moment(key.created_ms), moment(key.expires_ms), moment(key.last_used_ms))
        )
    table(columns, rows)


@keys_app.command("revoke")
def keys_revoke(
    context: typer.Context,
    key_id: Annotated[int, typer.Argument(metavar="ID", help="The key's number in `keys list`.")],
    data: DataFolder = None,
) -> None:
    """Refuse a key from the next request on."""
    from ..accounts import keys

    with records_of(context, data) as records:
        revoked = keys.revoke(records, key_id)
    if not revoked:
        fail(f"there is no key {key_id} in force; see `remembrancer keys list`")
    print(f"Key {key_id} is revoked.", file=sys.stderr)


@accounts_app.command("list")
def accounts_list(context: typer.Context, data: DataFolder = None) -> None:
    """List accounts."""
    from .. import accounts

    with records_of(context, data) as records:
        found = accounts.list_accounts(records)
    rows = [
        (str(account.id), account.name, account.role, str(account.keys), moment(account.created_ms))
        for account in found
    ]
    table(("id", "account", "role", "keys in force", "created"), rows)


@accounts_app.command("invite")
def accounts_invite(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Whose password; the account is made when there is none of that name.",
        ),
    ],
    data: DataFolder = None,
) -> None:
    """Print a link that sets an account's password, once, within a day.

    Earlier links for it stop working.
    """
    from ..accounts.invitations import invite
    from ..console.sign_in import link

    settings = settings_of(context, data)
    with records_of(context, data) as records:
        token = invite(records, name)
    print(
        link(
            settings.public_url.rstrip("/") or f"http://{settings.host}:{settings.port}",
            token.reveal(),
        )
    )


@audit_app.command("verify")
def audit_verify(
    context: typer.Context,
    head: Annotated[
        str | None,
        typer.Option(
            metavar="SEQ:HASH",
            help="A head noted before, which must still be there.",
            show_default=False,
        ),
    ] = None,
    data: DataFolder = None,
) -> None:
    """Look whether the audit trail is as it was written; prints its head, to be noted elsewhere."""
    from ..permissions.audit import ChainLink, verify

    known = None
    if head is not None:
        seq, _, digest = head.partition(":")
        if not (
            seq.isascii()
            and seq.isdigit()
            and len(seq) <= 15
            and re.fullmatch(r"[0-9a-f]{64}", digest)
        ):
            raise typer.BadParameter(
                "it is what this command printed: a number, a colon and 64 hex digits",
                param_hint="--head",
            )
        known = ChainLink(seq=int(seq), hash=digest)
    with records_of(context, data) as records:
        found = verify(records, known)
    print(f"{found.seq}:{found.hash}")


@audit_app.command("export")
def audit_export(context: typer.Context, data: DataFolder = None) -> None:
    """Print the audit trail as JSON lines."""
    from ..permissions.audit import export_entries

    with records_of(context, data) as records:
        for line in export_entries(records):
            print(line)


@accounts_app.command("models")
def accounts_models(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The account.")],
    allowed: Annotated[
        bool, typer.Option("--allow/--forbid", help="Whether they may.", show_default=False)
    ],
    data: DataFolder = None,
) -> None:
    """Let language models on other machines read an account's memory, or not.

    One on this machine always may.
    """
    from .. import accounts

    with records_of(context, data) as records:
        accounts.allow_outside_models(records, name, allowed=allowed)
    print(
        f"Models on other machines {'may' if allowed else 'may not'} read the memory of {name.strip()}.",
        file=sys.stderr,
    )


@models_app.command("check")
def models_check(context: typer.Context, data: DataFolder = None) -> None:
    """Ask each model of each slot, and say how fast it is and what it can do.

    Works beside a running server.
    """
    from .models import check_models

    found = list(check_models(settings_of(context, data)))
    if not found:
        print(
            "No language model is configured; docs/reference/settings.md says how.", file=sys.stderr
        )
    rows = [
        (
            "ok" if one.is_good else "wrong",
            one.slot,
            one.target.model,
            one.target.base_url,
            one.seen,
        )
        for one in found
    ]
    table(("state", "slot", "model", "address", "seen"), rows)
    if not all(one.is_good for one in found):
        sys.exit(1)


@app.command("import")
def import_file(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="JSON lines, one event each, or conversations in the shape of LoCoMo.",
        ),
    ],
    user_id: Annotated[
        str | None, typer.Option(help="Whose memory, whatever the file says.", show_default=False)
    ] = None,
    account: Annotated[
        str | None,
        typer.Option(help="Into whose account; the owner's by default.", show_default=False),
    ] = None,
    data: DataFolder = None,
) -> None:
    """Import what was said elsewhere.

    Works beside a running server; run again, it goes on where it was stopped.
    """
    from .memory import import_into

    with closing(assemble_of(context, data)) as opened:
        print(import_into(opened, file, user_id=user_id, account=account))


@store_app.command("copy")
def store_copy(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="URL",
            help="The store to copy: sqlite:PATH or postgresql://USER@HOST/DATABASE.",
        ),
    ],
    target: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="URL",
            help="Where to: an empty place, or the copy that was begun there.",
        ),
    ],
    finish: Annotated[
        bool,
        typer.Option(
            "--finish",
            help="The last run, with the servers stopped: the copy becomes a store to use.",
        ),
    ] = False,
    data: DataFolder = None,
) -> None:
    """Copy a store and compare every table.

    Works beside a running server; run again, it brings over the rest.
    """
    from .store import COPIED, copy_store

    outcome = copy_store(settings_of(context, data), source, target, finish=finish)
    table(COPIED, outcome.rows)
    print(outcome.said, file=sys.stderr)
    if not outcome.is_good:
        sys.exit(1)


@store_app.command("check")
def store_check(
    context: typer.Context,
    url: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help="Which store; the settings' by default.",
            show_default=False,
        ),
    ] = None,
    data: DataFolder = None,
) -> None:
    """Print how many rows each table holds, and a hash of them:

    the same before a backup and after it was restored.
    """
    from .store import HELD, store_contents

    table(HELD, store_contents(url or settings_of(context, data).store_url))


@store_app.command("backup")
def store_backup(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A new file, which is whole or not there.")
    ],
    data: DataFolder = None,
) -> None:
    """Write a copy of a SQLite store to a new file. Works beside a running server."""
    with records_of(context, data) as records:
        records.store.backup(str(file))


@app.command()
def doctor(context: typer.Context, data: DataFolder = None) -> None:
    """Try every part that the service needs, and say what is wrong and what mends it.

    Works beside a running server.
    """
    from .doctor import run_checks

    found = list(run_checks(settings_of(context, data)))
    table(
        ("state", "part", "seen", "what to do"),
        [(one.state, one.part, one.seen, one.remedy) for one in found],
    )
    if any(one.state == "wrong" for one in found):
        sys.exit(1)


@app.command()
def chat(
    url: Annotated[
        str | None,
        typer.Option(help="Address of the service; else REMEMBRANCER_URL.", show_default=False),
    ] = None,
    user_id: Annotated[str, typer.Option(help="Whose memory.")] = "owner",
    session_id: Annotated[str, typer.Option(help="The session to go on with.")] = "default",
    model: Annotated[
        str | None,
        typer.Option(help="The model's name; without one, memory is quoted.", show_default=False),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="Where the model is: an OpenAI-compatible address.", show_default=False),
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option(
            help="Name of the environment variable with the model's key.", show_default=False
        ),
    ] = None,
    show: Annotated[
        str, typer.Option(help="Any of hits,checks,votes: shown below each answer.")
    ] = "none",
) -> None:
    """Talk with a model that has memory. The service's key is read from REMEMBRANCER_KEY."""
    from ..client.api import KEY_NAME, URL_NAME
    from ..settings import SettingInvalid, from_environment
    from .chat import SERVICE_URL, chat_model, run_chat, terminal_chat

    key = from_environment(KEY_NAME)
    if key is None:
        raise SettingInvalid(
            f"{KEY_NAME} must be set: the service's key, which never stands on a command line."
        )
    model_key = from_environment(key_env) if key_env else None
    if key_env and model_key is None:
        raise SettingInvalid(f"--key-env names {key_env}, which is not set.")
    try:
        endpoint = chat_model(model, base_url, model_key)
        chat = terminal_chat(
            url or from_environment(URL_NAME) or SERVICE_URL,
            key,
            endpoint,
            user_id=user_id,
            session_id=session_id,
            show=show,
        )
    except ValueError as error:
        raise SettingInvalid(str(error)) from error
    sys.exit(run_chat(chat))


@app.command("mcp")
def mcp_stdio(
    url: Annotated[
        str | None,
        typer.Option(help="Address of the service; else REMEMBRANCER_URL.", show_default=False),
    ] = None,
) -> None:
    """Speak the Model Context Protocol on standard input and output, for agents that start their
    tools themselves.
    """
    import asyncio

    from ..client import AsyncClient
    from ..client.api import KEY_NAME, URL_NAME
    from ..mcp.server import serve_stdio
    from ..settings import SettingInvalid, from_environment
    from .chat import SERVICE_URL

    base, key = url or from_environment(URL_NAME) or SERVICE_URL, from_environment(KEY_NAME)
    if key is None:
        raise SettingInvalid(
            f"{KEY_NAME} must be set: the service's key, which never stands on a command line."
        )
    try:
        client = AsyncClient(base, key, timeout_s=900.0)
    except ValueError as error:
        raise SettingInvalid(str(error)) from error
    asyncio.run(serve_stdio(client, base.rstrip("/")))


@app.command()
def install(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="claude-code, codex or cursor.")],
    scope: Annotated[str, typer.Option(help="user: everywhere; project: in this folder.")] = "user",
    url: Annotated[
        str | None,
        typer.Option(help="Address of the service; else REMEMBRANCER_URL.", show_default=False),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take everything out again.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Write without asking.")] = False,
) -> None:
    """Set an agent up to use this memory:

    hooks and tools in its own files. Shows the changes and asks before it writes.
    """
    from .install import install, plan

    changes, diff = plan(agent, scope, url, remove=remove)
    print(diff, end="")
    if not changes:
        print("Everything is as it should be; nothing to change.", file=sys.stderr)
        return
    if not yes and not typer.confirm("Write this?", default=False, err=True):
        fail("nothing was written")
    print(install(changes, agent, remove=remove), file=sys.stderr)


@app.command()
def demo(
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the memory in this new folder.", show_default=False),
    ] = None,
) -> None:
    """Import a small conversation into a fresh memory and ask it three questions."""
    from .demo import run_demo

    run_demo(print, keep)


def assemble_of(context: typer.Context, data: Path | None) -> Context:
    """All the parts over the data folder, embedder and all; to be closed."""
    from ..context import assemble

    return assemble(settings_of(context, data))


def settings_of(context: typer.Context, data: Path | None, **said: Any) -> Settings:
    """The settings in force; what the command line said wins.

    `--data` may stand before or after the command.
    """
    from ..settings import read

    return read(data=data or context.obj, **said)


@contextmanager
def records_of(context: typer.Context, data: Path | None) -> Iterator[Records]:
    """The rows of the data folder, open while a command works on them."""
    from ..context import open_records

    records = open_records(settings_of(context, data))
    try:
        yield records
    finally:
        records.close()


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows to stdout: drawn for people, with tabs between the cells for programs."""
    if not sys.stdout.isatty():
        for row in (columns, *rows):
            print("\t".join(row))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        drawn.add_column(column, overflow="fold", no_wrap=column in ("id", "key", "state"))
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))  # not markup: a label may hold [brackets]
    Console().print(drawn)


def moment(ms: int | None) -> str:
    """A time for people to read, in UTC; `never` for none."""
    return (
        "never"
        if ms is None
        else datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%MZ")
    )


def _told(error: Exception) -> tuple[str, int]:
    """What to say of an error, and the exit status.

    Our own errors are written for people; any other is a mistake of ours.
    """
    from ..protocol.errors import InvalidRequest, message_of
    from ..settings import SettingInvalid

    if isinstance(error, SettingInvalid | InvalidRequest):
        return str(error), 2
    if isinstance(error, OSError) or type(error).__module__.startswith("remembrancer."):
        return str(error) or message_of(type(error)), 1
    ours = Path(__file__).parents[1]
    places = [
        place
        for place in traceback.extract_tb(error.__traceback__)
        if Path(place.filename).is_relative_to(ours)
    ]
    where = f"{Path(places[-1].filename).relative_to(ours)}, line {places[-1].lineno}"
    return f"internal error: {type(error).__name__}: {error} ({where})", 1
