"""A TCP proxy on loopback that hangs, breaks or refuses connections while a test wants it to."""

from __future__ import annotations

import selectors
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self

CHUNK_BYTES = 1 << 16
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER of zero seconds


class Proxy:
    """Forwards connections to `target`: a port of 127.0.0.1, or the path of a Unix socket."""

    def __init__(self, target: int | str) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._lock = threading.Lock()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._flows = threading.Event()
        self._flows.set()
        self._refuses = self._ends = False
        self._texts: list[bytes] = []
        self._sender: object = None  # of the first of them
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Accept connections and bytes, but forward none, within the block."""
        self._flows.clear()
        try:
            yield
        finally:
            self._flows.set()

    @contextmanager
    def hanging_after(self, *texts: bytes) -> Iterator[None]:
        """Hang once these have passed on one connection, in this order.

        The last is forwarded first if the client sent it, and held back if the server did.
        """
        self._texts, self._sender = list(texts), None
        try:
            yield
        finally:
            self._texts = []
            self._flows.set()

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Reset all connections, and new ones at once, within the block."""
        self._refuses = True
        self.reset()
        try:
            yield
        finally:
            self._refuses = False

    def reset(self) -> None:
        """Reset the connections of this moment."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for one in pair:
                with suppress(OSError):
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
                    one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refuses:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
                client.close()
                continue
            thread = threading.Thread(target=self._forward, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _forward(self, client: socket.socket) -> None:
        kind = socket.AF_UNIX if isinstance(self._target, str) else socket.AF_INET
        address = self._target if isinstance(self._target, str) else ("127.0.0.1", self._target)
        with client, socket.socket(kind) as server, suppress(OSError):
            server.connect(address)
            with self._lock:
                self._pairs.append((client, server))
            with selectors.DefaultSelector() as ready:
                ready.register(client, selectors.EVENT_READ, server)
                ready.register(server, selectors.EVENT_READ, client)
                while True:
                    for key, _ in ready.select():
                        assert isinstance(key.fileobj, socket.socket)
                        content = key.fileobj.recv(CHUNK_BYTES)
                        self._flows.wait()
                        if not content or self._ends:
                            return
                        if self._is_last_text(client, content):
                            self._flows.clear()
                            if key.fileobj is server:
                                self._flows.wait()
                        key.data.sendall(content)

    def _is_last_text(self, client: object, content: bytes) -> bool:
        if self._sender not in (None, client) or not self._texts or self._texts[0] not in content:
            return False
        self._sender = client
        del self._texts[0]
        return not self._texts

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ends = True
        self._flows.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.reset()
        for thread in self._threads:
            thread.join(20)
