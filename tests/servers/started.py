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
    # gVisor is not installed, so the sandbox neither runs nor tests programs
    "REMEMBRANCER_SANDBOX_MIN_LEVEL": "gvisor",
    "REMEMBRANCER_STORE_CONNECTIONS": "8",
    "REMEMBRANCER_WORKERS": "1",  # one process each, unless a test is about worker processes
}


def start(url: str, folder: Path, files: Path, **settings: str) -> Server:
    """Start a server on this store with its own data folder and a shared folder of file contents."""
    for place in (folder, files):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "blobs").symlink_to(files)
    return Server(folder, REMEMBRANCER_STORE=url, **{**SETTINGS, **settings})


def within(url: str, folder: Path) -> Context:
    """Return a context on the store without a server, to create accounts and keys."""
    settings = Settings(data=folder, store=url, embedder="none", durability="normal")
    return testing.context(
        folder, settings=settings, store=open_store(url, pool=Pool(connections=4))
    )


def hammer(calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
    """Run the calls with `CLIENTS` at a time; return the responses in the order of the calls."""
    with ThreadPoolExecutor(CLIENTS) as clients:
        return list(clients.map(lambda call: call(), calls))
