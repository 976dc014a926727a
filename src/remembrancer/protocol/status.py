"""The status record, readiness, and the description of a key."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .execution import Level
from .message import ABSENT_IF_NONE, Id, Message

# --- The status record and readiness ---------------------------------------------------------

INTERFACE_VERSION = "8.3"
RECORD_VERSION = "6.0"


class Embedding(Message):
    """The embedder in use, and the number of events without its vectors."""

    name: Annotated[str, Field(description="Name and version; `none` means full-text search only.")]
    pending: Annotated[
        int,
        Field(
            ge=0,
            description="Events without a vector of this embedder yet. Until then, full-text "
            "search finds them, and the vectors of `older` if there is one.",
        ),
    ]
    state: Annotated[
        Literal["ok", "pending", "unavailable"],
        Field(
            description="`pending`: vectors are made in the background, or a worker process "
            "still changes its embedder. `unavailable`: the "
            "endpoint does not answer; turns are stored and found by their words until it does."
        ),
    ] = "ok"
    older: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Embedder whose vectors are served until those of `name` are made."),
    ] = None


SandboxState = Level | Literal["unavailable", "not started"]


class StatusRecord(Message):
    """Answer of `GET /api/v7/status`."""

    do_this: Annotated[list[str], Field(description="Recommended steps of an agent.")]
    service: Annotated[str, Field(description="Name of the service.")]
    version: Annotated[str, Field(description="Version of this record.")]
    status: Annotated[
        Literal["ok", "degraded"],
        Field(description="`degraded`: a component is missing or fails; see /readyz."),
    ]
    cubes_count: Annotated[int, Field(ge=0, description="Number of published cubes in use.")]
    connections: Annotated[int, Field(ge=0, description="Requests in flight.")]
    graph_loaded: Annotated[
        bool, Field(description="True if neighbouring turns and sessions are used in ranking.")
    ]
    cache_enabled: Annotated[
        bool, Field(description="True if search indexes are cached in memory.")
    ]
    interface_version: Annotated[str, Field(description="Version of the interface description.")]
    server_version: Annotated[str, Field(description="Version of this server.")]
    embedding: Annotated[
        Embedding | None, Field(description="Null while the store is unavailable.")
    ] = None
    sandbox: Annotated[
        SandboxState,
        Field(
            description="Confinement of programs; `unavailable`: this machine cannot confine "
            "them, so none are run."
        ),
    ] = "not started"


class Readiness(Message):
    """Answer of `GET /readyz`: each component is `ok` or reports its error."""

    ready: Annotated[bool, Field(description="True if all components work.")]
    store: Annotated[str, Field(description="`ok`, or what is wrong.")]
    embedder: Annotated[str, Field(description="`ok`, or what is wrong.")]
    files: Annotated[
        str,
        Field(
            description="`ok`, or what was wrong with the storage for files within the last "
            "minute. Memory works without it."
        ),
    ] = "ok"
    embedding: Annotated[
        Embedding | None, Field(description="Null while the store is unavailable.")
    ] = None


# --- The description of a key ----------------------------------------------------------------


class OwnKeyQuery(Message):
    """Parameters of `GET /api/v7/key`."""

    session_id: Annotated[
        Id | None, Field(description="Session whose user to return. Default: none.")
    ] = None


class OwnKey(Message):
    """Answer of `GET /api/v7/key`."""

    account: Annotated[str, Field(description="Account of the key.")]
    user_id: Annotated[
        str,
        Field(
            description="User used when a request names none: the key's pin, else the user_id that "
            "the key last named with `session_id`, else the account's name."
        ),
    ]
    pinned: Annotated[bool, Field(description="True if the key works for one user only.")]
    read_only: Annotated[bool, Field(description="True if the key may only read.")]
    protocol: Annotated[
        bool,
        Field(
            description="False: every request with this key is a pure read or write: searches "
            "count no step, and nothing is due."
        ),
    ]
    is_owner: Annotated[bool, Field(description="True if the account is an owner of the service.")]
    expires_at: Annotated[
        str | None,
        Field(
            description="Time at which the key expires (RFC 3339, UTC). Null: it does not expire."
        ),
    ] = None
