"""The audit trail as people look through it: newest first, and only what they look for."""

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

# entries of one page at most, some 50 ms, so that what is rare takes no longer than it may
LOOKED_THROUGH = 100_000
_AFTER_ALL = (1 << 53) - 1
_Sought = Annotated[str | None, Field(max_length=limits.PATH_CHARACTERS_MAX)]


class AuditFilter(Message):
    """Which entries:

    those before a number, of a kind, of an agent, of a grant, whose path or scope has this text in
    it.
    """

    before: Annotated[int, Field(ge=1, le=_AFTER_ALL)] = _AFTER_ALL
    kind: Literal["grant", "check", "log", "revoke"] | None = None
    agent: _Sought = None
    grant_id: _Sought = None
    path: _Sought = None
    limit: Annotated[int, Field(ge=1, le=limits.AUDIT_LISTED_MAX)] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSearchPage:
    """A page. `next` is for `before` of the one after it, None when there is none; `least`:

    the oldest entry that was looked at.
    """

    entries: list[AuditEntry]
    newest: int
    least: int
    next: int | None


def search_audit(records: Records, caller: Caller, sought: AuditFilter) -> AuditSearchPage:
    """Entries that fit, newest first. Raises NotOwner, ReadOnly, KeyPinned, StoreUnavailable."""
    require_unpinned_owner(caller)
    asked = {
        "kind": sought.kind,
        "agent": sought.agent,
        "grant_id": sought.grant_id,
        "path": sought.path,
    }

    def read(tx: Transaction) -> tuple[int, int, list[Row]]:
        newest = int(tx.one(SQL.head).seq)
        before = min(sought.before, newest + 1)
        since = max(before - LOOKED_THROUGH, 1)
        return (
            newest,
            since,
            tx.all(SQL.entries_before, before=before, since=since, most=sought.limit + 1, **asked),
        )

    newest, since, rows = records.store.read(read)
    page = rows[: sought.limit]
    if len(rows) > sought.limit:
        least, following = page[-1].seq, page[-1].seq
    else:
        least, following = since, since if since > 1 else None
    return AuditSearchPage(
        entries=[entry_of(row) for row in page], newest=newest, least=least, next=following
    )
