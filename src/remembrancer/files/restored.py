"""Restore a created file from an export: its name, its times and its content."""

from __future__ import annotations

from collections.abc import Iterable

from ..context import Records
from ..store import Transaction
from .blobs import open_blobs
from .files import SQL, FileOwner, charge_file, lock_of


def restore_file(
    records: Records,
    owner: FileOwner,
    *,
    filename: str,
    blob: str,
    size_bytes: int,
    created_ms: int,
    content: Iterable[bytes],
) -> None:
    """Store a file under its old name, durable on return; nothing if the account has it.

    `blob` is the SHA-256 of the content in hex. Must not be called in a transaction. Raises
    AccountFull, StoreUnavailable and everything that `content` raises, and then stores nothing.
    """

    def add(tx: Transaction) -> None:
        if tx.one_or_none(SQL.file_named, filename=filename) is not None:
            return
        charge_file(tx, size_bytes, records.settings.account_bytes_max)
        tx.run(
            SQL.add_file,
            filename=filename,
            blob=name,
            size_bytes=size_bytes,
            now_ms=created_ms,
            user_id=owner.pinned_user_id,
            key_id=owner.key_id,
            made_by=owner.made_by,
        )

    # No other server deletes this content before its row exists.
    with records.store.lock(lock_of(blob)), open_blobs(records.settings).hold(content) as name:
        records.store.write(add, account_id=owner.account_id)
