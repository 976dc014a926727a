"""Run the server: listen, create the first key, print the address, serve until stopped."""

from __future__ import annotations

import ctypes
import gc
import json
import logging
import mmap
import re
import resource
import shlex
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import uvicorn
from starlette.applications import Starlette

from .. import __version__, screening, status
from ..accounts import OWNER, keys
from ..accounts.sign_in import invite
from ..console.sign_in import link
from ..context import Context, Records, assemble, embedding_parts, open_embedders, open_records
from ..files.blobs import open_blobs
from ..files.files import sweep
from ..memory.maintenance import Maintenance, warm_shared
from ..protocol.errors import Problem
from ..sandbox.shared import RemoteSandbox
from ..search import EmbedderUnavailable
from ..search.embedders import multilingual
from ..settings import SettingInvalid, Settings, read
from ..store import StoreUnavailable, StoreUnreachable
from ..store.locations import hold, require_private
from .connection import HttpConnection
from .scheduled_backups import ScheduledBackups, check_folder
from .slots import Slot
from .supervisor import Place, Supervisor, stop_process, workers_of
from .worker import WorkerServer

_RETRY_SECONDS_MAX = 5.0  # between two attempts to reach the database at start
DESCRIPTORS_MAX = 65_536  # a connection needs one, a reader of the store three
_GRACE_SECONDS = 20  # for requests in flight at shutdown
_IDLE_SECONDS = 30  # before an idle connection is closed
# read again on SIGHUP
# Their models are arrays, which processes that are forked share. Others start threads.
_FORKABLE_EMBEDDERS = ("multilingual", "none")
_EMBEDDER_SETTINGS = ("embedder", "embedder_at_once", "embedder_key", "embedder_seconds")
_log = logging.getLogger(__name__)
T = TypeVar("T")


class AddressUnusable(Exception):
    """The server cannot listen on the address of the settings `host` and `port`."""


def run(settings: Settings, make_app: Callable[..., Starlette]) -> None:
    """Serve until SIGINT or SIGTERM, then finish the requests in flight.

    Waits up to `store_wait_seconds` for a database that does not answer. Raises SettingInvalid,
    DataFolderBusy, DataFolderReadable, AddressUnusable, WorkersFail, and what opening the store or
    the embedder raises.
    """
    start_logging(settings.log_level, settings.log_format)
    return_memory()
    _raise_descriptor_limit()
    is_main = threading.current_thread() is threading.main_thread()
    if is_main:
        signal.signal(signal.SIGTERM, stop_process)
    check_folder(settings)
    settings.data_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    require_private(settings.data_folder)
    with hold(settings.data_folder) as lock, _listener(settings) as listener:
        # forking a process with other threads is not safe
        if is_main and (count := workers_of(settings)) > 1:
            _run_workers(settings, make_app, listener, count=count, in_child=lock.close)
        else:
            _run_alone(settings, make_app, listener)


def _run_alone(
    settings: Settings, make_app: Callable[..., Starlette], listener: socket.socket
) -> None:
    """Serve in this process."""

    def announce(context: Context) -> None:
        print(welcome(context, _address(listener)), flush=True)

    def make_server(app: Starlette) -> uvicorn.Server:
        # in the background, so that the server can answer and the first program does not wait
        threading.Thread(target=_start_sandbox, args=(app,), name="sandbox").start()
        return uvicorn_server(app)

    context = _wait_for_store(settings, partial(assemble, settings))
    _serve(context, announce, make_app, make_server, sockets=[listener])


def _run_workers(
    settings: Settings,
    make_app: Callable[..., Starlette],
    listener: socket.socket,
    *,
    count: int,
    in_child: Callable[[], None],
) -> None:
    """Serve in worker processes. The parent closes the store before it makes them.

    The first process prints the address: what it cannot open is told before, and once.
    """
    screening.load()  # 40 MB that the workers share, while the rest is opened
    _wait_for_store(settings, partial(open_records, settings)).close()
    open_blobs(settings)
    address, begun = _address(listener), mmap.mmap(-1, 1)  # of all processes
    can_fork = settings.embedder in _FORKABLE_EMBEDDERS and not settings.embedder_at_once
    embedders = open_embedders(settings) if can_fork else None
    if embedders:
        warm_shared(embedders[0])  # 15 MB for each of them, and a quarter of a second

    def announce(context: Context) -> None:
        if not begun[0]:  # no process was here before
            begun[0] = 1
            print(welcome(context, address), flush=True)

    def work(place: Place) -> None:
        signal.signal(signal.SIGTERM, stop_process)
        multilingual.use_part(place.slot.number, count)
        context = assemble(settings.of_worker(count), embedders=embedders, is_shared=True)
        context = replace(context, others_change=place.slot.numbers.is_reloading)
        sandbox = RemoteSandbox(settings, place.sandbox)
        _serve(
            context,
            announce,
            partial(make_app, sandbox=sandbox, exports_metrics=place.slot.number == 0),
            lambda app: WorkerServer(server_config(app), place),
            sockets=[],
            slot=place.slot,
        )

    for thread in threading.enumerate():  # those that load: none may run when a process is forked
        if thread is not threading.main_thread():
            thread.join()
    with suppress(KeyboardInterrupt):  # a normal way to stop the server
        gc.collect()
        trim()
        gc.enable()
        Supervisor(settings, listener, work, in_child=in_child).run()


def _serve(
    context: Context,
    announce: Callable[[Context], None],
    make_app: Callable[[Context], Starlette],
    make_server: Callable[[Starlette], uvicorn.Server],
    *,
    sockets: list[socket.socket],
    slot: Slot | None = None,
) -> None:
    """Serve an application over `context`, with maintenance, until stopped; then close all.

    `slot` is that of a worker process. The first one calls `announce`, removes the remains of
    files, and writes the backups.
    """
    is_first = slot is None or slot.number == 0
    maintenance, backups = Maintenance(context), None
    try:
        maintenance.start()
        app = make_app(context)
        if is_first:  # nothing can be wrong with the settings any more
            sweep_aside(context)
            announce(context)
        maintenance.watch(app.state.dispatcher.use)
        _reload_on_hangup(maintenance, slot)
        if is_first and context.settings.backup_folder:
            report = app.state.dispatcher.metrics.count_backup
            backups = ScheduledBackups(context.settings, context.store, report)
            backups.start()
        gc.freeze()
        gc.set_threshold(*_COLLECTOR_THRESHOLDS)
        gc.enable()  # see cli.app.serve
        with trimming():
            make_server(app).run(sockets=sockets)
    except KeyboardInterrupt:
        pass  # a normal way to stop the server
    finally:
        if backups is not None:
            backups.stop()
        maintenance.stop()
        maintenance.context.close()


def _raise_descriptor_limit() -> None:
    """Allow as many open files and connections as the system lets this process have.

    The usual limit of 1,024 is for programs that use select(2). Programs get limits of their own.
    """
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    limit = DESCRIPTORS_MAX if most == resource.RLIM_INFINITY else min(most, DESCRIPTORS_MAX)
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))


def _reload_on_hangup(maintenance: Maintenance, slot: Slot | None) -> None:
    """On SIGHUP, read the settings again and change the embedder if they name another.

    A worker that starts after one does so now: its parent has the settings of the first start.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGHUP"):
        return
    turns = threading.Lock()

    def reload() -> None:
        with turns:
            reloads = slot.numbers.reloads if slot else 0
            change_embedder(maintenance)
            if slot:
                slot.numbers.reloaded[slot.number] = reloads

    def start(_signal: int, _frame: object) -> None:
        # In a thread: opening a model takes seconds, and the main thread serves.
        threading.Thread(target=reload, name="remembrancer-reload", daemon=True).start()

    signal.signal(signal.SIGHUP, start)
    if slot and slot.numbers.reloads:
        reload()


def change_embedder(maintenance: Maintenance) -> None:
    """Read the settings again and use the embedder they name.

    What fails is logged, and the server goes on as before.
    """
    before = maintenance.context.settings
    try:
        fresh = read(data=before.data)
        settings = replace(before, **{name: getattr(fresh, name) for name in _EMBEDDER_SETTINGS})
        if settings == before:
            _log.info("reloaded: the embedder is unchanged")
            return
        parts = embedding_parts(settings, *open_embedders(settings))
        first = None if parts["writer"] is parts["embedder"] else parts["writer"]
        maintenance.change_embedder(parts["embedder"], first=first, settings=settings)
    except (SettingInvalid, EmbedderUnavailable, StoreUnavailable) as error:
        _log.error("the embedder was not changed: %s", error)
        return
    _log.info("the embedder is %s now; vectors are renewed in the background", settings.embedder)


def _wait_for_store(settings: Settings, open_it: Callable[[], T]) -> T:
    """Open what needs the store. Retry while it is unreachable: the database may be starting."""
    until_s = time.monotonic() + settings.store_wait_seconds
    pause_s = 0.25
    while True:
        try:
            return open_it()
        except StoreUnreachable as error:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise
            _log.warning("waiting %.0f s more for the store: %s", left_s, error)
            time.sleep(min(pause_s, left_s))
            pause_s = min(2 * pause_s, _RETRY_SECONDS_MAX)


def _start_sandbox(app: Starlette) -> None:
    with suppress(Problem):  # the sandbox logs the cause and reports it to each run
        app.state.sandbox.start()


def sweep_aside(context: Records) -> threading.Thread:
    """Start a thread that removes the remains of interrupted file writes.

    Raises SettingInvalid if `blobs` is not a valid location.
    """
    open_blobs(context.settings)

    def sweep_once() -> None:
        try:
            sweep(context)
        except StoreUnavailable as error:
            _log.warning("orphaned files not removed; trying again at the next start: %s", error)

    # A daemon: nothing waits for it, and it stops when the store closes.
    thread = threading.Thread(target=sweep_once, name="remembrancer-sweep", daemon=True)
    thread.start()
    return thread


def welcome(context: Records, address: str) -> str:
    """Return the text to print at start.

    Creates the owner and the first key if there is no account yet.
    """
    lines = [
        f"Remembrancer {__version__} listens on {address}",
        f"Console: {address}/console",
        f"Docs: {address}/docs",
    ]
    if context.settings.host not in ("127.0.0.1", "::1", "localhost"):
        lines.append(
            f"Other machines reach it on {context.settings.host}, without encryption. Before they "
            f"do, put a proxy with TLS in front of it: {address}/docs/guides/deploy"
        )
    program = Path(sys.executable).with_name("remembrancer")  # of an environment off the path
    is_found = shutil.which("remembrancer") or not program.exists()
    command = "remembrancer" if is_found else shlex.quote(str(program))
    # If several servers start on a new store, only one creates the key.
    key = None
    with context.store.lock("first key"):
        if status.is_new(context):
            key = keys.create(context, account=OWNER, label="first key").key.reveal()
    if key is None:
        return "\n".join([*lines, f"Create a key: {command} keys create --account NAME", ""])
    base = context.settings.public_url.rstrip("/") or address
    password_link = link(base, invite(context, OWNER).reveal())
    return "\n".join(
        [
            *lines,
            "",
            f"The owner's key: {key}",
            "It will not be shown again. Store it in a safe place.",
            "",
            "Next steps, in another shell:",
            f"1. Save the key for commands and programs: {command} login{_url_option(address)}",
            f"2. Open the console and set its password (once, within a day): {password_link}",
            f"3. Connect an agent: {command} install claude-code",
            "",
        ]
    )


def _url_option(address: str) -> str:
    """Return the option with the address for commands, which know the default one."""
    default = Settings()
    is_default = address == f"http://{default.host}:{default.port}"
    return "" if is_default else f" --url {shlex.quote(address)}"


def _listener(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=1024)
    except OSError as error:
        raise AddressUnusable(
            f"cannot listen on {settings.host}, port {settings.port}: {error.strerror or error}. "
            "Choose another address with --port or --host."
        ) from error


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - not bound, printed
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def uvicorn_server(app: Starlette) -> uvicorn.Server:
    """Return the web server of the application, with its timeouts. It is not running yet."""
    return uvicorn.Server(server_config(app))


def server_config(app: Starlette) -> uvicorn.Config:
    """Return the configuration of the application's web server, with its timeouts."""
    return uvicorn.Config(
        app,
        loop="uvloop",
        http=HttpConnection,
        ws="none",
        lifespan="on",
        log_config=None,  # logs.py configures logging
        access_log=False,  # http/middleware.py writes it, without query strings
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


# parameters of mallopt(3)
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8

# Larger blocks are mapped one by one and unmapped when freed: bodies and files, but not the arrays
# of a search, for which new pages cost more than the search of them.
MAPPED_BYTES_MIN = 4 << 20
TRIMMED_BYTES_MIN = 16 << 20  # free memory at the end of the heap
ARENAS_MAX = 2  # the interpreter's lock lets few threads allocate at once
# Between two searches for free pages within the heap, which the limits above do not return. Each
# takes some milliseconds, without the interpreter's lock.
_TRIM_SECONDS = 10.0
# Of young, middle and old objects. Collecting old ones goes over all that lives, without giving
# way: 50 to 170 ms in the midst of a long draft. So it never begins by count, only before a trim.
_COLLECTOR_THRESHOLDS = (700, 10, 1_000_000)


def return_memory() -> bool:
    """Set the limits of glibc's allocator; return False without glibc. Call it before threads."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    limits = {
        _MMAP_THRESHOLD: MAPPED_BYTES_MIN,
        _TRIM_THRESHOLD: TRIMMED_BYTES_MIN,
        _ARENA_MAX: ARENAS_MAX,
    }
    return all(mallopt(parameter, value) for parameter, value in limits.items())


def trim() -> None:
    """Return the free pages of the heap. Without glibc nothing happens."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)


@contextmanager
def trimming() -> Iterator[None]:
    """Collect garbage and return the free pages of the heap every ten seconds in the block."""
    ends = threading.Event()

    def work() -> None:
        while not ends.wait(_TRIM_SECONDS):
            gc.collect()
            trim()

    thread = threading.Thread(target=work, name="remembrancer-trim", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()


_KEY = re.compile(r"sk_[0-9a-fA-F]{6,}")
_FORMAT = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")


def redact(text: str) -> str:
    """Replace every API key in a text."""
    return _KEY.sub("sk_***", text)


class Redaction(logging.Filter):
    """A filter that redacts keys in messages, arguments and tracebacks."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the record. Return True: records are never dropped."""
        record.msg, record.args = redact(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = _FORMAT.formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object on one line.

    `time` is RFC 3339 in UTC. A request in the access log also has `request_id`, `method`, `path`,
    `status` and `duration_ms`; a record with a traceback has `exception`.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_text:
            line["exception"] = record.exc_text
        return redact(json.dumps(line, ensure_ascii=False))


def start_logging(level: str, layout: str = "text") -> None:
    """Configure one handler on standard error for every logger, including the web server's.

    `layout` is `text` or `json`.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if layout == "json" else _FORMAT)
    handler.addFilter(Redaction())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):  # their own handlers don't redact
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
