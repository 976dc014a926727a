"""The import sentence: a room imports only rooms to its left, `client` only `protocol`, nobody `entrypoints`, which alone may import it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from house.tree import PACKAGE, Source

SENTENCE = (
    "protocol < settings < store, search, models < context < accounts < permissions < tools < cubes < memory < agent < status < entrypoints"
)
PLACES = {room.strip(): place for place, rooms in enumerate(SENTENCE.split("<")) for room in rooms.split(",")}
# A room beside the sentence, and what it may import: `testing` is for tests (ours and users'), `__main__` is a door.
BESIDE = {"client": {"protocol"}, "testing": set(PLACES) - {"entrypoints"}, "__main__": {"entrypoints"}}
ROOMS = {*PLACES, *BESIDE}


def imported_modules(source: Source) -> Iterator[tuple[int, str]]:
    """Every import anywhere in the file, also within functions: line and absolute dotted name."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = source.module.split(".") if source.is_package else source.module.split(".")[:-1]
            above = parts[: len(parts) - (node.level - 1)] if node.level else []
            whole = ".".join([*above, *([node.module] if node.module else [])])
            if whole == PACKAGE:  # from .. import status: the names may be rooms
                yield from ((node.lineno, f"{PACKAGE}.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, whole


def imported_rooms(source: Source) -> Iterator[tuple[int, str]]:
    """The rooms a file imports from: line and room."""
    for line, module in imported_modules(source):
        first, _, rest = module.partition(".")
        room = rest.partition(".")[0]
        if first == PACKAGE and room in ROOMS:
            yield line, room


def may_import(room: str, other: str) -> bool:
    """Whether the sentence lets `room` import `other`."""
    if room == other:
        return True
    if room in BESIDE:
        return other in BESIDE[room]
    if other == "client":  # `remembrancer chat` talks to a service as any other agent does
        return room == "entrypoints"
    return other in PLACES and PLACES[other] < PLACES[room]


def violations(package: Iterable[Source]) -> list[str]:
    """What breaks the sentence, one line each; the package's own `__init__` may import nothing."""
    found = []
    for source in package:
        if source.room and source.room not in ROOMS:
            found.append(f"{source.name} is in no room that the sentence names")
            continue
        for line, other in imported_rooms(source):
            if not source.room or not may_import(source.room, other):
                found.append(f"{source.name}:{line} imports {other}")
    return found
