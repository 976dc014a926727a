"""Versions of the memory files: their history, and erasing them."""

from __future__ import annotations

from ...accounts import space_user_id
from ...context import Caller, Context
from ...protocol import limits
from ...protocol.files import (
    ROOT,
    FileHistory,
    FileQuery,
    FileVersion,
    InvalidMemoryPath,
    memory_path,
)
from ...protocol.text import rfc3339
from ...store import Row, Transaction
from ..spaces import SQL as SPACES
from ..spaces import flag_names
from .commands import SQL, MemoryFileUnknown

_NO_END = 1 << 62


def file_history(context: Context, caller: Caller, request: FileQuery) -> FileHistory:
    """Return a page of the changes at and below a path, and the text of one version.

    The text is None for a folder. Raises MemoryFileUnknown, PinnedToOtherUser, StoreUnavailable.
    """
    user_id = space_user_id(caller, request.user_id)
    try:
        path = memory_path(request.path)
    except InvalidMemoryPath as error:
        raise MemoryFileUnknown from error
    page_size = limits.MEMORY_VERSIONS_LISTED_MAX

    def read(tx: Transaction) -> tuple[list[Row], Row | None]:
        space = tx.one_or_none(SPACES.space_of, user_id=user_id)
        if space is None:
            return [], None
        location = {"space_id": space.id, "path": path}
        latest = int(tx.one(SQL.latest_version, **location).version)
        selected = tx.one_or_none(SQL.version_of, **location, version=request.version or latest)
        return tx.all(
            SQL.versions_below, **location, below=request.below or _NO_END, most=page_size + 1
        ), selected

    rows, selected = context.store.read(read, account_id=caller.account_id)
    if (not rows and request.below is None and path != ROOT) or (
        request.version is not None and selected is None
    ):
        raise MemoryFileUnknown
    return FileHistory(
        user_id=user_id,
        path=path,
        version=selected and selected.version,
        text=selected and selected.text,
        versions=[_file_version(row) for row in rows[:page_size]],
        next=rows[page_size - 1].id if len(rows) > page_size else None,
    )


def _file_version(row: Row) -> FileVersion:
    fields = {
        "path": row.path,
        "version": row.version,
        "change": row.change,
        "other_path": row.other_path,
        "bytes": row.bytes,
    }
    return FileVersion(
        **fields,
        is_gone=bool(row.is_gone),
        flags=flag_names(row.flags),
        created_at=rfc3339(row.created_ms),
    )


def erase_files(tx: Transaction, space_id: int, path: str = ROOT) -> int:
    """Erase every version at or below a path and return how many there were.

    Returns 0 for an invalid path.
    """
    try:
        location = {"space_id": space_id, "path": memory_path(path)}
    except InvalidMemoryPath:
        return 0
    paths = tx.all(SQL.paths_below, **location, least=limits.MEMORY_VERSION_BYTES_MIN)
    tx.run(SQL.charge_files, space_id=space_id, bytes=-sum(row.bytes for row in paths))
    return tx.run(SQL.erase_files_below, **location)
