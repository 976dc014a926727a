"""Erase: one turn, a session, a stretch of time, a user, or all that an account keeps. Rows go, and
what was derived from them with them.

L1s are words about turns: those that tell of what is erased go with it when a session, a time or a
user is forgotten. Maps are words about L1s, of all sessions together: once an L1 is gone, every
version goes, and the next one is made of the L1s that are left.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from ... import cubes, feedback
from ...accounts import prompts, require_write, space_user_id
from ...accounts.idempotency import IdempotentRequest, delete_answers, idempotent
from ...context import Caller, Context
from ...files import files
from ...protocol.errors import Conflict, Forbidden
from ...protocol.forget import Erased, EventErased, Forget, Forgotten
from ...protocol.text import rfc3339
from ...store import Row, Transaction, load_queries
from ..files.commands import erase_files
from ..spaces import SQL as SPACES
from ..spaces import milliseconds, number_of, row_id, space_of
from ..write.events import own_event

SQL = load_queries("remembrancer.memory.history", "forget.sql")
_ALWAYS_MS = (-(1 << 62), 1 << 62)


class NotConfirmed(Conflict):
    """A whole user's memory, or an account's, is erased only when its name is given a second time,
    in `confirm`.
    """

    def __init__(self, name: str) -> None:
        super().__init__(
            f"To erase all of it, send {name!r} in confirm as well. To see what that would be, send dry_run."
        )


class NotLatest(Conflict):
    """Only the latest turn of the same session can be replaced: a draft that the user never saw."""


class _DryRun(Exception):
    """Undoes the transaction that said what would be erased."""

    def __init__(self, told: str) -> None:
        self.told = told


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedEvents:
    """Events of a space that were erased, by their numbers, and the revision that this brought the
    space to.
    """

    space_id: int
    revision: int
    numbers: Sequence[int]


@dataclass(frozen=True, slots=True)
class Replacement:
    """The turn that takes the place of another: its id, its row, its session's row."""

    event_id: str
    row: int
    session: int


@dataclass(slots=True)
class _Done:
    """What an erasing came to, beside its counts: what is left to do once it is durable."""

    answer: str = ""
    blobs: list[str] = field(default_factory=list)
    gone: list[ErasedEvents] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseRange:
    """Which events of a space:

    rows from `low` to before `high`, of one session or any, occurred in a time.
    """

    space_id: int
    low: int
    high: int
    session: int | None = None
    after_ms: int = _ALWAYS_MS[0]
    before_ms: int = _ALWAYS_MS[1]

    @property
    def values(self) -> dict[str, int | None]:
        """For the statements."""
        span = {"low": self.low, "high": self.high, "session": self.session}
        return {**span, "after_ms": self.after_ms, "before_ms": self.before_ms}


def erase_event(
    context: Context,
    caller: Caller,
    event_id: str,
    given: IdempotentRequest | None = None,
    *,
    dry_run: bool = False,
) -> EventErased:
    """Erase one turn for good, or say what would go with it.

    Raises ReadOnly, EventUnknown, Conflict as `once`, StoreUnavailable.
    """
    require_write(caller)
    done = _Done()

    def write(tx: Transaction) -> None:
        if dry_run:
            raise _DryRun(_erase_one(context, tx, caller, event_id, _Done()))
        done.answer = idempotent(
            tx, given, context.clock(), lambda: _erase_one(context, tx, caller, event_id, done)
        )

    try:
        context.store.write(write, account_id=caller.account_id)
    except _DryRun as dry:
        return EventErased.model_validate_json(dry.told).model_copy(update={"erased": False})
    _settle(context, done)
    return EventErased.model_validate_json(done.answer)


def _erase_one(
    context: Context, tx: Transaction, caller: Caller, event_id: str, done: _Done
) -> str:
    row = own_event(tx, caller, event_id)
    which = EraseRange(space_id=space_of(row.id), low=row.id, high=row.id + 1)
    session = tx.one(SPACES.session_of, space_id=which.space_id, session_id=row.session_id).id
    told_in = [l1.l1_id for l1 in summaries_of_event(tx, session, [row.created_ms])]
    facts = tx.run(SQL.erase_facts, space_id=which.space_id, **which.values)
    done.gone = [_erase_turns(tx, which, tx.all(SQL.erased_events, **which.values))]
    delete_answers(tx, caller.account_id, event_id)
    return EventErased(
        erased=True, event_id=event_id, facts=facts, told_in=told_in, at=rfc3339(context.clock())
    ).model_dump_json()


def _erase_turns(tx: Transaction, which: EraseRange, rows: Sequence[Row]) -> ErasedEvents:
    """Erase turns, `rows` being all of them, and all that was derived from them, facts and L1s
    aside.
    """
    by_session: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        by_session[row.session].append(row.id)
    for session, ids in by_session.items():
        counts = tx.one(SQL.session_counts, session=session)
        latest = {
            one.id
            for one in tx.all(
                SQL.latest_turns, session=session, most=counts.turns - counts.turns_summarised
            )
        }
        summarised = counts.turns_summarised - sum(id_ not in latest for id_ in ids)
        tx.run(
            SQL.set_counts, session=session, turns=counts.turns - len(ids), summarised=summarised
        )
    tx.run(SQL.erase_shown, space_id=which.space_id, **which.values)
    tx.run(SQL.erase_looks, space_id=which.space_id, **which.values)
    tx.run(SQL.erase_search, space_id=which.space_id, numbers=[number_of(row.id) for row in rows])
    tx.run(SQL.erase_index, **which.values)
    tx.run(SQL.erase_events, **which.values)
    tx.run(SPACES.revise_space, space_id=which.space_id)
    revision = tx.one(SPACES.space_by_id, id=which.space_id).revision
    return ErasedEvents(
        space_id=which.space_id, revision=revision, numbers=[number_of(row.id) for row in rows]
    )


def replace_turn(tx: Transaction, caller: Caller, event_id: str, by: Replacement) -> ErasedEvents:
    """Erase the turn that was its session's latest before another took its place; what came with it
    came with the other.

    Raises EventUnknown, NotLatest.
    """
    old = own_event(tx, caller, event_id)
    latest = [
        row.id for row in tx.all(SQL.latest_turns, session=by.session, most=2) if row.id != by.row
    ]
    if old.id not in latest[:1]:
        raise NotLatest
    space_id = space_of(old.id)
    counts = tx.one(SQL.session_counts, session=by.session)
    is_summarised = (
        counts.turns - counts.turns_summarised < 2
    )  # the two latest are the other and this one
    tx.run(SQL.move_looks, session=by.session, old=old.id, new=by.row)
    tx.run(SQL.move_facts, space_id=space_id, old=old.id, new=by.row)
    cubes.move_evidence(tx, caller.account_id, event_id, by.event_id)
    which = EraseRange(space_id=space_id, low=old.id, high=old.id + 1)
    gone = _erase_turns(tx, which, tx.all(SQL.erased_events, **which.values))
    if is_summarised:
        left = tx.one(SQL.session_counts, session=by.session)
        tx.run(SQL.set_counts, session=by.session, turns=left.turns, summarised=left.turns)
    delete_answers(tx, caller.account_id, event_id)
    return gone


def summaries_of_event(tx: Transaction, session: int, times_ms: Sequence[int]) -> list[Row]:
    """The L1s of a session that tell of turns kept at these times:

    each tells of those since the one before it.
    """
    l1s = tx.all(SQL.l1s_of, session=session)
    until = [l1.created_ms for l1 in l1s]
    places = sorted({bisect_left(until, time) for time in times_ms})
    return [l1s[place] for place in places if place < len(l1s)]


def forget(
    context: Context, caller: Caller, asked: Forget, given: IdempotentRequest | None = None
) -> Forgotten:
    """Erase what is asked for, or say what that would be. Durable when it returns.

    Raises ReadOnly, Pinned, Forbidden, NotConfirmed, Conflict as `once`, StoreUnavailable.
    """
    require_write(caller)
    user_id = None if asked.account else space_user_id(caller, asked.user_id)
    if asked.account and caller.pinned_user_id is not None:
        raise Forbidden(
            "This key is pinned to one user; only a key of the whole account erases the account."
        )
    name = caller.account_name if user_id is None else user_id
    if not asked.dry_run and not asked.is_narrowed and asked.confirm != name:
        raise NotConfirmed(name)
    done = _Done()

    def make(tx: Transaction) -> str:
        counts = (
            _forget_account(context, tx, caller, done)
            if user_id is None
            else _forget_user(context, tx, caller, user_id, asked, done)
        )
        return Forgotten(
            erased=not asked.dry_run, counts=counts, at=rfc3339(context.clock())
        ).model_dump_json()

    def write(tx: Transaction) -> None:
        done.blobs.clear()
        if asked.dry_run:
            raise _DryRun(make(tx))
        done.answer = idempotent(tx, given, context.clock(), lambda: make(tx))

    try:
        context.store.write(write, account_id=caller.account_id)
    except _DryRun as dry:
        return Forgotten.model_validate_json(dry.told)
    _settle(context, done)
    return Forgotten.model_validate_json(done.answer)


def _forget_user(
    context: Context, tx: Transaction, caller: Caller, user_id: str, asked: Forget, done: _Done
) -> Erased:
    space = tx.one_or_none(SPACES.space_of, account_id=caller.account_id, user_id=user_id)
    counts = {"prompts": 0, "files": 0}
    if not asked.is_narrowed:
        counts["prompts"] = prompts.erase(tx, caller.account_id, user_id)
        counts["files"] = files.erase_all(tx, caller.account_id, done.blobs, pinned_to=user_id)
    if space is None:
        return Erased(**counts)
    delete_answers(tx, caller.account_id)
    if asked.path is not None:
        return Erased(memory_files=erase_files(tx, space.id, asked.path))
    if not asked.is_narrowed:
        return Erased(**counts, **_bury(context, tx, space.id))
    session = None
    if asked.session_id is not None:
        found = tx.one_or_none(SPACES.session_of, space_id=space.id, session_id=asked.session_id)
        if found is None:
            return Erased()
        session = found.id
    which = EraseRange(
        space_id=space.id,
        low=row_id(space.id, 0),
        high=row_id(space.id, space.events_made),
        session=session,
        after_ms=milliseconds(asked.after, _ALWAYS_MS[0]),
        before_ms=milliseconds(asked.before, _ALWAYS_MS[1]),
    )
    whole = asked.after is None and asked.before is None
    return Erased(**_forget_range(tx, which, done, whole_session=session if whole else None))


def _forget_range(
    tx: Transaction, which: EraseRange, done: _Done, *, whole_session: int | None
) -> dict[str, int]:
    """Erase turns with their facts and L1s, and a whole session besides."""
    times: dict[int, list[int]] = defaultdict(list)
    turns = tx.all(SQL.erased_events, **which.values)
    for row in turns:
        times[row.session].append(row.created_ms)
    facts = tx.run(SQL.erase_facts, space_id=which.space_id, **which.values)
    gone = _erase_turns(tx, which, turns)
    done.gone = [gone]
    if whole_session is None:
        l1s = [l1.id for session, of in times.items() for l1 in summaries_of_event(tx, session, of)]
    else:
        l1s = [l1.id for l1 in tx.all(SQL.l1s_of, session=whole_session)]
        facts += tx.run(SQL.erase_facts_of_session, space_id=which.space_id, session=whole_session)
    counts = {
        "events": len(gone.numbers),
        "facts": facts,
        **_erase_l1s(tx, which.space_id, l1s),
        "sessions": 0,
    }
    if whole_session is not None:
        _erase_session(tx, whole_session)
        counts["sessions"] = 1
    return counts


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


def _bury(context: Context, tx: Transaction, space_id: int) -> dict[str, int]:
    """Erase a whole space.

    Its row stays without its name: a number that is given again would find an old index of that
    number.
    """
    space = tx.one(SPACES.space_by_id, id=space_id)
    which = EraseRange(
        space_id=space_id, low=row_id(space_id, 0), high=row_id(space_id, space.events_made)
    )
    tx.run(SQL.erase_search_of_space, space_id=space_id)
    tx.run(SQL.erase_index, **which.values)
    sessions = [row.id for row in tx.all(SQL.sessions_in, space_id=space_id)]
    counts = {"events": 0, "facts": 0, "summaries": 0, "sessions": len(sessions)}
    for session in sessions:
        counts["facts"] += tx.run(SQL.erase_facts_of_session, space_id=space_id, session=session)
        for l1 in tx.all(SQL.l1s_of, session=session):
            counts["summaries"] += tx.run(SQL.erase_l1, id=l1.id)
    counts["maps"] = tx.run(SQL.erase_maps, space_id=space_id)
    tx.run(SQL.erase_shown, space_id=space_id, **which.values)
    counts["events"] = tx.run(SQL.erase_events, **which.values)
    for session in sessions:
        _erase_session(tx, session)
    tx.run(SQL.erase_origins, space_id=space_id)
    counts["memory_files"] = erase_files(tx, space_id)
    tx.run(SQL.bury_space, space_id=space_id, tombstone=context.ids("erased_"))
    return counts


def _forget_account(context: Context, tx: Transaction, caller: Caller, done: _Done) -> Erased:
    total: dict[str, int] = defaultdict(int)
    for space in tx.all(SQL.spaces_of, account_id=caller.account_id):
        for what, count in _bury(context, tx, space.id).items():
            total[what] += count
    delete_answers(tx, caller.account_id)
    total["prompts"] = prompts.erase(tx, caller.account_id)
    total["files"] = files.erase_all(tx, caller.account_id, done.blobs)
    total["cubes"] = cubes.erase_all(tx, caller.account_id)
    total["feedback"] = feedback.erase_all(tx, caller.account_id)
    return Erased(**total)


def _settle(context: Context, done: _Done) -> None:
    """What is done once it is durable:

    indexes in memory forget what is gone, and contents that no file has are removed.
    """
    for gone in done.gone:
        context.index_cache.erase(gone.space_id, gone.numbers, revision=gone.revision)
    files.remove_blobs(context, done.blobs)
