"""List facts: those that hold, their timeline, and those for the start of a session."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ...accounts import session_user_id
from ...accounts.teams import authors_of_facts
from ...context import Caller, Context
from ...protocol.facts import (
    Fact,
    FactList,
    FactsQuery,
    FactStatus,
    FactVersion,
    InstructionList,
)
from ...protocol.text import DAY_MS, rfc3339
from ...protocol.trust import SOURCES
from ...store import Row, Transaction
from ..filters import passing_or_all
from ..spaces import AFTER_ALL, past_ms, read_metadata, split_page
from ..spaces import SQL as SPACES
from .write import CURRENT, EXPIRED, KINDS, SQL, SUPERSEDED, VERSION, own_fact

# --- List the facts of a user, now or as they were at an earlier time ------------------------

SOURCES_MAX = 20  # events listed with a fact
_STATUSES: tuple[FactStatus, ...] = ("current", "superseded", "expired", "removed")  # as stored


def list_facts(context: Context, caller: Caller, query: FactsQuery) -> FactList:
    """Return a page of a user's facts, newest first.

    Raises PinnedToOtherUser, TimeInFuture, StoreUnavailable.
    """
    as_of_ms = past_ms(context, query.as_of)
    status = None if query.status == "all" or as_of_ms is not None else query.status

    def read(tx: Transaction) -> tuple[str, list[Fact], Row | None]:
        user_id = session_user_id(tx, caller, query.user_id, query.session_id)
        space = tx.one_or_none(SPACES.space_of, user_id=user_id)
        if space is None:
            return user_id, [], None
        condition, values = passing_or_all(query.filters, "facts")
        rows = tx.all(
            SQL.facts_page.replace("true", condition),
            space_id=space.id,
            which=query.which,
            below=query.below or AFTER_ALL,
            status=None if status is None else _STATUSES.index(status),
            as_of_ms=as_of_ms,
            now_ms=context.clock(),
            most=query.limit + 1,
            **values,
        )
        page, last = split_page(rows, query.limit)
        return user_id, read_facts(tx, caller, [row.id for row in page], context.clock()), last

    user_id, facts, last = context.store.read(read, account_id=caller.account_id)
    return FactList(user_id=user_id, facts=facts, next=last and last.id)


def list_instructions(context: Context, caller: Caller, query: FactsQuery) -> InstructionList:
    """Return a page of a user's standing instructions and preferences, newest first.

    Raises PinnedToOtherUser, TimeInFuture, StoreUnavailable.
    """
    page = list_facts(context, caller, query.model_copy(update={"which": "instructions"}))
    return InstructionList(user_id=page.user_id, instructions=page.facts, next=page.next)


def status_of(row: Row, now_ms: int) -> FactStatus:
    """Return the status of a fact; `row` has status, valid_to_ms and expires_ms."""
    is_over = any(end is not None and end <= now_ms for end in (row.valid_to_ms, row.expires_ms))
    return _STATUSES[EXPIRED if row.status == CURRENT and is_over else row.status]


def read_facts(tx: Transaction, caller: Caller, ids: Sequence[int], now_ms: int) -> list[Fact]:
    """Return facts by their row ids, in this order; those of a team with their authors."""
    if not ids:
        return []
    row_ids = json.dumps(list(ids))
    rows = {row.id: row for row in tx.all(SQL.facts_whole, ids=row_ids)}
    sources: dict[int, list[str]] = defaultdict(list)
    for row in tx.all(SQL.sources_of, ids=row_ids):
        sources[row.fact].append(row.event_id)
    replaced: dict[int, list[Row]] = defaultdict(list)
    for row in tx.all(SQL.superseded_of, ids=row_ids):
        replaced[row.fact].append(row)
    facts = [_fact(rows[one], sources[one], replaced[one], now_ms) for one in ids if one in rows]
    if caller.member is None:
        return facts
    authors = authors_of_facts(tx, [fact.fact_id for fact in facts])
    return [fact.model_copy(update={"author": authors.get(fact.fact_id)}) for fact in facts]


def _fact(row: Row, sources: list[str], replaced: list[Row], now_ms: int) -> Fact:
    is_version = row.origin == VERSION
    events = ([row.event_id] if row.event_id else []) + sources
    return Fact(
        fact_id=row.superseded_by if is_version else row.fact_id,
        text=row.text or None,
        source=SOURCES[row.source],
        kind=KINDS[row.kind],
        condition=row.condition,
        recognised=row.origin == 1,
        status=status_of(row, now_ms),
        valid_from=rfc3339(row.valid_from_ms),
        valid_to=None if row.valid_to_ms is None else rfc3339(row.valid_to_ms),
        expires_at=None if row.expires_ms is None else rfc3339(row.expires_ms),
        superseded_by=row.superseded_by if row.status == SUPERSEDED and not is_version else None,
        supersedes=[one.fact_id for one in replaced if one.origin != VERSION],
        versions=[_version(one) for one in replaced if one.origin == VERSION and one.text],
        pinned=bool(row.pinned),
        event_id=row.event_id,
        event_ids=list(dict.fromkeys(events))[:SOURCES_MAX],
        written_by=row.written_by,
        created_at=rfc3339(row.created_ms),
        metadata=read_metadata(row.metadata),
    )


def _version(row: Row) -> FactVersion:
    return FactVersion(
        text=row.text,
        valid_from=rfc3339(row.valid_from_ms),
        valid_to=None if row.valid_to_ms is None else rfc3339(row.valid_to_ms),
    )


# --- One fact with its timeline: the facts that it superseded and those that superseded it ---

TIMELINE_MAX = 100  # facts of a timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class FactTimeline:
    """A fact and its timeline: the fact itself and all before and after it, oldest first."""

    user_id: str
    fact: Fact
    timeline: Sequence[Fact]  # at most TIMELINE_MAX
    is_truncated: bool  # older ones are left out


def fact_timeline(context: Context, caller: Caller, fact_id: str) -> FactTimeline:
    """Return a fact with its timeline. Raises FactUnknown, StoreUnavailable."""

    def read(tx: Transaction) -> FactTimeline:
        row, now_ms = own_fact(tx, caller, fact_id), context.clock()
        [fact] = read_facts(tx, caller, [row.id], now_ms)
        rows = tx.all(SQL.timeline, id=row.id, most=TIMELINE_MAX + 1)
        newest, last = split_page(rows, TIMELINE_MAX)
        return FactTimeline(
            user_id=row.user_id,
            fact=fact,
            timeline=read_facts(tx, caller, [one.id for one in reversed(newest)], now_ms),
            is_truncated=last is not None,
        )

    return context.store.read(read, account_id=caller.account_id)


# --- The facts of a start pack: pinned ones, then the most useful ----------------------------

FACTS_MAX = 200  # of a pack; candidates of each kind as well
HALF_LIFE_DAYS = 90.0  # of the usefulness of a fact since it was last shown


def start_facts(tx: Transaction, space_id: int, now_ms: int, as_of_ms: int | None) -> list[Row]:
    """Return the facts that hold, pinned ones first, then the most useful: text and kind.

    Useful are those that searches showed often and lately, and new ones. With `as_of_ms` (ms since
    1970): the facts that held then, pinned ones first, then the newest.
    """
    if as_of_ms is not None:
        return tx.all(
            SQL.facts_as_of, space_id=space_id, as_of_ms=as_of_ms, now_ms=now_ms, most=FACTS_MAX
        )
    rows = tx.all(SQL.facts_for_start, space_id=space_id, now_ms=now_ms, most=FACTS_MAX)
    rows.sort(key=lambda row: (row.pinned, _usefulness(row, now_ms), row.id), reverse=True)
    return rows[:FACTS_MAX]


def _usefulness(row: Row, now_ms: int) -> float:
    days: float = max(now_ms - row.used_ms, 0) / DAY_MS
    return float(math.log2(2 + row.uses) * 0.5 ** (days / HALF_LIFE_DAYS))


def note_uses(tx: Transaction, fact_ids: Sequence[str], now_ms: int) -> None:
    """Count that an answer showed facts."""
    tx.run(SQL.note_uses, fact_ids=json.dumps(list(fact_ids)), now_ms=now_ms)
