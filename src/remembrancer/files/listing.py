"""List the created files of an account and how much of its quota they use."""

from __future__ import annotations

from dataclasses import dataclass

from ..accounts import require_owner
from ..context import Caller, Records
from ..store import Row, Transaction
from .blobs import open_blobs
from .files import SQL, own_file

LISTED = 50  # per page
_AFTER_ALL = (1 << 63) - 1
_PNG_HEAD_BYTES = 24  # signature, length and name of the first chunk, width and height


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """A created file. A value that was not recorded at creation is None."""

    filename: str
    size_bytes: int
    created_ms: int
    made_by: str | None  # `file`: created by request; `program`: output of a program
    key_id: int | None  # 0: created in a signed-in browser or on the machine itself
    key: str | None  # label of that key, or its first characters
    user_id: str | None  # the pin of that key

    @property
    def ext(self) -> str:
        """Return the extension of the file name."""
        return self.filename.rpartition(".")[2].lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePage:
    """A page of files, newest first; pass `next` as `before` to get the following page.

    Bytes are counted as in the quota.
    """

    files: list[FileRow]
    next: str | None
    count: int
    used_bytes: int
    bytes_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaUsage:
    """An account and the part of its quota in use."""

    account: str
    count: int
    used_bytes: int


def list_files(
    records: Records, caller: Caller, before: str | None = None, most: int = LISTED
) -> FilePage:
    """Return a page of the caller's files.

    Raises FileUnknown if `before` is not one of them, StoreUnavailable.
    """

    def read(tx: Transaction) -> tuple[list[Row], Row]:
        at = _AFTER_ALL
        if before is not None:
            at = own_file(tx, caller, before).id
        rows = tx.all(SQL.page_of_files, before=at, most=most + 1, user_id=caller.pinned_user_id)
        return rows, tx.one(SQL.room_of)

    rows, room = records.store.read(read, account_id=caller.account_id)
    files = [_file_row(row) for row in rows[:most]]
    return FilePage(
        files=files,
        next=files[-1].filename if len(rows) > most else None,
        count=room.files,
        used_bytes=room.charged_bytes,
        bytes_max=records.settings.account_bytes_max,
    )


def quota_usage(records: Records, caller: Caller, most: int = LISTED) -> list[QuotaUsage]:
    """Return how much the files of each account use, largest first, and nothing else about them.

    Raises NotOwner, StoreUnavailable.
    """
    require_owner(caller)
    rows = records.store.read(lambda tx: tx.all(SQL.rooms, most=most))
    return [
        QuotaUsage(account=row.account, count=row.files, used_bytes=row.charged_bytes)
        for row in rows
    ]


def picture_size(records: Records, row: Row) -> tuple[int, int] | None:
    """Return width and height of a PNG from its header; None if it is not a PNG.

    Raises BlobsUnavailable.
    """
    if row.size_bytes < _PNG_HEAD_BYTES:
        return None
    head = b"".join(open_blobs(records.settings).read(row.blob, 0, _PNG_HEAD_BYTES))
    if not head.startswith(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"):
        return None
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def _file_row(row: Row) -> FileRow:
    key = None if row.hint is None else row.label or f"sk_{row.hint}…"
    return FileRow(
        filename=row.filename,
        size_bytes=row.size_bytes,
        created_ms=row.created_ms,
        made_by=row.made_by,
        key_id=row.key_id,
        key=key,
        user_id=row.user_id,
    )
