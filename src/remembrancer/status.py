"""Report the status and readiness of the service, without private data."""

from __future__ import annotations

from . import __version__
from .context import Caller, Context, Records
from .files.blobs import open_blobs
from .protocol.status import (
    INTERFACE_VERSION,
    RECORD_VERSION,
    Embedding,
    Readiness,
    SandboxState,
    StatusRecord,
)
from .search import EmbedderUnavailable, analysis_id
from .store import Row, StoreUnavailable, embedder_id, load_queries

SQL = load_queries("remembrancer", "status.sql")

DO_THIS = [
    "Call POST /api/v7/memory at step 0.",
    "Follow the constitution.",
    "Call POST /api/v7/remember after every turn.",
    "An agent that cannot use the flow above calls GET /api/v7/agent/memory with its key.",
]  # specification, 'What the service does', word for word


def record(context: Context, *, connections: int, sandbox: SandboxState) -> StatusRecord:
    """Return the status record; `connections` is the number of requests in progress.

    If the store does not answer or a write or a file failed, the state is `degraded`; that is not
    an error.
    """
    embedding: Embedding | None
    try:
        embedding = _embedding(context)
        row = context.store.read(lambda tx: tx.one(SQL.cubes_shared, now_ms=context.clock()))
        cubes = int(row.n)
    except StoreUnavailable:
        embedding, cubes = None, 0
    works = embedding and _write_state(context) == _files_state(context) == "ok"
    return StatusRecord(
        do_this=DO_THIS,
        service="Remembrancer",
        version=RECORD_VERSION,
        status="ok" if works else "degraded",
        cubes_count=cubes,
        connections=connections,
        graph_loaded=embedding is not None,
        cache_enabled=True,
        interface_version=INTERFACE_VERSION,
        server_version=__version__,
        embedding=embedding,
        sandbox=sandbox,
    )


def readiness(context: Context) -> Readiness:
    """Check now that the store answers and the embedder embeds."""
    embedder, embedding = "ok", None
    try:
        embedding = _embedding(context)
        store = _write_state(context)
    except StoreUnavailable as error:
        store = _with_reason("the store does not answer", error)
    is_ready = store == "ok"
    if context.embedder.is_remote:
        # No request here, since a probe must not wait. Turns are stored and found by their words
        # without it, so the server is ready.
        embedder = "the endpoint does not answer" if context.embedder.is_failing else "ok"
    else:
        try:
            context.embedder.encode(["ready"])
        except EmbedderUnavailable:
            embedder, is_ready = "the embedder does not work", False
    return Readiness(
        ready=is_ready,
        store=store,
        embedder=embedder,
        # As a remote embedder: memory works without files, and a probe must not wait for a bucket.
        files=_files_state(context),
        embedding=embedding,
    )


def store_counts(context: Context, caller: Caller | None) -> Row:
    """Return the counts of the caller's account, or of all accounts without a caller.

    Raises StoreUnavailable.
    """
    account_id = caller.account_id if caller else None
    return context.store.read(lambda tx: tx.one(SQL.kept, account_id=account_id))


def store_bytes(context: Context) -> int:
    """Return the size of the store in bytes, of all accounts. Raises StoreUnavailable."""
    return int(context.store.read(lambda tx: tx.one(SQL.store_bytes)).bytes)


def has_key(context: Context, caller: Caller) -> bool:
    """Return True if the caller's account has a valid key. Raises StoreUnavailable."""
    values = {"account_id": caller.account_id, "now_ms": context.clock()}
    return bool(context.store.read(lambda tx: tx.one(SQL.good_keys, **values)).n)


def is_new(records: Records) -> bool:
    """Return True if no key was ever created, so that nobody can use the service yet."""
    return not records.store.read(lambda tx: tx.one(SQL.any_key)).found


def is_above_policies(context: Context) -> bool:
    """Return True if the store role bypasses row-level security, the second barrier between
    accounts. Raises StoreUnavailable.
    """
    return bool(context.store.read(lambda tx: tx.one(SQL.is_above_policies)).found)


def _write_state(context: Context) -> str:
    """Return `ok`, or why the store cannot write. Reads work."""
    try:
        context.store.check_writes()
    except StoreUnavailable as error:
        return _with_reason("the store cannot write", error)
    return "ok"


def _files_state(context: Context) -> str:
    failure = open_blobs(context.settings).failure
    return f"the storage for files does not work: {failure}" if failure else "ok"


def _with_reason(text: str, error: StoreUnavailable) -> str:
    return f"{text}: {error.reason}" if error.reason else text


def _embedding(context: Context) -> Embedding:
    """Count the events waiting to be derived again.

    They exist without an embedder, too: their words may come from an older analyzer version.
    """
    by = analysis_id(context.embedder)
    stale = context.store.read(
        lambda tx: tx.one(SQL.events_stale, id=embedder_id(tx, by, make=False))
    )
    waiting = int(stale.pending)
    is_failing = any(one.is_failing for one in (context.embedder, context.writer))
    is_pending = waiting > 0 or context.others_change()
    return Embedding(
        name=context.embedder.name,
        pending=waiting,
        state="unavailable" if is_failing else "pending" if is_pending else "ok",
        older=context.older.name if context.older else None,
    )
