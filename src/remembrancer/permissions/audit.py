"""The audit trail: a hash chain of entries, and the search in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from ..context import Caller, Records
from ..protocol import limits
from ..protocol.message import Message
from ..protocol.permissions import AuditEntry, AuditHead, AuditPage, AuditQuery
from ..protocol.text import rfc3339
from ..store import Row, Transaction, load_queries
from .owner import require_unpinned_owner

# --- The audit trail: a hash chain of entries, which reveals changed and missing ones --------

SQL = load_queries("remembrancer.permissions", "permissions.sql")
FIRST_PREVIOUS_HASH = "0" * 64  # `prev` of the first entry
_BATCH = 1_000  # entries read at a time
_Read = Callable[[Callable[[Transaction], Any]], Any]  # runs an action in a transaction


class AuditBroken(Exception):
    """The audit trail was changed; the message says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainLink:
    """The number and hash of an entry, to which the next one is chained."""

    seq: int = 0
    hash: str = FIRST_PREVIOUS_HASH


def canonical(entry: dict[str, Any]) -> str:
    """Return the canonical text of an entry: JSON with sorted keys, no spaces, no ASCII escapes."""
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(entry: bytes) -> str:
    """Return the SHA-256 in hex."""
    return hashlib.sha256(entry).hexdigest()


def add_entry(tx: Transaction, caller: Caller, now_ms: int, *, kind: str, **fields: Any) -> int:
    """Append an entry in the transaction of the action it records; return its number.

    Fields that are None are omitted.
    """
    head = tx.one(SQL.head)
    fields = {"account": caller.account_name, "key_id": caller.key_id, **fields, "kind": kind}
    fields |= {"seq": head.seq + 1, "at": rfc3339(now_ms), "prev": head.hash}
    entry = canonical({name: value for name, value in fields.items() if value is not None})
    tx.run(SQL.add_entry, seq=head.seq + 1, entry=entry, hash=digest(entry.encode("utf-8")))
    return int(head.seq) + 1


def break_in(rows: Iterable[Row], before: ChainLink) -> str | ChainLink:
    """Check a sequence of entries that follows `before`.

    `rows` have seq, entry and hash, the latter two as bytes. Returns what is wrong and where, or
    the last link if everything is right.
    """
    for row in rows:
        expected = before.seq + 1
        if row.seq != expected:
            return f"entry {expected} is missing"
        if digest(row.entry) != _ascii(row.hash):
            return f"entry {expected} was changed: its text does not have its hash"
        entry = _parse(row.entry)
        if entry is None or entry.get("seq") != expected:
            return f"entry {expected} was replaced: its text is not of an entry of this number"
        if entry.get("prev") != before.hash:
            return (
                f"entry {expected} does not go on from the entry before: one of them was replaced"
            )
        before = ChainLink(seq=expected, hash=_ascii(row.hash))
    return before


def page(records: Records, caller: Caller, request: AuditQuery) -> AuditPage:
    """Return a page of the trail, oldest first.

    Raises NotOwner, KeyIsReadOnly, OwnerKeyPinned, StoreUnavailable.
    """
    require_unpinned_owner(caller)

    def read(tx: Transaction) -> tuple[Row, list[Row]]:
        # The entries before and after the page prove that both of its ends are chained.
        return tx.one(SQL.head), tx.all(SQL.entries_from, seq=request.after, most=request.limit + 2)

    head, neighbourhood = records.store.read(read)
    rows = [row for row in neighbourhood if row.seq > request.after][: request.limit + 1]
    page_rows, is_last = rows[: request.limit], len(rows) <= request.limit
    return AuditPage(
        entries=[entry_of(row) for row in page_rows],
        next=None if is_last else page_rows[-1].seq,
        chain_valid=_is_valid(
            rows,
            _link_before(request.after, neighbourhood, head.seq),
            ChainLink(seq=head.seq, hash=head.hash) if is_last else None,
        ),
        head=AuditHead(seq=head.seq, hash=head.hash),
    )


def _link_before(after: int, rows: list[Row], newest: int) -> ChainLink | None:
    """Return the link to which the entries after a number are chained; None if it is missing."""
    if after == 0:
        return ChainLink()
    if rows and rows[0].seq == after:
        return ChainLink(seq=after, hash=_ascii(rows[0].hash))
    return ChainLink(seq=newest, hash="") if after > newest and not rows else None


def _is_valid(rows: list[Row], before: ChainLink | None, end: ChainLink | None) -> bool:
    if before is None:
        return False
    last = break_in(rows, before)
    return isinstance(last, ChainLink) and (end is None or last == end or not before.hash)


def verify(records: Records, expected: ChainLink | None = None) -> ChainLink:
    """Check the whole trail and return its head.

    `expected` is an entry noted earlier, which must still be in the trail. Raises AuditBroken,
    StoreUnavailable.
    """
    return _verify(records.store.read, expected)


def verify_in(tx: Transaction) -> ChainLink:
    """Check the trail that a transaction reads and return its head.

    Raises AuditBroken, StoreUnavailable.
    """
    return _verify(lambda action: action(tx), None)


def _verify(read: _Read, expected: ChainLink | None) -> ChainLink:
    head = read(lambda tx: tx.one(SQL.head))
    at = ChainLink()
    is_found = expected in (None, at)
    for rows in _batches(read, head.seq):
        result = break_in(rows, at)
        if isinstance(result, str):
            raise AuditBroken(f"The audit trail is broken: {result}.")
        at = result
        is_found = is_found or any(
            expected == ChainLink(seq=row.seq, hash=_ascii(row.hash)) for row in rows
        )
    if at != ChainLink(seq=head.seq, hash=head.hash):
        raise AuditBroken(
            f"The audit trail is broken: it ends with entry {at.seq}, but its head is entry "
            f"{head.seq} with another hash."
        )
    if expected is not None and not is_found:
        raise AuditBroken(
            f"The audit trail is another one: it has no entry {expected.seq} "
            "with the expected hash."
        )
    return at


def export_entries(records: Records) -> Iterator[str]:
    """Yield every entry as a line of canonical JSON that includes its `hash`.

    An entry that is not JSON has the kind `unreadable`.
    """
    head = records.store.read(lambda tx: tx.one(SQL.head))
    for rows in _batches(records.store.read, head.seq):
        for row in rows:
            yield canonical(
                {
                    **(_parse(row.entry) or {"seq": row.seq, "kind": "unreadable"}),
                    "hash": _ascii(row.hash),
                }
            )


def _batches(read: _Read, last: int) -> Iterator[list[Row]]:
    """Yield the entries up to number `last` in batches."""
    at = 0
    while at < last:
        rows = _rows_after(read, at)
        yield [row for row in rows if row.seq <= last]
        at = rows[-1].seq if rows else last


def _rows_after(read: _Read, seq: int) -> list[Row]:
    rows: list[Row] = read(lambda tx: tx.all(SQL.entries_from, seq=seq + 1, most=_BATCH))
    return rows


def _parse(entry: bytes) -> dict[str, Any] | None:
    try:
        parsed = json.loads(entry)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _ascii(stored: bytes) -> str:
    return stored.decode("ascii", "replace")


def entry_of(row: Row) -> AuditEntry:
    """Return a row of the trail as an entry; invalid content has the kind `unreadable`."""
    hash_text = _ascii(row.hash)
    try:
        return AuditEntry.model_validate(
            {**(_parse(row.entry) or {}), "seq": row.seq, "hash": hash_text}
        )
    except ValidationError:
        return AuditEntry(seq=row.seq, kind="unreadable", hash=hash_text)


# --- Search the audit trail with filters, newest entries first -------------------------------

# Entries scanned for one page, about 50 ms, so that searches for rare entries are bounded.
SCANNED_MAX = 100_000
_AFTER_ALL = (1 << 53) - 1
_Filter = Annotated[str | None, Field(max_length=limits.PATH_CHARACTERS_MAX)]


class AuditFilter(Message):
    """Filters for entries: number, kind, agent, grant, and a part of the path or scope."""

    before: Annotated[int, Field(ge=1, le=_AFTER_ALL)] = _AFTER_ALL
    kind: Literal["grant", "check", "log", "revoke", "erase", "team"] | None = None
    agent: _Filter = None
    grant_id: _Filter = None
    path: _Filter = None
    limit: Annotated[int, Field(ge=1, le=limits.AUDIT_LISTED_MAX)] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSearchPage:
    """One page of entries.

    `next` is `before` of the next page, or None. `least` is the oldest entry that was scanned.
    """

    entries: list[AuditEntry]
    newest: int
    least: int
    next: int | None


def search_audit(records: Records, caller: Caller, filters: AuditFilter) -> AuditSearchPage:
    """Return the entries that match the filters, newest first.

    Raises NotOwner, KeyIsReadOnly, OwnerKeyPinned, StoreUnavailable.
    """
    require_unpinned_owner(caller)
    values = filters.model_dump(exclude={"before", "limit"})

    def read(tx: Transaction) -> tuple[int, int, list[Row]]:
        newest = int(tx.one(SQL.head).seq)
        before = min(filters.before, newest + 1)
        since, most = max(before - SCANNED_MAX, 1), filters.limit + 1
        rows = tx.all(SQL.entries_before, before=before, since=since, most=most, **values)
        return newest, since, rows

    newest, since, rows = records.store.read(read)
    page = rows[: filters.limit]
    if len(rows) > filters.limit:
        least, following = page[-1].seq, page[-1].seq
    else:
        least, following = since, since if since > 1 else None
    return AuditSearchPage(
        entries=[entry_of(row) for row in page], newest=newest, least=least, next=following
    )
