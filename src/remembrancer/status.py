"""What the service says about itself, with nothing private in it, and whether it can work."""

from __future__ import annotations

from typing import NamedTuple

from . import __version__
from .context import Caller, Context
from .protocol.status import (
    INTERFACE_VERSION,
    RECORD_VERSION,
    Embedding,
    Readiness,
    SandboxState,
    StatusRecord,
)
from .search import EmbedderUnavailable, analysis_id
from .store import StoreUnavailable, Transaction, embedder_id, load_queries

SQL = load_queries("remembrancer", "status.sql")

DO_THIS = [
    "Call POST /api/v7/memory at step 0.",
    "Follow the constitution.",
    "Call POST /api/v7/remember after every turn.",
    "An agent that cannot use the flow above calls GET /api/v7/agent/memory with its key.",
]  # specification, 'What the service does', word for word


class StoreCounts(NamedTuple):
    """How much is kept."""

    turns: int
    sessions: int
    users: int  # user_ids with a turn
    summaries: int
    facts: int
    cubes: int
    files: int


def record(context: Context, *, connections: int, sandbox: SandboxState) -> StatusRecord:
    """The status record; `connections` are the requests in flight.

    Without the store it is `degraded`, not an error.
    """
    embedding: Embedding | None
    try:
        embedding, cubes = (
            _embedding(context),
            int(context.store.read(lambda tx: tx.one(SQL.cubes_kept)).n),
        )
    except StoreUnavailable:
        embedding, cubes = None, 0
    return StatusRecord(
        do_this=DO_THIS,
        service="Remembrancer",
        version=RECORD_VERSION,
        status="degraded" if embedding is None else "ok",
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
    """Whether the store answers and the embedder embeds, tried now."""
    store = embedder = "ok"
    embedding = None
    try:
        embedding = _embedding(context)
    except StoreUnavailable:
        store = "the store does not answer"
    try:
        context.embedder.encode(["ready"])
    except EmbedderUnavailable:
        embedder = "the embedder does not work"
    return Readiness(
        ready=store == embedder == "ok", store=store, embedder=embedder, embedding=embedding
    )


def store_counts(context: Context, caller: Caller | None) -> StoreCounts:
    """How much the caller's account keeps; how much all accounts do when there is none.

    Raises StoreUnavailable.
    """
    account_id = caller.account_id if caller else None
    return StoreCounts(*context.store.read(lambda tx: tx.one(SQL.kept, account_id=account_id)))


def has_key(context: Context, caller: Caller) -> bool:
    """Whether the caller's account has a key that is accepted now. Raises StoreUnavailable."""
    now_ms = context.clock()
    return bool(
        context.store.read(
            lambda tx: tx.one(SQL.good_keys, account_id=caller.account_id, now_ms=now_ms)
        ).n
    )


def is_new(context: Context) -> bool:
    """Whether no key was ever made: nobody could use the service."""
    return not context.store.read(lambda tx: tx.one(SQL.any_key)).found


def is_above_policies(context: Context) -> bool:
    """Whether the store lets this service past its policies on rows, the second wall between
    accounts. Raises StoreUnavailable.
    """
    return bool(context.store.read(lambda tx: tx.one(SQL.is_above_policies)).found)


def _embedding(context: Context) -> Embedding:
    """Which events wait to be derived anew; without an embedder, too:

    their words may be of an older version.
    """
    by = analysis_id(context.embedder)

    def pending(tx: Transaction) -> int:
        return int(tx.one(SQL.events_stale, id=embedder_id(tx, by, make=False)).pending)

    return Embedding(name=context.embedder.name, pending=context.store.read(pending))
