"""The contents of a backed-up store: tables, audit trail and the files that its rows name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..files.files import SQL as FILES
from ..files.files import charge_quota
from ..permissions.audit import ChainLink, verify_in
from ..store import Transaction
from ..store.transfer.catalog import SQL, tables
from ..store.transfer.digest import TableDigest, table_digest

_PAGE = 1_000
_BLOBS = """
select blob, max(size_bytes) as size_bytes from files where blob > :after
group by blob order by blob limit :most
"""

_FILES = "select id, account_id, size_bytes from files where blob = :blob"


def digests(tx: Transaction) -> list[TableDigest]:
    """Return the digest of each table."""
    return sorted((table_digest(tx, table) for table in tables(tx)), key=lambda one: one.table)


def audit_head(tx: Transaction) -> ChainLink:
    """Verify the audit trail and return its head. Raises AuditBroken."""
    return verify_in(tx) if _has(tx, "audit") else ChainLink()


def blobs_of(tx: Transaction) -> Iterator[tuple[str, int]]:
    """Yield name and size of the content of each created file, by name."""
    after = ""
    while rows := tx.all(_BLOBS, after=after, most=_PAGE) if _has(tx, "files") else []:
        yield from ((str(row.blob), int(row.size_bytes)) for row in rows)
        after = str(rows[-1].blob)


def erase_files(tx: Transaction, blobs: Iterable[str]) -> None:
    """Erase the files with these contents, as their owners did."""
    for blob in blobs:
        for row in tx.all(_FILES, blob=blob):
            account = {"account_id": row.account_id}
            tx.run(FILES.erase_file, id=row.id, **account)
            tx.run(FILES.uncharge, charged_bytes=charge_quota(row.size_bytes), **account)


def _has(tx: Transaction, table: str) -> bool:
    """Return True if the schema of the store has the table."""
    return tx.one_or_none(SQL.has_table, table=table) is not None
