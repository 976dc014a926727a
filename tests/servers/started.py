"""Servers for tests, and many clients that call them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.settings import Settings
from remembrancer.store import Pool, open_store
from remembrancer.testing.servers import Answer, Server

CLIENTS = 50
SETTINGS = {
    "REMEMBRANCER_EMBEDDER": "none",
    # which is not there: no program is run here, and none is tried
    "REMEMBRANCER_SANDBOX_MIN_LEVEL": "gvisor",
    "REMEMBRANCER_STORE_CONNECTIONS": "8",
}


def start(url: str, folder: Path, files: Path, **settings: str) -> Server:
    """A server on this store with a data folder of its own; contents of files are in a folder that
    others have too.
    """
    for place in (folder, files):
        place.mkdir(parents=True, exist_ok=True)
    (folder / "blobs").symlink_to(files)
    return Server(folder, REMEMBRANCER_STORE=url, **{**SETTINGS, **settings})


def within(url: str, folder: Path) -> Context:
    """The same store without a server, to make accounts and keys in it."""
    settings = Settings(data=folder, store=url, embedder="none", durability="normal")
    return testing.context(
        folder, settings=settings, store=open_store(url, pool=Pool(connections=4))
    )


def hammer(calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
    """Make these calls, as many at a time as there are clients; the answers in the order of the
    calls.
    """
    with ThreadPoolExecutor(CLIENTS) as clients:
        return list(clients.map(lambda call: call(), calls))
