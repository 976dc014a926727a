"""The audit trail:

entries in order, each with the hash of the one before, so that a changed or missing one shows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ..context import Caller, Records
from ..protocol.permissions import AuditEntry, AuditHead, AuditPage, AuditQuery
from ..protocol.text import rfc3339
from ..store import Row, Transaction, load_queries
from .owner import require_unpinned_owner

SQL = load_queries("remembrancer.permissions", "permissions.sql")
NOTHING_BEFORE = "0" * 64  # the hash before the first entry
_READ_AT_ONCE = 1_000  # entries, when all are read


class AuditBroken(Exception):
    """The audit trail is not as it was written; the message says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainLink:
    """The number and hash of an entry: what the next one goes on from."""

    seq: int = 0
    hash: str = NOTHING_BEFORE


def canonical(entry: dict[str, Any]) -> str:
    """The one text of an entry: JSON with sorted keys and no spaces, every letter as it is."""
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(entry: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(entry).hexdigest()


def add_entry(tx: Transaction, caller: Caller, now_ms: int, *, kind: str, **told: Any) -> int:
    """Add an entry in the transaction of what it tells of; gives its number.

    What is None is left out.
    """
    head = tx.one(SQL.head)
    known = {name: value for name, value in told.items() if value is not None}
    who = {"account": caller.account_name, "key_id": caller.key_id}
    entry = canonical(
        {
            "seq": head.seq + 1,
            "at": rfc3339(now_ms),
            "kind": kind,
            **who,
            **known,
            "prev": head.hash,
        }
    )
    tx.run(SQL.add_entry, seq=head.seq + 1, entry=entry, hash=digest(entry.encode("utf-8")))
    return int(head.seq) + 1


def break_in(rows: Iterable[Row], before: ChainLink) -> str | ChainLink:
    """What is wrong with entries (seq, entry and hash, as bytes) that go on from `before`, and
    where; else the last of them.
    """
    for row in rows:
        wanted = before.seq + 1
        if row.seq != wanted:
            return f"entry {wanted} is missing"
        if digest(row.entry) != _text(row.hash):
            return f"entry {wanted} was changed: its text does not have its hash"
        told = _read(row.entry)
        if told is None or told.get("seq") != wanted:
            return f"entry {wanted} was replaced: its text is not of an entry of this number"
        if told.get("prev") != before.hash:
            return f"entry {wanted} does not go on from the entry before: one of them was replaced"
        before = ChainLink(seq=wanted, hash=_text(row.hash))
    return before


def page(records: Records, caller: Caller, asked: AuditQuery) -> AuditPage:
    """A page of the trail, oldest first. Raises NotOwner, ReadOnly, KeyPinned, StoreUnavailable."""
    require_unpinned_owner(caller)

    def read(tx: Transaction) -> tuple[Row, list[Row]]:
        # the entry before the page and the one after it show that both ends are joined
        return tx.one(SQL.head), tx.all(SQL.entries_from, seq=asked.after, most=asked.limit + 2)

    head, found = records.store.read(read)
    rows = [row for row in found if row.seq > asked.after][: asked.limit + 1]
    shown, is_last = rows[: asked.limit], len(rows) <= asked.limit
    return AuditPage(
        entries=[entry_of(row) for row in shown],
        next=None if is_last else shown[-1].seq,
        chain_valid=_is_whole(
            rows,
            _link_at(asked.after, found, head.seq),
            ChainLink(seq=head.seq, hash=head.hash) if is_last else None,
        ),
        head=AuditHead(seq=head.seq, hash=head.hash),
    )


def _link_at(after: int, found: list[Row], newest: int) -> ChainLink | None:
    """What the entries after this number go on from; None when that is missing."""
    if after == 0:
        return ChainLink()
    if found and found[0].seq == after:
        return ChainLink(seq=after, hash=_text(found[0].hash))
    return ChainLink(seq=newest, hash="") if after > newest and not found else None


def _is_whole(rows: list[Row], before: ChainLink | None, end: ChainLink | None) -> bool:
    if before is None:
        return False
    last = break_in(rows, before)
    return isinstance(last, ChainLink) and (end is None or last == end or not before.hash)


def verify(records: Records, known: ChainLink | None = None) -> ChainLink:
    """Look at the whole trail; gives its head. `known`: an entry noted before, which must still be
    there.

    Raises AuditBroken where it is not as it was written, StoreUnavailable.
    """
    head = records.store.read(lambda tx: tx.one(SQL.head))
    at = ChainLink()
    seen = known in (None, at)
    for rows in _all(records, head.seq):
        found = break_in(rows, at)
        if isinstance(found, str):
            raise AuditBroken(f"The audit trail is broken: {found}.")
        at = found
        seen = seen or any(known == ChainLink(seq=row.seq, hash=_text(row.hash)) for row in rows)
    if at != ChainLink(seq=head.seq, hash=head.hash):
        raise AuditBroken(
            f"The audit trail is broken: it ends with entry {at.seq}, but its head is entry {head.seq} of another hash."
        )
    if known is not None and not seen:
        raise AuditBroken(
            f"The audit trail is another one: it has no entry {known.seq} with the hash that was noted."
        )
    return at


def export_entries(records: Records) -> Iterator[str]:
    """Every entry as a line of canonical JSON, its `hash` beside what it is the hash of; one that
    is no JSON as `unreadable`.
    """
    head = records.store.read(lambda tx: tx.one(SQL.head))
    for rows in _all(records, head.seq):
        for row in rows:
            yield canonical(
                {
                    **(_read(row.entry) or {"seq": row.seq, "kind": "unreadable"}),
                    "hash": _text(row.hash),
                }
            )


def _all(records: Records, last: int) -> Iterator[list[Row]]:
    """The entries up to a number, some at a time: what is added meanwhile is for the next look."""
    at = 0
    while at < last:
        rows = _rows_after(records, at)
        yield [row for row in rows if row.seq <= last]
        at = rows[-1].seq if rows else last


def _rows_after(records: Records, seq: int) -> list[Row]:
    return records.store.read(lambda tx: tx.all(SQL.entries_from, seq=seq + 1, most=_READ_AT_ONCE))


def _read(entry: bytes) -> dict[str, Any] | None:
    try:
        told = json.loads(entry)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def _text(stored: bytes) -> str:
    return stored.decode("ascii", "replace")


def entry_of(row: Row) -> AuditEntry:
    """A row of the trail as callers see it; what somebody put there instead of an entry is
    `unreadable`.
    """
    hashed = _text(row.hash)
    try:
        return AuditEntry.model_validate(
            {**(_read(row.entry) or {}), "seq": row.seq, "hash": hashed}
        )
    except ValidationError:
        return AuditEntry(seq=row.seq, kind="unreadable", hash=hashed)
