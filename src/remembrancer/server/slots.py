"""The channel and the numbers that the server's parent and a worker process share."""

from __future__ import annotations

import mmap
import socket
from dataclasses import dataclass, field


class SharedNumbers:
    """Numbers of each worker that all processes see. Make them before forking."""

    def __init__(self, workers: int) -> None:
        # the last one is the parent's: how often it was told to read the settings again
        cells = memoryview(mmap.mmap(-1, 8 * (4 * workers + 1))).cast("q")
        self.received, self.closed, self.ready, self.reloaded = self._kinds = [
            cells[kind * workers : (kind + 1) * workers] for kind in range(4)
        ]  # connections received and closed; 1 once it serves; the reload whose settings it has
        self._last = cells[-1:]

    def reset(self, worker: int) -> None:
        """Forget what a worker wrote: another process takes its place."""
        for numbers in self._kinds:
            numbers[worker] = 0

    @property
    def reloads(self) -> int:
        """The number of times that the server was told to read its settings again."""
        return self._last[0]

    def count_reload(self) -> None:
        """Ask the workers to read the settings again."""
        self._last[0] += 1

    def is_reloading(self) -> bool:
        """Return True while a worker uses settings that were to be read again."""
        return any(reload != self.reloads for reload in self.reloaded)


@dataclass(slots=True)
class Slot:
    """The place of one worker. A process that replaces it takes over the channel, and with it the
    connections that the first one had not received yet.
    """

    number: int
    numbers: SharedNumbers
    pid: int = 0  # 0: no process now
    deliveries: int = 0  # connections that this process received or will receive
    failures: int = 0  # processes in a row that ended before they were ready
    start_at_s: float = 0.0  # monotonic, of the next process
    parent: socket.socket = field(init=False)
    worker: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        """Create the channel."""
        self.parent, self.worker = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.parent.setblocking(False)
        self.worker.setblocking(False)

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return self.deliveries - self.numbers.closed[self.number]

    @property
    def is_ready(self) -> bool:
        """True if its process serves connections."""
        return self.pid != 0 and self.numbers.ready[self.number] == 1

    def prepare(self) -> None:
        """Make the place ready for a new process."""
        self.deliveries -= self.numbers.received[self.number]  # the rest is still in the channel
        self.numbers.reset(self.number)

    def send(self, connection: socket.socket) -> bool:
        """Pass a connection to the process; return False if it cannot take one now."""
        try:
            socket.send_fds(self.parent, [b"C"], [connection.fileno()])
        except OSError:  # its channel is full, or too many descriptors are on their way
            return False
        self.deliveries += 1
        return True

    def close(self) -> None:
        """Close the channel in this process. Idempotent."""
        self.parent.close()
        self.worker.close()
