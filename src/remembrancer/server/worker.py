"""A worker process: the application over connections that its parent hands out."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from functools import partial
from typing import Any

import uvicorn

from .connection import HttpConnection
from .slots import Slot
from .supervisor import Place

_RECEIVED_AT_ONCE = 32


class WorkerServer(uvicorn.Server):
    """The web server of a worker. It stops when its parent is gone."""

    def __init__(self, config: uvicorn.Config, place: Place) -> None:
        super().__init__(config)
        self._place, self._opening = place, set[asyncio.Task[Any]]()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then receive connections."""
        await super().startup(sockets=sockets or [])
        slot = self._place.slot
        asyncio.get_running_loop().add_reader(slot.worker, self._receive)
        slot.numbers.ready[slot.number] = 1
        with suppress(BlockingIOError):  # it is awake then
            os.write(self._place.ready, b"r")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Receive no more connections, and finish the requests in flight."""
        asyncio.get_running_loop().remove_reader(self._place.slot.worker)
        await super().shutdown(sockets=sockets)

    def _receive(self) -> None:
        loop, slot = asyncio.get_running_loop(), self._place.slot
        for _ in range(_RECEIVED_AT_ONCE):
            try:
                message, descriptors, _, _ = socket.recv_fds(slot.worker, 1, 1)
            except BlockingIOError:
                return
            if not message:
                self.should_exit = True
                loop.remove_reader(slot.worker)
                return
            for descriptor in descriptors:
                slot.numbers.received[slot.number] += 1
                connection = socket.socket(fileno=descriptor)
                connection.setblocking(False)
                task = loop.create_task(self._open(connection))
                self._opening.add(task)
                task.add_done_callback(self._opening.discard)

    async def _open(self, connection: socket.socket) -> None:
        slot = self._place.slot
        protocol = partial(
            HandedConnection,
            slot,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        try:
            await asyncio.get_running_loop().connect_accepted_socket(protocol, connection)
        except OSError:  # the client is gone
            connection.close()
            slot.numbers.closed[slot.number] += 1


class HandedConnection(HttpConnection):
    """A connection that a worker received from its parent."""

    def __init__(self, slot: Slot, **options: Any) -> None:
        super().__init__(**options)
        self._slot = slot

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it."""
        self._slot.numbers.closed[self._slot.number] += 1
        super().connection_lost(exc)
