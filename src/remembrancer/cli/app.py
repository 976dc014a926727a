"""The command line `remembrancer`.

Output goes to stdout, everything else to stderr. Exit status: 0 success, 1 a finding or a failure,
2 wrong usage. Commands import what they need when they run, so that each starts fast.
"""

from __future__ import annotations

import gc
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import __version__
from . import (
    accounts,
    audit,
    backup_commands,
    cubes,
    evaluate_command,
    keys,
    memory_commands,
    model_commands,
    receipts,
    service_commands,
    store_commands,
    teams,
)
from .commands import (
    NO_OPTIONS,
    DataFolder,
    FilterOptions,
    ImportOptions,
    ServiceUrl,
    error_line,
    fail,
    has_store,
    load_settings,
    open_context,
    open_store_records,
    options_of,
    print_table,
    say_created,
    service_key,
    service_url,
)
from .output import AsJson, Commands

app = Commands(
    name="remembrancer", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
)
app.add_typer(keys.app, name="keys")
app.add_typer(accounts.app, name="accounts")
app.add_typer(teams.app, name="teams")
app.add_typer(audit.app, name="audit")
app.add_typer(receipts.app, name="receipts")
app.add_typer(cubes.app, name="cubes")
app.add_typer(model_commands.app, name="models")
app.add_typer(store_commands.app, name="store")
app.add_typer(service_commands.app, name="service")


def main() -> None:
    """Run the command of the program's arguments, then exit."""
    try:
        app()
    except Exception as error:  # noqa: BLE001 - the boundary of every command: users get one line
        fail(*error_line(error))


def _print_version(is_set: bool) -> None:
    if is_set:
        print(__version__)
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    data: DataFolder = None,
    _: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """A shared memory and tools for AI agents.

    First steps: `remembrancer serve` starts the service and prints a key. In another shell,
    `remembrancer login` saves the key, `remembrancer remember TEXT` stores something, and
    `remembrancer search TEXT` finds it again. `remembrancer help COMMAND` explains a command.
    """
    context.obj = data


@app.command()
def serve(
    context: typer.Context,
    host: str | None = None,
    port: int | None = None,
    workers: int | None = None,
    data: DataFolder = None,
) -> None:
    """Serve over HTTP until stopped.

    Args:
        host: Address to listen on.
        port: TCP port to listen on. 0 means any free port.
        workers: Worker processes. Default: one per processor, at most 8.
    """
    from ..search.embedders import multilingual

    settings = load_settings(context, data, host=host, port=port, workers=workers)
    gc.disable()  # until it serves: a start creates no garbage, and a tenth of its time went to gc
    if settings.embedder == "multilingual":
        multilingual.load()  # beside the import of the application, which takes as long
    try:
        from ..server.app import serve as serve_http

        serve_http(settings)
    finally:
        gc.enable()


@app.command()
def login(url: ServiceUrl = None) -> None:
    """Save the key of the service for this user.

    Commands, hooks and programs use it. Asks for the key, or reads it from stdin, checks it with
    the service and writes it to ~/.config/remembrancer/key, and the address beside it to `url`
    (mode 0600).
    """
    from ..client import Client, Retry
    from ..client.credentials import KEY_NAME, URL_NAME, key_file, url_file, write_key
    from ..settings import SettingInvalid, from_environment

    base_url, key = service_url(url), _read_key()
    try:
        with Client(base_url, key, retry=Retry(times=1)) as client:
            own = client.own_key()
    except ValueError as error:
        raise SettingInvalid(str(error)) from error
    write_key(url_file(), base_url)  # first: the new key must not meet the old address
    write_key(key_file(), key)
    whose = f"account {own.account} (user {own.user_id}{', read-only' if own.read_only else ''})"
    print(f"The key of the {whose} is saved in {key_file()}, its address {base_url} beside it.")
    print("Commands and `Client()` of your programs use both, agents without a key file the key.")
    for name, saved in ((URL_NAME, base_url), (KEY_NAME, "")):
        if from_environment(name) not in (None, "", saved):
            print(f"{name} is set in this shell and comes first.")


def _read_key() -> str:
    """Return the key from a hidden prompt, or from stdin if it is no terminal."""
    from ..settings import SettingInvalid

    text = (
        typer.prompt("Key (sk_\u2026)", hide_input=True, err=True)
        if sys.stdin.isatty()
        else sys.stdin.readline()
    )
    key = str(text).strip()
    if not key:
        raise SettingInvalid(
            "No key was entered. `remembrancer serve` prints one when its data folder is new; "
            "`remembrancer keys create` makes another."
        )
    return key


app.command("remember")(memory_commands.remember)
app.command("search")(memory_commands.search)
app.add_typer(memory_commands.facts_app, name="facts")
app.command("sessions")(memory_commands.sessions)
app.command("users")(memory_commands.users)
app.command("delete")(memory_commands.delete)
app.command("forget")(memory_commands.forget)
app.command("evaluate")(evaluate_command.evaluate)


@app.command("import")
def import_file(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="PATH")],
    options: ImportOptions = NO_OPTIONS,
    account: str | None = None,
    url: str | None = None,
    detect: Annotated[bool | None, typer.Option("--detect/--dry-run")] = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Import conversations and facts from a file or folder.

    Works while a server is running. Run the command again to continue an interrupted import.

    Args:
        file: Export, file, .zip archive or folder. The guide on imports lists the shapes.
        account: Account to import into. Default: the owner's.
        url: Address of a service to import into, with your key. Default: the data folder.
        detect: Print the shape and what would be imported; --dry-run adds the first records. Both
            store nothing.
    """
    from .memory import import_into, import_through, inspect_import

    if detect is not None:
        report, is_valid = inspect_import(file, options, with_records=not detect)
        print(report.rendered(as_json=as_json))
        raise typer.Exit(0 if is_valid else 1)
    if url is not None:
        if account is not None or data is not None:
            raise typer.BadParameter("It goes with the account of your key.", param_hint="--url")
        with memory_commands.service_client(url) as client:
            print(import_through(client, url, file, options).rendered(as_json=as_json))
        return
    settings = load_settings(context, data)
    is_new = not has_store(settings)
    with closing(open_context(context, data)) as service:
        report = import_into(service, file, account=account, options=options)
    if is_new:
        say_created(settings)
    print(report.rendered(as_json=as_json))


@app.command("export")
def export_file(
    context: typer.Context,
    file: Path,
    user_id: list[str] | None = None,
    account: str | None = None,
    filters: FilterOptions = None,
    force: bool = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Write the memory of an account to a file.

    With --user-id, only that of some of its users. With --filter, only turns and facts that pass,
    with their sessions. Works while a server is running. `remembrancer import` reads the file.

    Args:
        file: New file (.zip). It appears when the export is complete.
        user_id: User to export. Can be repeated. Default: the whole account.
        account: Account to export. Default: the owner's.
        force: Replace the file if it exists.
    """
    from ..protocol.filters import filters_of
    from .exchange import export_to

    chosen: dict[str, Any] = {"user_ids": user_id or (), "filters": options_of(filters_of, filters)}
    with open_store_records(context, data) as records:
        report = export_to(records, file, account=account, force=force, **chosen)
    print(report.rendered(as_json=as_json))


app.command("backup")(backup_commands.backup)
app.command("restore")(backup_commands.restore)


@app.command()
def doctor(context: typer.Context, data: DataFolder = None) -> None:
    """Check the service, its address and your key, and suggest fixes.

    Checks each component of the service on this machine, then the service and the key that
    commands and programs use (`remembrancer login`). Works while a server is running, and on a
    machine without a store. Never shows the key.
    """
    from .doctor import run_checks

    findings = list(run_checks(load_settings(context, data)))
    print_table(
        ("state", "part", "seen", "what to do"),
        [(finding.state, finding.part, finding.detail, finding.remedy) for finding in findings],
    )
    if any(finding.state == "wrong" for finding in findings):
        sys.exit(1)


@app.command()
def chat(
    url: ServiceUrl = None,
    user_id: str = "owner",
    session_id: str = "default",
    model: str | None = None,
    base_url: str | None = None,
    key_env: str | None = None,
    show: str = "none",
) -> None:
    """Chat with a model that has memory.

    The service's key is read from REMEMBRANCER_KEY, else from ~/.config/remembrancer/key.

    Args:
        user_id: User whose memory is used.
        session_id: Session to continue.
        model: Name of the model. Without a model, answers quote memory.
        base_url: OpenAI-compatible address of the model.
        key_env: Name of the environment variable with the model's key.
        show: Details below each answer: any of hits,checks,votes.
    """
    from ..settings import SettingInvalid, from_environment
    from .chat import TerminalChat, chat_model

    key = service_key()
    model_key = from_environment(key_env) if key_env else None
    if key_env and model_key is None:
        raise SettingInvalid(f"The environment variable {key_env} of --key-env is not set.")
    try:
        endpoint = chat_model(model, base_url, model_key)
        terminal = TerminalChat(
            service_url(url), key, endpoint, user_id=user_id, session_id=session_id, show=show
        )
    except ValueError as error:
        raise SettingInvalid(str(error)) from error
    sys.exit(terminal.run())


ToolChoice = Annotated[
    str | None,
    typer.Option(
        metavar="all|memory|NAME,...",
        help="Tools to list: memory (recall, remember, get_event, forget), all, or some by name.",
    ),
]


@app.command("mcp")
def mcp_stdio(
    url: ServiceUrl = None,
    beside_hooks: Annotated[bool, typer.Option("--beside-hooks/--no-beside-hooks")] = False,
    agent: Annotated[str | None, typer.Option(metavar="AGENT")] = None,
    tools: ToolChoice = None,
) -> None:
    """Serve MCP over standard input and output.

    For agents that start their own tools.

    Args:
        beside_hooks: Hooks search and store for the agent: ask it for neither.
        agent: Read the key from AGENT.key beside the file of the login, if it exists.
    """
    from ..client.relay import Relay
    from ..install.agents import AGENTS
    from ..settings import SettingInvalid

    if agent not in (None, *AGENTS):
        raise SettingInvalid(f"--agent must be one of {', '.join(AGENTS)}.")
    try:
        key = service_key(agent)
        relay = Relay(service_url(url), key, beside_hooks=beside_hooks, tools=tools)
    except ValueError as error:
        raise SettingInvalid(str(error)) from error
    relay.run(sys.stdin.buffer)


@app.command()
def install(
    agent: str,
    scope: str = "user",
    url: ServiceUrl = None,
    tools: ToolChoice = None,
    gate: str = "writes",
    remove: bool = False,
    yes: bool = False,
) -> None:
    """Configure an agent to use this memory.

    Writes hooks and tools to the agent's own files. Shows the changes and asks before writing them.
    A removal for the user also deletes the agent's queued turns and state, and the files of the key
    and its address if no other agent needs them.

    Args:
        agent: Hooks and tools: claude-code, codex, cursor, gemini-cli, qwen-code, opencode or
            cline. Tools alone: claude-desktop, continue, copilot-cli, goose, vscode, windsurf or
            zed.
        scope: user: for all projects; project: for this folder.
        gate: What needs a grant. writes: changes of system files, and reads of secrets; all: all
            reads of system files, too; off: nothing.
        remove: Remove the configuration.
        yes: Write without confirmation.
    """
    from ..install.config_files import Leftovers
    from .install import install, leftovers, plan, question

    changes, diff = plan(agent, scope, url, remove=remove, tools=tools or "memory", gate=gate)
    rest = leftovers(agent, scope, is_configured=bool(changes)) if remove else Leftovers()
    print(diff, end="")
    for path in rest.files:
        print(f"delete {path}")
    if not changes and not rest.files:
        print("Everything is up to date.", file=sys.stderr)
        return
    if not yes and not typer.confirm(question(rest), default=False, err=True):
        fail("nothing was written")
    print(install(changes, agent, rest, remove=remove), file=sys.stderr)


ThisProject = Annotated[bool, typer.Option("--project", help="Only in the project of this folder.")]


@app.command()
def pause(project: ThisProject = False) -> None:
    """Switch the memory of the hooks off.

    No prompt is searched for and no turn is stored until `resume`; permissions are still checked.
    """
    from ..client.pause import pause_file, project_pause_file

    path = project_pause_file(Path.cwd()) if project else pause_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch()
    print(f"Memory is off while {path} exists.")


@app.command()
def resume(project: ThisProject = False) -> None:
    """Switch the memory of the hooks on again."""
    from ..client.pause import pause_file, project_pause_file

    paths = pause_file(), project_pause_file(Path.cwd())
    paths[int(project)].unlink(missing_ok=True)
    rest = [str(path) for path in paths if path.exists()]
    print(f"Memory is still off here: {rest[0]} exists." if rest else "Memory is on here.")


@app.command("help")
def show_help(
    context: typer.Context, command: Annotated[list[str] | None, typer.Argument()] = None
) -> None:
    """Explain a command.

    Args:
        command: Command, such as `search` or `keys create`. Default: all commands.
    """
    place = context.find_root()
    for word in command or ():
        group = place.command
        inner = getattr(group, "commands", {}).get(word)
        if inner is None:
            fail(f"there is no command `{' '.join(command or ())}`. See remembrancer help.", 2)
        place = type(place)(inner, info_name=word, parent=place)
    print(place.get_help())


@app.command()
def demo(keep: Annotated[Path | None, typer.Option(metavar="DIR")] = None) -> None:
    """Import a small conversation and ask three questions.

    Args:
        keep: Keep the demo's memory in this new folder.
    """
    from .demo import run_demo

    run_demo(print, keep)
