"""Erase one turn, a session, a period, a user, or all data of an account, with everything derived.

An L1 summarises turns: it is erased with them when a session, a period or a user is forgotten. A
map summarises the L1s of all sessions: once an L1 is erased, every version of the map is erased,
and the next one is built from the remaining L1s.

Votes of a forgotten user still count, without reasons and under a random name.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ... import cubes, feedback
from ...accounts import prompts, require_write, space_user_id
from ...accounts.idempotency import IdempotentRequest, delete_answers, idempotent
from ...accounts.keys import forget_session_users
from ...context import Caller, Context
from ...files import files
from ...protocol.errors import Conflict, Forbidden
from ...protocol.forget import Erased, EventErased, Forget, Forgotten
from ...protocol.text import rfc3339
from ...store import Row, Transaction, load_queries
from ..files.versions import erase_files
from ..layers import prune_layers, prune_with
from ..links import ALL_TIME_MS, EraseRange, erase_links, leave_index
from ..spaces import SQL as SPACES
from ..spaces import (
    ErasedEvents,
    drop_indexes,
    milliseconds,
    number_of,
    row_id,
    space_of,
    update_index,
)
from ..write.events import event_to_change
from .receipts import EventIds, scope_of, sign_erasure, sign_event

SQL = load_queries("remembrancer.memory.history", "forget.sql")


class NotConfirmed(Conflict):
    """Erasing a whole user or account requires its name in `confirm`."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"To erase everything, send {name!r} in confirm as well. "
            "To see what would be erased, send dry_run."
        )


class NotLatest(Conflict):
    """Only the latest turn of the same session can be replaced: a draft the user never saw."""


class _DryRun(Exception):
    """Rolls back the transaction of a dry run and carries its answer."""

    def __init__(self, answer: str) -> None:
        self.answer = answer


@dataclass(frozen=True, slots=True)
class Replacement:
    """The turn that replaces another: its id, its row, its session's row."""

    event_id: str
    row: int
    session: int


@dataclass(slots=True)
class _Outcome:
    """The answer of an erasure, and what is left to do once it is durable."""

    answer: str = ""
    blobs: list[str] = field(default_factory=list)
    erased: list[ErasedEvents] = field(default_factory=list)
    event_ids: EventIds = field(default_factory=EventIds)
    spaces: list[int] = field(default_factory=list)  # erased as a whole


def erase_event(
    context: Context,
    caller: Caller,
    event_id: str,
    idempotency: IdempotentRequest | None = None,
    *,
    dry_run: bool = False,
) -> EventErased:
    """Erase one turn permanently, or report what would be erased with it.

    Raises KeyIsReadOnly, EventUnknown, NotAuthor, IdempotencyKeyReused, StoreUnavailable.
    """
    require_write(caller)
    outcome = _Outcome()

    def write(tx: Transaction) -> None:
        if dry_run:
            raise _DryRun(_erase_one(context, tx, caller, event_id, _Outcome()))
        erase = partial(_erase_one, context, tx, caller, event_id, outcome)
        outcome.answer = idempotent(tx, idempotency, context.clock(), erase)

    try:
        context.store.write(write, account_id=caller.account_id)
    except _DryRun as dry:
        update = {"erased": False, "receipt": None}
        return EventErased.model_validate_json(dry.answer).model_copy(update=update)
    _finish(context, outcome)
    return EventErased.model_validate_json(outcome.answer)


def _erase_one(
    context: Context, tx: Transaction, caller: Caller, event_id: str, outcome: _Outcome
) -> str:
    row = event_to_change(tx, caller, event_id)
    erase_range = EraseRange(space_id=space_of(row.id), low=row.id, high=row.id + 1)
    session = tx.one(SPACES.session_of, space_id=erase_range.space_id, session_id=row.session_id).id
    l1_ids = [l1.l1_id for l1 in summaries_of_event(tx, session, [row.created_ms])]
    facts = _erase_facts(tx, erase_range)
    erased = _erase_turns(tx, erase_range, tx.all(SQL.events_to_erase, **erase_range.values))
    outcome.erased = [prune_with(tx, erased)]
    delete_answers(tx, event_id)
    return EventErased(
        erased=True,
        event_id=event_id,
        facts=facts,
        told_in=l1_ids,
        at=rfc3339(context.clock()),
        receipt=sign_event(context, tx, caller, row, facts=facts),
    ).model_dump_json()


def _erase_turns(tx: Transaction, erase_range: EraseRange, rows: Sequence[Row]) -> ErasedEvents:
    """Erase turns and everything derived from them except facts and L1s.

    `rows` are all turns of the range.
    """
    _erase_drafts(tx, erase_range.space_id, rows)
    by_session: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        if row.superseded_by is None:  # drafts are not counted as turns
            by_session[row.session].append(row.id)
    for session, ids in by_session.items():
        counts = tx.one(SQL.session_counts, session=session)
        latest = {
            turn.id
            for turn in tx.all(
                SQL.latest_turns, session=session, most=counts.turns - counts.turns_summarised
            )
        }
        summarised = counts.turns_summarised - sum(turn_id not in latest for turn_id in ids)
        tx.run(
            SQL.set_counts, session=session, turns=counts.turns - len(ids), summarised=summarised
        )
    erase_links(tx, erase_range.values)
    tx.run(SQL.erase_shown, space_id=erase_range.space_id, **erase_range.values)
    tx.run(SQL.erase_looks, space_id=erase_range.space_id, **erase_range.values)
    tx.run(
        SQL.erase_search, space_id=erase_range.space_id, numbers=[number_of(row.id) for row in rows]
    )
    tx.run(SQL.erase_index, **erase_range.values)
    tx.run(SQL.erase_events, **erase_range.values)
    tx.run(SPACES.revise_space, space_id=erase_range.space_id)
    revision = tx.one(SPACES.space_by_id, id=erase_range.space_id).revision
    return ErasedEvents(
        space_id=erase_range.space_id,
        since=revision - 1,
        revision=revision,
        numbers=[number_of(row.id) for row in rows],
    )


def _erase_drafts(tx: Transaction, space_id: int, rows: Sequence[Row]) -> None:
    """Erase the drafts of these turns that are not among them: they hold nearly the same text."""
    ids_by_session: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        ids_by_session[row.session].append(row.id)
    erased_ids = {row.id for row in rows}
    for session, ids in ids_by_session.items():
        for draft in tx.all(SQL.drafts_of_events, session=session, ids=json.dumps(ids)):
            if draft.id not in erased_ids:
                erase_range = EraseRange(space_id=space_id, low=draft.id, high=draft.id + 1)
                _erase_turns(tx, erase_range, [draft])


def supersede_draft(tx: Transaction, draft: Row, replacement: Replacement) -> ErasedEvents:
    """Let a revision take the place of a draft of the same turn.

    The draft stays readable by its id, but is in no index and counts as no turn. Its facts and the
    evidence of its cubes then belong to the revision. `draft` has id and event_id.
    """
    counts = tx.one(SQL.session_counts, session=replacement.session)
    uncovered = counts.turns - counts.turns_summarised
    latest = tx.all(SQL.latest_turns, session=replacement.session, most=uncovered)
    is_summarised = draft.id not in {turn.id for turn in latest}
    space_id = space_of(draft.id)
    tx.run(SQL.supersede, id=draft.id, revision=replacement.row)
    tx.run(
        SQL.set_counts,
        session=replacement.session,
        turns=counts.turns - 1,
        # If an L1 covers the draft, it covers the turn.
        summarised=counts.turns - 1 if is_summarised else counts.turns_summarised,
    )
    tx.run(SQL.move_facts, space_id=space_id, old=draft.id, new=replacement.row)
    tx.run(SQL.move_sources, old=draft.id, new=replacement.row)
    cubes.move_evidence(tx, draft.event_id, replacement.event_id)
    return leave_index(tx, space_id, [draft.id])


def replace_turn(
    tx: Transaction, caller: Caller, event_id: str, replacement: Replacement
) -> ErasedEvents:
    """Erase a session's previous turn after another took its place.

    What belonged to the old turn then belongs to the new one. Raises EventUnknown, NotLatest.
    """
    old = event_to_change(tx, caller, event_id)
    latest = [
        row.id
        for row in tx.all(SQL.latest_turns, session=replacement.session, most=2)
        if row.id != replacement.row
    ]
    if old.id not in latest[:1]:
        raise NotLatest
    space_id = space_of(old.id)
    counts = tx.one(SQL.session_counts, session=replacement.session)
    # The two latest turns are the new one and this one.
    is_summarised = counts.turns - counts.turns_summarised < 2
    tx.run(SQL.move_looks, session=replacement.session, old=old.id, new=replacement.row)
    tx.run(SQL.move_facts, space_id=space_id, old=old.id, new=replacement.row)
    tx.run(SQL.move_sources, old=old.id, new=replacement.row)
    cubes.move_evidence(tx, event_id, replacement.event_id)
    erase_range = EraseRange(space_id=space_id, low=old.id, high=old.id + 1)
    erased = _erase_turns(tx, erase_range, tx.all(SQL.events_to_erase, **erase_range.values))
    if is_summarised:
        counts_left = tx.one(SQL.session_counts, session=replacement.session)
        tx.run(
            SQL.set_counts,
            session=replacement.session,
            turns=counts_left.turns,
            summarised=counts_left.turns,
        )
    delete_answers(tx, event_id)
    return erased


def summaries_of_event(tx: Transaction, session: int, times_ms: Sequence[int]) -> list[Row]:
    """Return the L1s of a session that cover turns stored at these times.

    Each L1 covers the turns since the one before it.
    """
    l1s = tx.all(SQL.l1s_of, session=session)
    l1_times = [l1.created_ms for l1 in l1s]
    places = sorted({bisect_left(l1_times, time) for time in times_ms})
    return [l1s[place] for place in places if place < len(l1s)]


def forget(
    context: Context,
    caller: Caller,
    request: Forget,
    idempotency: IdempotentRequest | None = None,
    also: Callable[[Transaction], None] = lambda _: None,
) -> Forgotten:
    """Erase what a request selects, or report what would be erased. Durable on return.

    `also` is done in the same transaction. Raises KeyIsReadOnly, PinnedToOtherUser, Forbidden,
    NotConfirmed, IdempotencyKeyReused, StoreUnavailable.
    """
    require_write(caller)
    user_id = None if request.account else space_user_id(caller, request.user_id)
    if request.account and caller.pinned_user_id is not None:
        raise Forbidden("This key is pinned to one user. Use an unpinned key to erase the account.")
    name = caller.account_name if user_id is None else user_id
    if not request.dry_run and not request.is_narrowed and request.confirm != name:
        raise NotConfirmed(name)
    outcome = _Outcome()

    def erase_selection(tx: Transaction) -> str:
        counts = (
            _forget_account(context, tx, outcome)
            if user_id is None
            else _forget_user(context, tx, user_id, request, outcome)
        )
        answer = Forgotten(erased=False, counts=counts, at=rfc3339(context.clock()))
        if not request.dry_run:
            scope = scope_of(request, user_id)
            ids, numbers, receipt = outcome.event_ids, counts.model_dump(), None
            if any(numbers.values()):  # else there is nothing to record
                receipt = sign_erasure(context, tx, caller, scope, numbers, ids)
            answer = answer.model_copy(update={"erased": True, "receipt": receipt})
        return answer.model_dump_json()

    def write(tx: Transaction) -> None:
        outcome.blobs.clear()
        outcome.event_ids = EventIds()
        if request.dry_run:
            raise _DryRun(erase_selection(tx))
        outcome.answer = idempotent(tx, idempotency, context.clock(), lambda: erase_selection(tx))
        also(tx)

    try:
        context.store.write(write, account_id=caller.account_id)
    except _DryRun as dry:
        return Forgotten.model_validate_json(dry.answer)
    _finish(context, outcome)
    return Forgotten.model_validate_json(outcome.answer)


def _forget_user(
    context: Context, tx: Transaction, user_id: str, request: Forget, outcome: _Outcome
) -> Erased:
    space = tx.one_or_none(SPACES.space_of, user_id=user_id)
    counts = {"prompts": 0, "files": 0}
    if not request.is_narrowed:
        counts["prompts"] = prompts.erase(tx, user_id)
        forget_session_users(tx, user_id)
        _erase_rules(tx, user_id)
        cubes.anonymize_votes(context, tx, user_id)
        counts["files"] = files.erase_all(tx, outcome.blobs, pinned_to=user_id)
    if space is not None or not request.is_narrowed:
        delete_answers(tx)  # also without a space: the answer of a vote names the user
    if space is None:
        return Erased(**counts)
    if request.path is not None:
        return Erased(memory_files=erase_files(tx, space.id, request.path))
    if not request.is_narrowed:
        return Erased(**counts, **_erase_space(context, tx, space.id, outcome))
    session = None
    if request.session_id is not None:
        row = tx.one_or_none(SPACES.session_of, space_id=space.id, session_id=request.session_id)
        if row is None:
            return Erased()
        session = row.id
    erase_range = EraseRange(
        space_id=space.id,
        low=row_id(space.id, 0),
        high=row_id(space.id, space.events_made),
        session=session,
        after_ms=milliseconds(request.after, ALL_TIME_MS[0]),
        before_ms=milliseconds(request.before, ALL_TIME_MS[1]),
    )
    is_whole_session = request.after is None and request.before is None
    return Erased(
        **_forget_range(
            tx, erase_range, outcome, whole_session=session if is_whole_session else None
        )
    )


def forget_turn(tx: Transaction, erase_range: EraseRange) -> tuple[dict[str, int], ErasedEvents]:
    """Erase the turn of a range, with the facts and L1s that tell of it; return the counts."""
    outcome = _Outcome()
    counts = _forget_range(tx, erase_range, outcome, whole_session=None)
    return counts, outcome.erased[0]


def _forget_range(
    tx: Transaction, erase_range: EraseRange, outcome: _Outcome, *, whole_session: int | None
) -> dict[str, int]:
    """Erase turns with their facts and L1s, and the session row of a whole session."""
    times: dict[int, list[int]] = defaultdict(list)
    turns = tx.all(SQL.events_to_erase, **erase_range.values)
    for row in turns:
        times[row.session].append(row.created_ms)
    facts = _erase_facts(tx, erase_range)
    erased = _erase_turns(tx, erase_range, turns)
    outcome.event_ids.add(turns)
    if whole_session is None:
        l1s = [
            l1.id
            for session, times_ms in times.items()
            for l1 in summaries_of_event(tx, session, times_ms)
        ]
    else:
        l1s = [l1.id for l1 in tx.all(SQL.l1s_of, session=whole_session)]
        facts += tx.run(
            SQL.erase_facts_of_session, space_id=erase_range.space_id, session=whole_session
        )
        _prune_facts(tx, erase_range.space_id)
    counts = {
        "events": len(erased.numbers),
        "facts": facts,
        **_erase_l1s(tx, erase_range.space_id, l1s),
        "sessions": 0,
    }
    outcome.erased = [prune_with(tx, erased)]
    if whole_session is not None:
        _erase_session(tx, whole_session)
        counts["sessions"] = 1
    return counts


def _erase_facts(tx: Transaction, erase_range: EraseRange) -> int:
    """Erase the facts that only these turns stated; return their number."""
    space_id, values = erase_range.space_id, erase_range.values
    tx.run(SQL.erase_fact_sources, **values)
    tx.run(SQL.move_stated_facts, space_id=space_id, **values)
    tx.run(SQL.prune_first_sources)
    facts = tx.run(SQL.erase_facts, space_id=space_id, **values)
    _prune_facts(tx, space_id)
    return facts


def _prune_facts(tx: Transaction, space_id: int) -> None:
    """Erase what was derived from facts that were erased."""
    tx.run(SQL.prune_sources)
    tx.run(SQL.prune_keys, space_id=space_id)
    tx.run(SQL.loosen_successors, space_id=space_id)


def _erase_l1s(tx: Transaction, space_id: int, l1s: Sequence[int]) -> dict[str, int]:
    for l1 in l1s:
        tx.run(SQL.erase_l1, id=l1)
    maps = 0
    if l1s:
        maps = tx.run(SQL.erase_maps, space_id=space_id)
        tx.run(SQL.uncount_l1s, space_id=space_id, erased=len(l1s))
    return {"summaries": len(l1s), "maps": maps}


def _erase_session(tx: Transaction, session: int) -> None:
    for statement in (
        SQL.erase_looks_of,
        SQL.erase_shown_cubes,
        SQL.erase_duties,
        SQL.erase_steps,
        SQL.erase_shown_of,
        SQL.loosen_cubes,
        SQL.erase_session,
    ):
        tx.run(statement, session=session)


def _erase_space(
    context: Context, tx: Transaction, space_id: int, outcome: _Outcome
) -> dict[str, int]:
    """Erase a whole space.

    Its row stays without the user's name: reusing its number would match an old index.
    """
    space = tx.one(SPACES.space_by_id, id=space_id)
    erase_range = EraseRange(
        space_id=space_id, low=row_id(space_id, 0), high=row_id(space_id, space.events_made)
    )
    outcome.event_ids.add_range(tx, erase_range)
    tx.run(SQL.erase_search_of_space, space_id=space_id)
    tx.run(SQL.erase_index, **erase_range.values)
    sessions = [row.id for row in tx.all(SQL.sessions_in, space_id=space_id)]
    counts = {"events": 0, "facts": 0, "summaries": 0, "sessions": len(sessions)}
    counts["facts"] = tx.run(SQL.erase_facts_of_space, space_id=space_id)
    _prune_facts(tx, space_id)
    for session in sessions:
        for l1 in tx.all(SQL.l1s_of, session=session):
            counts["summaries"] += tx.run(SQL.erase_l1, id=l1.id)
    counts["maps"] = tx.run(SQL.erase_maps, space_id=space_id)
    prune_layers(tx, space_id)
    erase_links(tx, erase_range.values)
    tx.run(SQL.erase_shown, space_id=space_id, **erase_range.values)
    counts["events"] = tx.run(SQL.erase_events, **erase_range.values)
    for session in sessions:
        _erase_session(tx, session)
    tx.run(SQL.erase_origins, space_id=space_id)
    counts["memory_files"] = erase_files(tx, space_id)
    tx.run(SQL.bury_space, space_id=space_id, tombstone=context.ids("erased_"))
    outcome.spaces.append(space_id)
    return counts


def _forget_account(context: Context, tx: Transaction, outcome: _Outcome) -> Erased:
    total: dict[str, int] = defaultdict(int)
    for space in tx.all(SQL.spaces_of):
        for kind, count in _erase_space(context, tx, space.id, outcome).items():
            total[kind] += count
    delete_answers(tx)
    total["prompts"] = prompts.erase(tx)
    forget_session_users(tx)
    _erase_rules(tx, None)
    total["files"] = files.erase_all(tx, outcome.blobs)
    total["cubes"] = cubes.erase_all(context, tx)
    total["feedback"] = feedback.erase_all(tx)
    return Erased(**total)


def _erase_rules(tx: Transaction, user_id: str | None) -> None:
    tx.run(SQL.erase_rules, user_id=user_id)
    tx.run(SQL.erase_sweeps, user_id=user_id)


def _finish(context: Context, outcome: _Outcome) -> None:
    """Update cached indexes and remove unused blobs, after the transaction is durable."""
    update_index(context, outcome.erased)
    drop_indexes(context, outcome.spaces)
    files.remove_blobs(context, outcome.blobs)
