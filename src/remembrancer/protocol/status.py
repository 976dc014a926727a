"""What the service says about itself: the status record and whether it is ready."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .execution import Level
from .message import Message

INTERFACE_VERSION = "8.3"  # specification, Versioning: what the interface description is labelled
RECORD_VERSION = "6.0"  # specification, Versioning: what the status record reports


class Embedding(Message):
    """The embedder in use, and how many events still wait for its vectors."""

    name: Annotated[str, Field(description="Name and version; `none` searches by text alone.")]
    pending: Annotated[
        int,
        Field(
            ge=0, description="Events that are found by their text only until they are embedded."
        ),
    ]


SandboxState = Level | Literal["unavailable", "not started"]


class StatusRecord(Message):
    """Answer of `GET /api/v7/status`."""

    do_this: Annotated[list[str], Field(description="What an agent does, step by step.")]
    service: Annotated[str, Field(description="The name of the service.")]
    version: Annotated[str, Field(description="Version of this record.")]
    status: Annotated[
        Literal["ok", "degraded"],
        Field(description="`degraded`: a part is missing; /readyz says which."),
    ]
    cubes_count: Annotated[int, Field(ge=0, description="Lessons kept.")]
    connections: Annotated[int, Field(ge=0, description="Requests in flight.")]
    graph_loaded: Annotated[
        bool, Field(description="Neighbouring turns and sessions serve searches.")
    ]
    cache_enabled: Annotated[
        bool, Field(description="The search indexes of the spaces in use are kept in memory.")
    ]
    interface_version: Annotated[str, Field(description="Version of the interface description.")]
    server_version: Annotated[str, Field(description="Version of this server.")]
    embedding: Annotated[
        Embedding | None, Field(description="Unknown while the store does not answer.")
    ] = None
    sandbox: Annotated[
        SandboxState,
        Field(
            description="How programs are confined; `unavailable`: this machine cannot confine them, and none is run."
        ),
    ] = "not started"


class Readiness(Message):
    """Answer of `GET /readyz`: each part is `ok` or says what is wrong with it."""

    ready: Annotated[bool, Field(description="Whether all parts work.")]
    store: Annotated[str, Field(description="`ok`, or what is wrong with it.")]
    embedder: Annotated[str, Field(description="`ok`, or what is wrong with it.")]
    embedding: Annotated[
        Embedding | None, Field(description="Unknown while the store does not answer.")
    ] = None
