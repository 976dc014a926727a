"""Created files: kept for an account, downloaded by its keys or by a signed link.

The content is durable first, then the row: a crash in between leaves a blob that nothing refers to, and `sweep` removes it.
"""

from __future__ import annotations

import secrets
from functools import partial
from urllib.parse import quote

from ..accounts import may_write
from ..accounts.once import Once, once
from ..context import Caller, Records
from ..protocol import limits
from ..protocol.errors import InvalidRequest, NotFound, Problem, TooLarge
from ..protocol.files import CreatedFile, FileCreate
from ..protocol.text import rfc3339
from ..store import Row, Transaction, named
from . import links
from .blobs import open_blobs
from .file_names import safe_extension, safe_name
from .file_types import content_of

SQL = named("remembrancer.tools", "files.sql")
ORPHAN_HOURS = 1  # what was put so long ago and has no row will get none
NAMELESS = "file"  # what a program's file is called when nothing of its name can be kept


class FileUnknown(NotFound):
    """There is no such file in your account, or the link to it has ended."""


class NameInvalid(InvalidRequest):
    """Nothing of the name can be kept."""

    def __init__(self) -> None:
        detail = "nothing of this can be a name: it needs a letter or a digit that can be seen"
        super().__init__(f"filename: {detail}.", errors=[{"pointer": "/filename", "detail": detail}])


class AccountFull(TooLarge):
    """The files of the account take all the room it has."""


def create_file(records: Records, caller: Caller, asked: FileCreate, given: Once | None = None) -> CreatedFile:
    """Keep a file for the caller's account. Raises NameInvalid, ContentInvalid, ReadOnly and what `keep_file` raises."""
    if not safe_name(asked.filename, asked.type):
        raise NameInvalid
    content = content_of(asked.content, asked.type)
    may_write(caller)
    return keep_file(
        records,
        account_id=caller.account_id,
        pinned_user_id=caller.pinned_user_id,
        filename=asked.filename,
        ext=asked.type,
        content=content,
        given=given,
    )


def keep_file(
    records: Records,
    *,
    account_id: int,
    pinned_user_id: str | None,
    filename: str,
    ext: str,
    content: bytes,
    given: Once | None = None,
) -> CreatedFile:
    """Keep any content as a file of the account, durable at the return. Not to be called within a transaction.

    Whatever the name and the extension hold, the stored ones are safe. Raises TooLarge (beyond `file_bytes_max`), AccountFull,
    Conflict as `once`, StoreUnavailable. Nothing is kept then.
    """
    settings = records.settings
    if len(content) > settings.file_bytes_max:
        raise TooLarge(f"The file has {len(content):,} bytes; a file has {settings.file_bytes_max:,} at most.")
    extension = safe_extension(ext)
    name = f"{safe_name(filename, extension) or NAMELESS}-{secrets.token_hex(6)}.{extension}"
    now_ms, secret = records.clock(), links.secret_in(settings.data_folder)
    blobs = open_blobs(settings)

    def keep(tx: Transaction, blob: str) -> str:
        _charge(tx, account_id, len(content), settings.account_bytes_max)
        row = {"account_id": account_id, "user_id": pinned_user_id, "size_bytes": len(content), "now_ms": now_ms}
        tx.run(SQL.add_file, filename=name, blob=blob, **row)
        return _created(name, len(content), secret, now_ms).model_dump_json()

    blob = None
    try:
        with blobs.hold(content) as blob:
            answer = records.store.write(lambda tx: once(tx, given, now_ms, lambda: keep(tx, blob)))
    except Problem:
        if blob is not None:  # at once, not at the next start: who is refused again and again must not fill the disk
            blobs.delete(blob, unless=partial(_is_used, records, blob))
        raise
    return CreatedFile.model_validate_json(answer)


def find_file(records: Records, filename: str, caller: Caller) -> Row:
    """A file that the caller may read: filename, blob, size_bytes. Raises FileUnknown, StoreUnavailable."""
    row = _row(records, filename)
    if row is None or row.account_id != caller.account_id or caller.pinned_user_id not in (None, row.user_id):
        raise FileUnknown
    return row


def linked_file(records: Records, filename: str, *, exp: int, sig: str) -> Row:
    """A file by the signature of its link. Raises FileUnknown where it is not ours or has ended, and StoreUnavailable."""
    secret = links.secret_in(records.settings.data_folder)
    row = _row(records, filename) if links.is_good(secret, filename, exp, sig, records.clock()) else None
    if row is None:
        raise FileUnknown
    return row


def sweep(records: Records) -> int:
    """Remove the contents that no file has, left by crashes; how many there were. Raises StoreUnavailable."""
    blobs = open_blobs(records.settings)
    before_ms = records.clock() - ORPHAN_HOURS * 3_600_000
    return sum(blobs.delete(name, unless=partial(_is_used, records, name)) for name in blobs.names(before_ms=before_ms))


def _charge(tx: Transaction, account_id: int, size_bytes: int, bytes_max: int) -> None:
    charged_bytes = max(size_bytes, limits.FILE_CHARGED_BYTES_MIN)
    if not tx.run(SQL.charge, account_id=account_id, charged_bytes=charged_bytes, bytes_max=bytes_max):
        used = tx.the(SQL.usage_of, account_id=account_id).charged_bytes
        raise AccountFull(
            f"The files of this account take {used:,} of {bytes_max:,} bytes; this one would take {charged_bytes:,} more.",
            used_bytes=used,
            bytes_max=bytes_max,
        )


def _created(filename: str, size_bytes: int, secret: bytes, now_ms: int) -> CreatedFile:
    exp = links.expiry(now_ms)
    url = f"/download/{quote(filename)}"
    return CreatedFile(
        filename=filename,
        url=url,
        size_bytes=size_bytes,
        download_url=f"{url}?exp={exp}&sig={links.sign(secret, filename, exp)}",
        expires_at=rfc3339(exp * 1000),
    )


def _row(records: Records, filename: str) -> Row | None:
    return records.store.read(lambda tx: tx.one(SQL.file_named, filename=filename))


def _is_used(records: Records, blob: str) -> bool:
    return bool(records.store.read(lambda tx: tx.the(SQL.any_file_of_blob, blob=blob)).found)
