"""Link a turn with those that it changes: newer values, and what the user takes back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..accounts.teams import is_author
from ..context import Context, TeamMember
from ..protocol.trust import may_replace
from ..store import Row, Transaction, load_queries
from .changes import Withdrawal, change, is_about, state_keys
from .spaces import ErasedEvents, number_of, revised, row_id, space_of

# --- Ranges of events that are erased together -----------------------------------------------

ALL_TIME_MS = (-(1 << 62), 1 << 62)


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseRange:
    """A set of events of a space.

    Rows from `low` up to but not including `high`, of one session or all, that occurred in a
    period.
    """

    space_id: int
    low: int
    high: int
    session: int | None = None
    after_ms: int = ALL_TIME_MS[0]
    before_ms: int = ALL_TIME_MS[1]
    only: str | None = None  # of these rows alone, a JSON array

    @property
    def values(self) -> dict[str, int | str | None]:
        """The values for the statements."""
        rows = {"low": self.low, "high": self.high, "session": self.session, "only": self.only}
        return {**rows, "after_ms": self.after_ms, "before_ms": self.before_ms}


# --- Link a turn with those that it changes: newer values, and what the user takes back ------

SQL = load_queries("remembrancer.memory", "links.sql")
FORGET = load_queries("remembrancer.memory.history", "forget.sql")
RELATED_MAX = 20  # turns with common keys that a new one is compared with
HINTS_MAX = 5  # turns that a new one may change
MESSAGES_MAX = 2_000  # newest turns among which the ones that the user takes back are looked for
WITHDRAWN_MAX = 50  # of one message


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLinks:
    """Links of a stored turn to earlier ones: event ids."""

    supersedes: list[str] = field(default_factory=list)
    may_supersede: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    is_withdrawn: bool = False  # the turn itself: the user asked not to remember it
    erased: ErasedEvents | None = None  # from the index

    @property
    def notice(self) -> str | None:
        """Sentences for a receipt; None if there is nothing to say."""
        sentences = []
        if self.supersedes:
            sentences.append(f"It gives a newer value than {', '.join(self.supersedes)}.")
        if self.may_supersede:
            sentences.append(f"It may give a newer value than {', '.join(self.may_supersede)}.")
        if self.withdrawn:
            sentences.append(
                f"The user took back {', '.join(self.withdrawn)}: searches do not find it. Delete "
                "the event to erase it."
            )
        if self.is_withdrawn:
            sentences.append(
                "The user took this message back or asked not to remember it: searches do not find "
                "it. Delete the event to erase it."
            )
        return " ".join(sentences) or None


class EventLinks(NamedTuple):
    """Links between a turn and those with newer or older values: event ids, None without any."""

    superseded_by: str | None = None
    supersedes: list[str] | None = None
    may_supersede: list[str] | None = None


def links_of_turn(tx: Transaction, row: int) -> EventLinks:
    """Return the links of a turn (its row)."""
    return event_links(row, tx.all(SQL.changes_of, ids=json.dumps([row])))


def event_links(row: int, changes: Sequence[Row]) -> EventLinks:
    """Return the links of a turn (its row) among changes, rows of `changes_of`."""
    newer = [one.newer_id for one in changes if one.older == row and one.certain]
    older = [one.older_id for one in changes if one.newer == row and one.certain]
    hints = [one.older_id for one in changes if one.newer == row and not one.certain]
    return EventLinks(newer[-1] if newer else None, older or None, hints or None)


def link_changes(
    tx: Transaction, *, space_id: int, event: int, message: str, source: int, occurred_ms: int
) -> TurnLinks:
    """Record what a turn (its row) is about, and link it with turns that it changes.

    `source` is the rank of who said the message.
    """
    keys = sorted(state_keys(message))
    if keys:
        tx.run(SQL.add_keys, space_id=space_id, keys=_json(keys), event=event)
    related = related_turns(tx, keys, space_id=space_id, but=event)
    return link_related(tx, event, related(), message, source, occurred_ms)


def related_turns(
    tx: Transaction,
    keys: Sequence[str],
    *,
    space_id: int | None = None,
    user_id: str | None = None,
    but: int = 0,
) -> Callable[[], list[Row]]:
    """Request earlier turns with a common key, the newest first.

    The space is that of `space_id` or of `user_id`; `but` is the row of a turn to leave out.
    Returns a function that returns the rows, see Transaction.later.
    """
    if not keys:
        return list
    return tx.later(
        SQL.related,
        space_id=space_id,
        user_id=user_id,
        id=but,
        keys=_json(keys),
        most=RELATED_MAX,
    )


def link_related(
    tx: Transaction,
    event: int,
    related: Sequence[Row],
    message: str,
    source: int,
    occurred_ms: int,
) -> TurnLinks:
    """Link a turn (its row) with turns of which it gives another value for the same thing.

    `source` is the rank of who said the message. The turn that occurred later is the newer one.
    Only the messages are compared; `related` are the `related_turns`.
    """
    space_id = space_of(event)
    supersedes: list[str] = []
    may_supersede: list[str] = []
    for other in related:
        is_older = other.occurred_ms <= occurred_ms
        texts = (other.query, message) if is_older else (message, other.query)
        replacement = change(*texts)
        if replacement is None:
            continue
        ranks = (source, other.query_source) if is_older else (other.query_source, source)
        certain = replacement.certain and may_replace(*ranks)
        older, newer = (other.id, event) if is_older else (event, other.id)
        tx.later(
            SQL.add_change,
            space_id=space_id,
            older=older,
            newer=newer,
            certain=int(certain),
        )
        if is_older:
            (supersedes if certain else may_supersede).append(other.event_id)
    return TurnLinks(supersedes=supersedes, may_supersede=may_supersede[:HINTS_MAX])


def _json(keys: Iterable[str]) -> str:
    return json.dumps(list(keys), ensure_ascii=False)


def withdraw(
    context: Context,
    tx: Transaction,
    *,
    space_id: int,
    event: int,
    withdrawal: Withdrawal,
    member: TeamMember | None = None,
) -> TurnLinks:
    """Take back what a message (its row) says the user takes back, and end the facts about it.

    Turns stay readable by their ids but are in no index. A request to forget is withdrawn with
    the turns it names, whose words it repeats. A `member` of a team takes back its own turns alone.
    """
    rows: list[Row] = []
    if withdrawal.target:
        messages = tx.all(
            SQL.newest_messages,
            low=row_id(space_id, 0),
            high=row_id(space_id + 1, 0),
            id=event,
            most=MESSAGES_MAX,
        )
        rows = [
            row
            for row in messages
            if is_about(withdrawal.target, row.query) and (member is None or is_author(member, row))
        ][:WITHDRAWN_MAX]
        _end_facts(context, tx, space_id, withdrawal, member)
    is_withdrawn = withdrawal.reason != "forget" or bool(rows)
    ids = [row.id for row in rows] + ([event] if is_withdrawn else [])
    erased = withdraw_turns(tx, space_id, ids, by=event) if ids else None
    return TurnLinks(
        withdrawn=[row.event_id for row in rows], is_withdrawn=is_withdrawn, erased=erased
    )


def withdraw_turns(tx: Transaction, space_id: int, rows: list[int], *, by: int) -> ErasedEvents:
    """Let no search find turns (rows) again; `by` is the row of the turn that took them back."""
    for row in rows:
        tx.run(SQL.withdraw, id=row, by=by)
    return leave_index(tx, space_id, rows)


def leave_index(tx: Transaction, space_id: int, rows: list[int]) -> ErasedEvents:
    """Remove turns (rows) from the index, with their links; they stay readable by their ids."""
    numbers = [number_of(row) for row in rows]
    for row in rows:
        values = EraseRange(space_id=space_id, low=row, high=row + 1).values
        erase_links(tx, values)
        tx.run(FORGET.erase_index, **values)
    tx.run(FORGET.erase_search, space_id=space_id, numbers=numbers)
    return revised(tx, space_id, numbers)


def restore_turn(tx: Transaction, row: int) -> None:
    """Let searches find a withdrawn turn again, once it has an index entry."""
    tx.run(SQL.restore, id=row)


def _end_facts(
    context: Context,
    tx: Transaction,
    space_id: int,
    withdrawal: Withdrawal,
    member: TeamMember | None,
) -> None:
    now_ms = context.clock()
    for row in tx.all(SQL.end_facts_like, space_id=space_id, now_ms=now_ms, most=MESSAGES_MAX):
        is_own = member is None or is_author(member, row)
        if is_own and is_about(withdrawal.target, row.text):
            tx.run(SQL.end_fact, id=row.id, now_ms=now_ms)


def erase_links(tx: Transaction, values: dict[str, int | str | None]) -> None:
    """Erase what turns are about, their changes and the values of their metadata.

    `values` are those of an EraseRange.
    """
    for statement in (
        SQL.erase_keys_of_turns,
        SQL.erase_values_of_turns,
        SQL.erase_changed,
        SQL.erase_changing,
    ):
        tx.run(statement, **values)
