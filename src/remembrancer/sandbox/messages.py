"""The wire format between server and worker: one job and one outcome, each with its length."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Sequence
from typing import Any

_SECONDS = struct.Struct("<d")
_SIZE = struct.Struct("<I")
# Two outputs of 4 MiB, of which JSON may escape each byte with six.
_BLOCK_BYTES_MAX = 64 << 20
_CHUNK_BYTES = 1 << 20

Read = Callable[[int], bytes]  # reads at most this many bytes; empty at the end


class TruncatedMessage(EOFError):
    """The connection closed in the middle of a message, or the message was too large."""


def encode_job(code: str, seconds: float) -> bytes:
    """Return a job in wire format. `code` must not contain lone surrogates."""
    return _SECONDS.pack(seconds) + encode_block(code.encode())


def read_job(read: Read) -> tuple[float, bytes]:
    """Read a job: its time limit in seconds and its code. Raises TruncatedMessage."""
    (seconds,) = _SECONDS.unpack(read_exactly(read, _SECONDS.size))
    return seconds, read_block(read)


def send_outcome(
    descriptor: int, head: dict[str, Any], files: Sequence[tuple[str, bytes]] = ()
) -> None:
    """Send an outcome: its head with the names and sizes of the files, then their contents."""
    sizes = [(name, len(content)) for name, content in files]
    raw_head = encode_block(json.dumps({**head, "files": sizes}).encode())
    for part in (raw_head, *(content for _, content in files)):
        view = memoryview(part)
        while view:
            view = view[os.write(descriptor, view) :]


def read_outcome(
    read: Read, content_bytes_max: int
) -> tuple[dict[str, Any], list[tuple[str, bytes]]]:
    """Read an outcome: its head and its files as pairs of name and content.

    Raises TruncatedMessage, also when the outcome is larger than a worker may send.
    """
    head = json.loads(read_block(read))
    sizes = [(str(name), int(length)) for name, length in head.pop("files")]
    if sum(length for _, length in sizes) > content_bytes_max:
        raise TruncatedMessage("the outcome's files are too large")
    return head, [(name, read_exactly(read, length)) for name, length in sizes]


def encode_block(content: bytes) -> bytes:
    """Return a content with its length before it."""
    return _SIZE.pack(len(content)) + content


def read_block(read: Read) -> bytes:
    """Read a content with its length before it. Raises TruncatedMessage."""
    (size,) = _SIZE.unpack(read_exactly(read, _SIZE.size))
    if size > _BLOCK_BYTES_MAX:
        raise TruncatedMessage("the message is too large")
    return read_exactly(read, size)


def read_exactly(read: Read, size: int) -> bytes:
    """Read exactly `size` bytes. Raises TruncatedMessage."""
    buffer = bytearray()
    while len(buffer) < size:
        chunk = read(min(_CHUNK_BYTES, size - len(buffer)))
        if not chunk:
            raise TruncatedMessage("the connection closed")
        buffer += chunk
    return bytes(buffer)
