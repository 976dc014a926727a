"""Where stores are, while nobody has them open: opening one makes and migrates it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .engine import DataFolderBusy, engine_of
from .lock import hold


def place_of(url: str) -> str:
    """Which store a URL names, said in one way; no password. Raises SettingInvalid as open_store does."""
    if engine_of(url) == "sqlite":
        return f"sqlite:{_file(url)}"
    from . import postgresql_connections  # here, as its driver may not be installed

    return postgresql_connections.place_of(url)


def schema_at(url: str) -> int:
    """Number of the last migration of the store at a URL; 0 = there is none. Raises StoreUnavailable."""
    if engine_of(url) == "sqlite":
        from . import sqlite_connection

        return sqlite_connection.schema_at(_file(url))
    from . import postgresql_schema

    return postgresql_schema.schema_at(url)


@contextmanager
def without_server(url: str, data_folder: Path | None = None) -> Iterator[None]:
    """Be sure that no server runs on the store at a URL; on this machine none starts until the end.

    `data_folder`: that of its server, where the store is elsewhere. Raises DataFolderBusy.
    """
    with ExitStack() as held:
        folders = {data_folder.resolve()} if data_folder and data_folder.is_dir() else set()
        if engine_of(url) == "sqlite":
            folders.add(_file(url).parent)
        else:
            from . import postgresql_connections

            if others := postgresql_connections.sessions_at(url):
                raise DataFolderBusy(f"{others} connections of Remembrancer are open to {place_of(url)}: stop its servers")
        for folder in sorted(folders):
            held.enter_context(hold(folder))
        yield


def _file(url: str) -> Path:
    return Path(url.partition(":")[2]).resolve()
