"""The status record, readiness, and the description of a key."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .execution import Level
from .message import Id, Message, OrAbsent

# --- The status record and readiness ---------------------------------------------------------

INTERFACE_VERSION = "8.3"
RECORD_VERSION = "6.0"


class Embedding(Message):
    """The embedder in use, and the number of events without its vectors."""

    name: str
    """Name and version; `none` means full-text search only."""
    pending: Annotated[int, Field(ge=0)]
    """Events without a vector of this embedder yet. Until then, full-text search finds them, and
    the vectors of `older` if there is one."""
    state: Literal["ok", "pending", "unavailable"] = "ok"
    """`pending`: vectors are made in the background, or a worker process still changes its
    embedder. `unavailable`: the endpoint does not answer; turns are stored and found by their words
    until it does."""
    older: OrAbsent[str] = None
    """Embedder whose vectors are served until those of `name` are made."""


SandboxState = Level | Literal["unavailable", "not started"]


class StatusRecord(Message):
    """Answer of `GET /api/v7/status`."""

    do_this: list[str]
    """Recommended steps of an agent."""
    service: str
    """Name of the service."""
    version: str
    """Version of this record."""
    status: Literal["ok", "degraded"]
    """`degraded`: a component is missing or fails; see /readyz."""
    cubes_count: Annotated[int, Field(ge=0)]
    """Number of published cubes in use."""
    connections: Annotated[int, Field(ge=0)]
    """Requests in flight."""
    graph_loaded: bool
    """True if neighbouring turns and sessions are used in ranking."""
    cache_enabled: bool
    """True if search indexes are cached in memory."""
    interface_version: str
    """Version of the interface description."""
    server_version: str
    """Version of this server."""
    embedding: Embedding | None = None
    """Null while the store is unavailable."""
    sandbox: SandboxState = "not started"
    """Confinement of programs; `unavailable`: this machine cannot confine them, so none are run."""


class Readiness(Message):
    """Answer of `GET /readyz`: each component is `ok` or reports its error."""

    ready: bool
    """True if all components work."""
    store: str
    """`ok`, or what is wrong."""
    embedder: str
    """`ok`, or what is wrong."""
    files: str = "ok"
    """`ok`, or what was wrong with the storage for files within the last minute. Memory works
    without it."""
    embedding: Embedding | None = None
    """Null while the store is unavailable."""


# --- The description of a key ----------------------------------------------------------------


class OwnKeyQuery(Message):
    """Parameters of `GET /api/v7/key`."""

    session_id: Id | None = None
    """Session whose user to return. Default: none."""


class OwnKey(Message):
    """Answer of `GET /api/v7/key`."""

    account: str
    """Account of the key."""
    user_id: str
    """User used when a request names none: the key's pin, else the user_id that the key last named
    with `session_id`, else the account's name."""
    pinned: bool
    """True if the key works for one user only."""
    read_only: bool
    """True if the key may only read."""
    protocol: bool
    """False: every request with this key is a pure read or write: searches count no step, and
    nothing is due."""
    is_owner: bool
    """True if the account is an owner of the service."""
    expires_at: str | None = None
    """Time at which the key expires (RFC 3339, UTC). Null: it does not expire."""
