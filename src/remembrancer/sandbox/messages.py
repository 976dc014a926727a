"""What server and worker say to each other: one job, one outcome, each behind its length."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Sequence
from typing import Any

_JOB = struct.Struct("<dI")  # seconds, bytes of the code
_HEAD = struct.Struct("<I")
_HEAD_BYTES_MAX = 64 << 20  # two outputs of 4 MiB, each byte of which JSON may spell with six
_PIECE = 1 << 20

Read = Callable[[int], bytes]  # up to so many bytes; none at the end


class TruncatedMessage(EOFError):
    """The other side went away in the middle."""


def job(code: str, seconds: float) -> bytes:
    """A job for the wire. `code` is text without lone surrogates."""
    raw = code.encode()
    return _JOB.pack(seconds, len(raw)) + raw


def read_job(read: Read) -> tuple[float, bytes]:
    """Seconds and code of the job that arrives. Raises Cut."""
    seconds, size = _JOB.unpack(exactly(read, _JOB.size))
    return seconds, exactly(read, size)


def send_outcome(descriptor: int, head: dict[str, Any], contents: Sequence[bytes]) -> None:
    """Send an outcome:

    its head, whose `files` are [name, size], then the contents one after another.
    """
    told = json.dumps(head).encode()
    for part in (_HEAD.pack(len(told)), told, *contents):
        view = memoryview(part)
        while view:
            view = view[os.write(descriptor, view) :]


def read_outcome(
    read: Read, content_bytes_max: int
) -> tuple[dict[str, Any], list[tuple[str, bytes]]]:
    """Head and files of the outcome that arrives.

    Raises Cut, also when it is larger than a worker may send.
    """
    (size,) = _HEAD.unpack(exactly(read, _HEAD.size))
    if size > _HEAD_BYTES_MAX:
        raise TruncatedMessage("an outcome is too large")
    head = json.loads(exactly(read, size))
    sizes = [(str(name), int(length)) for name, length in head.pop("files")]
    if sum(length for _, length in sizes) > content_bytes_max:
        raise TruncatedMessage("an outcome's files are too large")
    return head, [(name, exactly(read, length)) for name, length in sizes]


def exactly(read: Read, size: int) -> bytes:
    """Exactly so many bytes. Raises Cut."""
    held = bytearray()
    while len(held) < size:
        piece = read(min(_PIECE, size - len(held)))
        if not piece:
            raise TruncatedMessage("the other side went away")
        held += piece
    return bytes(held)
