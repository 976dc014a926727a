"""The wire format between server and worker: one job and one outcome, each with its length."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Sequence
from typing import Any

_JOB = struct.Struct("<dI")  # seconds, bytes of the code
_HEAD = struct.Struct("<I")
# Two outputs of 4 MiB, of which JSON may escape each byte with six.
_HEAD_BYTES_MAX = 64 << 20
_CHUNK_BYTES = 1 << 20

Read = Callable[[int], bytes]  # reads at most this many bytes; empty at the end


class TruncatedMessage(EOFError):
    """The connection closed in the middle of a message, or the message was too large."""


def encode_job(code: str, seconds: float) -> bytes:
    """Return a job in wire format. `code` must not contain lone surrogates."""
    raw = code.encode()
    return _JOB.pack(seconds, len(raw)) + raw


def read_job(read: Read) -> tuple[float, bytes]:
    """Read a job: its time limit in seconds and its code. Raises TruncatedMessage."""
    seconds, size = _JOB.unpack(read_exactly(read, _JOB.size))
    return seconds, read_exactly(read, size)


def send_outcome(
    descriptor: int, head: dict[str, Any], files: Sequence[tuple[str, bytes]] = ()
) -> None:
    """Send an outcome: its head with the names and sizes of the files, then their contents."""
    sizes = [(name, len(content)) for name, content in files]
    raw_head = json.dumps({**head, "files": sizes}).encode()
    for part in (_HEAD.pack(len(raw_head)), raw_head, *(content for _, content in files)):
        view = memoryview(part)
        while view:
            view = view[os.write(descriptor, view) :]


def read_outcome(
    read: Read, content_bytes_max: int
) -> tuple[dict[str, Any], list[tuple[str, bytes]]]:
    """Read an outcome: its head and its files as pairs of name and content.

    Raises TruncatedMessage, also when the outcome is larger than a worker may send.
    """
    (size,) = _HEAD.unpack(read_exactly(read, _HEAD.size))
    if size > _HEAD_BYTES_MAX:
        raise TruncatedMessage("the outcome is too large")
    head = json.loads(read_exactly(read, size))
    sizes = [(str(name), int(length)) for name, length in head.pop("files")]
    if sum(length for _, length in sizes) > content_bytes_max:
        raise TruncatedMessage("the outcome's files are too large")
    return head, [(name, read_exactly(read, length)) for name, length in sizes]


def read_exactly(read: Read, size: int) -> bytes:
    """Read exactly `size` bytes. Raises TruncatedMessage."""
    buffer = bytearray()
    while len(buffer) < size:
        chunk = read(min(_CHUNK_BYTES, size - len(buffer)))
        if not chunk:
            raise TruncatedMessage("the connection closed")
        buffer += chunk
    return bytes(buffer)
