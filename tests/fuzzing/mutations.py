"""Mutations of cases by their structure: lines, words of a grammar, and values of JSON.

Mutations of bytes alone rarely leave JSON that parses or a service line that acts.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

TOKENS = (
    "L1: ", "L2: ", "CRITICAL: ", "CUBE: fact | t | e | r", "CUBE_NOTHING: ", "RATE: c1 -1 x",
    "TASK_DONE", "PUBLISH", "memory: not used", "REM | #7 | READ | VERIFY | CORRECT | OUTPUT",
    "DRAFT", "SECOND LOOK", "FINAL", "```", "~~~", "**", "    ", "> ", "(ref: evt_1)", "|", "\\",
    "<<memory-data 0123456789abcdef>>", "<<end memory-data 0123456789abcdef>>", "\u2028", "\r",
    "\u200b", "\uff1a", "\uff5c", "\x1c", "<task-notification>", "[event e] ", "sk_0123456789abcdef",
    "AKIAABCDEFGHIJKLMNOP", "2026-05-09", "5 km", "https://example.org/a?b=c", "none",
    "/etc/aa", "> /etc/aa", "$(", ")", "${x:-", "}", '"', "'", "$'", "<<EOF\n", "EOF\n", "; ", "&& ",
    "| ", "if true; then ", "fi", "for x in a b; do ", "done", "case x in a) ", ";; esac", "function f { ",
    "eval ", "sudo ", "bash -c ", "xargs ", "cd /etc", "~root", "../../..", "tee ", "sed -i ", "python3 -c ",
    "*** Update File: /etc/aa", "+++ /etc/aa\t", "dd of=", "find / -exec ", "[[ ", " ]]", "((", "))", "`",
    "%PDF-1.7", "/Kids", "obj", "endobj", "stream", "xref", "startxref", "%%EOF", "PK\x03\x04", "IHDR", "IDAT",
    "<!DOCTYPE x [", "<!ENTITY a 'b'>", "&a;", "<?xml version='1.0' encoding='utf-16'?>", "<![CDATA[",
    "ß", "İ", "ﬁ", "ǆ", "\u0301", "한", "的", "タ", "ไ", "\U0001f600", "\u0345", "ΐ", "ŉ", "-", "_", "'s",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**30, 0.5, 1e308, -0.0, "", " ", "\0",
    "a", "\ud800", "x" * 300, "2026-05-09T10:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59Z",
    "user", "assistant", "tool", "none", "evt_1", "ada", [], {}, [[]], [None], {"a": {}}, "\u202e", "1e5",
    "NaN", 253402300800, 1e18, -62135596801, "../../x", [{}], "[fact] x", 4611686018427387904,
)  # fmt: skip


class Mutator:
    """Mutates cases, by their bytes with `mutate_bytes` or by their structure."""

    def __init__(
        self, mutate_bytes: Callable[[bytes, int], bytes], *, keeps_first_line: bool
    ) -> None:
        self._mutate_bytes, self._keeps_first_line = mutate_bytes, keeps_first_line

    def mutated(self, data: bytes, size_max: int, seed: int) -> bytes:
        """Return another case of at most `size_max` bytes."""
        rng = random.Random(seed)
        head = b""
        if self._keeps_first_line and rng.random() < 0.97:
            first, separator, data = data.partition(b"\n")
            head = first + separator
        room = max(size_max - len(head), 1)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            data = self._once(data, room, rng)
        return (head + data)[:size_max]

    def _once(self, data: bytes, room: int, rng: random.Random) -> bytes:
        choice = rng.random()
        if choice < 0.4:
            return self._mutate_bytes(data, room)
        if choice < 0.6 and (changed := with_changed_json(data, rng)) is not None:
            return changed
        if choice < 0.8:
            return _with_token(data, rng)
        return _with_moved_lines(data, rng)


def _with_token(data: bytes, rng: random.Random) -> bytes:
    token = rng.choice(TOKENS).encode()
    at = rng.randrange(len(data) + 1)
    if rng.random() < 0.4:  # at the start of a line
        at = data.rfind(b"\n", 0, at) + 1
    replaced = rng.choice((0, 0, 1, len(token), 12))
    return data[:at] + token + data[at + replaced :]


def _with_moved_lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    source, target = rng.randrange(len(lines)), rng.randrange(len(lines) + 1)
    match rng.randrange(3):
        case 0:
            lines.insert(target, lines[source])
        case 1:
            lines.insert(target, lines.pop(source))
        case _:
            del lines[source : source + rng.randrange(1, 4)]
    return b"\n".join(lines)


def with_changed_json(data: bytes, rng: random.Random) -> bytes | None:
    """Return the data with a value of one of its JSON texts changed; None if it has none."""
    try:
        return _changed(data, rng)
    except (ValueError, RecursionError):
        pass
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    try:
        lines[at] = _changed(lines[at], rng)
    except (ValueError, RecursionError):
        return None
    return b"\n".join(lines)


def _changed(text: bytes, rng: random.Random) -> bytes:
    value = json.loads(text)
    places: list[tuple[Any, Any]] = []
    _collect(value, places)
    if not places:
        return json.dumps(rng.choice(VALUES)).encode()
    holder, key = rng.choice(places)
    other_holder, other_key = rng.choice(places)
    match rng.randrange(6):
        case 0:
            del holder[key]
        case 1:
            holder[key] = [holder[key]]
        case 2:
            holder[key] = json.loads(json.dumps(other_holder[other_key]))
        case 3 if isinstance(holder, list):
            holder.insert(key, holder[key])
        case 4 if isinstance(holder, dict) and isinstance(other_key, str):
            holder[other_key] = holder.pop(key)
        case _:
            holder[key] = rng.choice(VALUES)
    return json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")


def _collect(value: Any, places: list[tuple[Any, Any]]) -> None:
    keys: Sequence[Any] = ()
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = range(min(len(value), 50))
    for key in keys:
        places.append((value, key))
        _collect(value[key], places)
