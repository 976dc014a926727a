"""Search the audit trail with filters, newest entries first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from ..context import Caller, Records
from ..protocol import limits
from ..protocol.message import Message
from ..protocol.permissions import AuditEntry
from ..store import Row, Transaction
from .audit import SQL, entry_of
from .owner import require_unpinned_owner

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
    values = {
        "kind": filters.kind,
        "agent": filters.agent,
        "grant_id": filters.grant_id,
        "path": filters.path,
    }

    def read(tx: Transaction) -> tuple[int, int, list[Row]]:
        newest = int(tx.one(SQL.head).seq)
        before = min(filters.before, newest + 1)
        since = max(before - SCANNED_MAX, 1)
        return (
            newest,
            since,
            tx.all(
                SQL.entries_before, before=before, since=since, most=filters.limit + 1, **values
            ),
        )

    newest, since, rows = records.store.read(read)
    page = rows[: filters.limit]
    if len(rows) > filters.limit:
        least, following = page[-1].seq, page[-1].seq
    else:
        least, following = since, since if since > 1 else None
    return AuditSearchPage(
        entries=[entry_of(row) for row in page], newest=newest, least=least, next=following
    )
