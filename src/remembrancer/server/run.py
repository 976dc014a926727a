"""Listen, say where, make the first key, and serve until told to stop."""

from __future__ import annotations

import json
import logging
import shlex
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import uvicorn
from starlette.applications import Starlette

from .. import __version__, status
from ..accounts import OWNER, keys
from ..accounts.invitations import invite
from ..console.sign_in import link
from ..context import Context, assemble
from ..files.blobs import open_blobs
from ..files.files import sweep
from ..memory.maintenance import Maintenance
from ..protocol.errors import Problem
from ..settings import Settings
from ..store import StoreUnavailable, StoreUnreachable
from ..store.folder_lock import hold
from .connection import HttpConnection
from .logs import start_logging

_EXAMPLE = {
    "query": "When does the ferry leave?",
    "response": "At 9:40 from Piombino, pier 3.",
    "session_id": "summer-trip",
}
_ASK_AGAIN_SECONDS_MAX = 5.0  # between two looks for a database at start
_GRACE_SECONDS = 20  # for the requests in flight when told to stop
_log = logging.getLogger(__name__)
_IDLE_SECONDS = 30  # an open connection may say nothing for so long


class AddressUnusable(Exception):
    """The address of the settings `host` and `port` cannot be listened on."""


def run(settings: Settings, make_app: Callable[[Context], Starlette]) -> None:
    """Serve until SIGINT or SIGTERM; what is being answered is finished first.

    Raises DataFolderBusy, AddressUnusable, and what opening the store or the embedder raises; a
    database that does not answer is waited for as long as `store_wait_seconds` says.
    """
    start_logging(settings.log_level)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _stop)
    settings.data_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with hold(settings.data_folder), _listener(settings) as listener:
        context = _assembled(settings)
        upkeep = Maintenance(context)
        try:
            sweep_aside(context)
            upkeep.start()
            print(welcome(context, _address(listener)), flush=True)
            app = make_app(context)
            threading.Thread(
                target=_start_sandbox, args=(app,), name="sandbox"
            ).start()  # beside: the first program need not wait for it
            uvicorn_server(app).run(sockets=[listener])
        except KeyboardInterrupt:
            pass  # asked to stop, and stopped
        finally:
            upkeep.stop()
            context.close()


def _assembled(settings: Settings) -> Context:
    """The parts; a database that may be starting too is asked again and again."""
    until_s = time.monotonic() + settings.store_wait_seconds
    pause_s = 0.25
    while True:
        try:
            return assemble(settings)
        except StoreUnreachable as error:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise
            _log.warning("waiting %.0f s more for the store: %s", left_s, error)
            time.sleep(min(pause_s, left_s))
            pause_s = min(2 * pause_s, _ASK_AGAIN_SECONDS_MAX)


def _start_sandbox(app: Starlette) -> None:
    with suppress(Problem):  # it is said in the log, and to whoever wants to run a program
        app.state.sandbox.start()


def sweep_aside(context: Context) -> threading.Thread:
    """Begin to remove, in a thread, what writes of files that were cut off left.

    Raises SettingInvalid where `blobs` names no place.
    """
    open_blobs(context.settings)
    # Nobody waits for it, at the end neither: it stops when the store does.
    thread = threading.Thread(
        target=_sweep, args=(context,), name="remembrancer-sweep", daemon=True
    )
    thread.start()
    return thread


def _sweep(context: Context) -> None:
    try:
        sweep(context)
    except StoreUnavailable as error:
        _log.warning("orphaned files are left for the next start: %s", error)


def welcome(context: Context, address: str) -> str:
    """What to say when the server begins to listen.

    Makes the owner and the first key when there is no account yet.
    """
    lines = [
        f"Remembrancer {__version__} listens on {address}",
        f"Documentation: {address}/docs",
        "",
    ]
    with context.store.lock(
        "first key"
    ):  # of servers that start at once on a new store, one makes it
        key = (
            keys.create(context, account=OWNER, label="first key").key.reveal()
            if status.is_new(context)
            else None
        )
    if key is None:
        return "\n".join([*lines, "A new key: remembrancer keys create --account NAME", ""])
    set_up = link(
        context.settings.public_url.rstrip("/") or address, invite(context, OWNER).reveal()
    )
    return "\n".join(
        [
            *lines,
            f"The owner's first key: {key}",
            "It is not kept and will not be shown again. Keep it where you keep passwords.",
            f"Set the owner's password within a day, once: {set_up}",
            "",
            "Try it: keep a turn, then find it again.",
            "",
            _curl(f"{address}/api/v7/remember", key, _EXAMPLE),
            "",
            _curl(f"{address}/api/v7/memory", key, {"query_text": "ferry", "user_id": OWNER}),
            "",
        ]
    )


def _curl(url: str, key: str, body: dict[str, Any]) -> str:
    headers = f"-H 'Authorization: Bearer {key}' -H 'Content-Type: application/json'"
    return f"curl -sS {shlex.quote(url)} {headers} -d {shlex.quote(json.dumps(body))}"


def _listener(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=1024)
    except OSError as error:
        where = f"{settings.host}, port {settings.port}"
        raise AddressUnusable(
            f"cannot listen on {where}: {error.strerror or error}. Choose another with --port or --host."
        ) from error


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - not an address to bind: every address, shown as one to type
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def uvicorn_server(app: Starlette) -> uvicorn.Server:
    """The web server around the application, with its timeouts and bounds; not yet running."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            loop="uvloop",
            http=HttpConnection,
            ws="none",
            lifespan="on",
            log_config=None,  # logs.py has set it up
            access_log=False,  # edge.py writes it, without query strings
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
    )


def _stop(_signal: int, _frame: object) -> NoReturn:
    # uvicorn raises the signal again after it has finished; by default that would kill the process
    # before it closes the store
    raise SystemExit(0)
