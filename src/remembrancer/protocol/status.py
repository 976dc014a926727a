"""What the service says about itself: the status record and whether it is ready."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .memory import Message

INTERFACE_VERSION = "8.3"  # specification, Versioning: what the interface description is labelled
RECORD_VERSION = "6.0"  # specification, Versioning: what the status record reports


class Embedding(Message):
    """The embedder in use, and how many events still wait for its vectors."""

    name: str
    pending: Annotated[int, Field(ge=0, description="Events that are found by their text only until they are embedded.")]


class StatusRecord(Message):
    """Answer of `GET /api/v7/status`."""

    do_this: Annotated[list[str], Field(description="What an agent does, step by step.")]
    service: str
    version: Annotated[str, Field(description="Version of this record.")]
    status: Annotated[Literal["ok", "degraded"], Field(description="`degraded`: a part is missing; /readyz says which.")]
    cubes_count: Annotated[int, Field(ge=0)]
    connections: Annotated[int, Field(ge=0, description="Requests in flight.")]
    graph_loaded: Annotated[bool, Field(description="Neighbouring turns and sessions serve searches.")]
    cache_enabled: Annotated[bool, Field(description="The search indexes of the spaces in use are kept in memory.")]
    interface_version: str
    server_version: str
    embedding: Embedding | None = None


class Readiness(Message):
    """Answer of `GET /readyz`: each part is `ok` or says what is wrong with it."""

    ready: bool
    store: str
    embedder: str
    embedding: Embedding | None = None
