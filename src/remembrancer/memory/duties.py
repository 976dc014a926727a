"""Duties: count a search as a turn of its session, and report what the session owes.

The first half is pure: rules over counts, without store or clock. `docs/reference/duties.md` lists
every rule.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

from ..accounts import name_session_user, records_user, user_reminder
from ..context import Caller, Context
from ..cubes import record_exposures, settle
from ..protocol.limits import L2_SOURCE_CHARACTERS_MAX, TURNS_PER_CUBE_MIN
from ..protocol.seal import Seal, read_seal, render
from ..protocol.search import L2Source, MemoryAnswer, MemoryQuery, UnmappedL1
from ..store import Row, Transaction, load_queries
from .facts.life import note_uses
from .spaces import SQL
from .tasks import note_tasks

SEARCH_SQL = load_queries("remembrancer.memory", "searches.sql")
L1_TURNS = 15  # an L1 is due about every 15 turns of a session
L2_SUMMARIES = 10  # an L2 is due after 10 L1s


def turns_owing_l1(session: Row) -> int:
    """Return the turns of a session without an L1 that take part in the protocol.

    Erased turns are not among them.
    """
    return int(min(session.turns_without_l1, session.turns - session.turns_summarised))


def is_l1_due(turns_without_l1: int) -> bool:
    """Return True if a session with this many turns since its last L1 needs its next one."""
    return turns_without_l1 >= L1_TURNS


def is_l2_due(l1_count: int, l1_mapped: int) -> bool:
    """Return True if a space with this many L1s needs a new map."""
    return l1_count - l1_mapped >= L2_SUMMARIES


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCounts:
    """The state of a session before an interacting search is counted."""

    step: int  # of the last counted search; 0 = none
    space_id: int | None = None
    remembered_step: int = 0  # step at which a turn was last remembered
    turns: int = 0
    turns_without_l1: int = 0  # that take part in the protocol
    l1_count: int = 0
    l1_mapped: int = 0
    turns_without_cube: int = 0  # since a cube or cube_nothing; at most TURNS_PER_CUBE_MIN
    is_look_due: bool = False  # the latest turn cites events and had no second look
    unrated: tuple[str, ...] = ()  # cubes shown as new by earlier searches of the session
    last_seal: str | None = None  # of the request
    seals: bool = True  # False: the client writes no seals
    seal_name: str = "REM"

    @property
    def seal(self) -> Seal | None:
        """The seal of the request, if one was expected and it is well-formed."""
        lines = (self.last_seal or "").rstrip().rsplit("\n", 1)  # of a whole reply, too
        return read_seal(lines[-1].strip()) if self.step else None


def _reminders(s: SessionCounts) -> dict[str, str]:
    """Return what is due without blocking: what the answer says, by a word for the records."""
    reminders = {}
    seal, has_seal = render(s.step, s.seal_name), bool((s.last_seal or "").strip())
    if s.step > 0 and not has_seal and s.seals:
        reminders["seal_missing"] = (
            "Seal every reply and send the seal with the next search as last_seal. "
            f"The last seal was `{seal}`."
        )
    if s.step > 0 and has_seal and s.seal is None:
        reminders["seal_malformed"] = (
            f"last_seal is not a seal. It should have been `{seal}`, on a line of its own."
        )
    if s.unrated:
        reminders["cubes_unrated"] = (
            f"Rate {', '.join(s.unrated)} with POST /api/v7/experience/vote. To rate all of them "
            '0, send POST /api/v7/remember with duty "vote_nothing" and a duty_reason.'
        )
    if s.is_look_due:
        reminders["look_due"] = (
            "The last reply cites events and had no second look. Check each draft that cites "
            "memory with POST /api/v7/agent/second-look before you show it."
        )
    if s.turns_without_cube >= TURNS_PER_CUBE_MIN:
        reminders["cube_due"] = (
            f"A cube is due: the last {s.turns_without_cube} turns brought none. Send the cube_* "
            "fields with the next remember if something learned changes later answers, else duty "
            '"cube_nothing" with a duty_reason.'
        )
    if s.turns_without_l1 >= L1_TURNS:
        reminders["l1_due"] = (
            f"An L1 is due: {s.turns_without_l1} turns are not summarised. Send "
            "l1_summary with the next remember: what was done, what was decided, the outcome, "
            "in 5-8 % of the length of the turns."
        )
    if s.l1_count - s.l1_mapped >= L2_SUMMARIES:
        reminders["l2_due"] = (
            f"An L2 is due: {s.l1_count - s.l1_mapped} L1s are not in the map. Send l2_map with "
            "the next remember: headlines over the map and the L1s in l2_source, in about 5 % of "
            "their length. Or call POST /api/v7/memory/map."
        )
    return reminders


class DutyReport(NamedTuple):
    """The duties of a session, as the answer reports them."""

    duty_error: str | None
    reminders: list[str]
    # Those that apply and those that were not due, to store and count for compliance.
    words: str
    l2_source: L2Source | None = None  # if an L2 is due


def check_duties(counts: SessionCounts) -> DutyReport:
    """Return what a session owes. Duties never withhold hits; they are reported beside them."""
    errors, reminders, seal = {}, _reminders(counts), counts.seal
    expected = f"The seal should have been `{render(counts.step, counts.seal_name)}`."
    # Hooks and tools search; whether they also remember shows in the session's first turn.
    if counts.remembered_step < counts.step and (counts.seals or counts.turns):
        errors["turn_not_remembered"] = (
            f"No turn was remembered since step {counts.remembered_step + 1}. Send it now with "
            "POST /api/v7/remember. For searches that are not turns, send interact: false."
        )
    if seal is not None and seal.name != counts.seal_name:
        errors["seal_name"] = (
            f"The last reply was sealed with the name of another service. {expected}"
        )
    elif seal is not None and seal.step != counts.step:
        errors["seal_step"] = f"The last reply was sealed with the wrong step. {expected}"
    words = [*errors, *reminders]
    if counts.step > 0 and not counts.seals and not (counts.last_seal or "").strip():
        words.append("sealless")
    if counts.remembered_step < counts.step and not (counts.seals or counts.turns):
        words.append("turnless")
    return DutyReport(" ".join(errors.values()) or None, list(reminders.values()), ",".join(words))


def search_space(
    tx: Transaction, user_id: str, session_id: str, *, counts: bool = False
) -> Row | None:
    """Return the row of a space with the state of a session; None if there is no such space.

    `counts`: also with what is due in the session, for `count_search`.
    """
    return tx.one_or_none(
        SEARCH_SQL.search_space,
        user_id=user_id,
        session_id=session_id,
        counts=int(counts),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchToRecord:
    """A search to be recorded, and the state of its session in its snapshot.

    `space` is the row of `search_space`, None for a new space. `answer` is what the search will
    show.
    """

    user_id: str
    query: MemoryQuery
    space: Row | None
    answer: MemoryAnswer
    ms: float  # that the search took


def count_search(
    context: Context, caller: Caller, search: SearchToRecord
) -> tuple[int, DutyReport]:
    """Count one more step of a session. Return it, and what was owed before it.

    How the turns before ended is decided, too. Raises StoreUnavailable.
    """
    user_id, query, answer = search.user_id, search.query, search.answer
    before = _session_counts(context, query, search.space)
    duties, now_ms, is_named = check_duties(before), context.clock(), records_user(caller)
    texts = [text for hit in answer.hits for text in (hit.query, hit.response)]
    texts += [fact.text for fact in answer.facts]
    texts += [wish.text for wish in answer.instructions]
    texts += [summary.text for summary in answer.summaries]
    shows_more = answer.shared_cubes or answer.facts or answer.open_tasks
    has_more = shows_more or is_l2_due(before.l1_count, before.l1_mapped)

    def count(tx: Transaction) -> tuple[Row, DutyReport]:
        row = (tx.one if has_more else tx.last)(
            SEARCH_SQL.count_search,
            user_id=user_id,
            session_id=query.session_id,
            now_ms=now_ms,
            hits=len(answer.hits),
            cubes=len(answer.shared_cubes),
            owed=duties.words,
            key_id=caller.key_id,
            event_ids=json.dumps(citable_events(answer)),
            names=int(is_named),
            answerable=answer.answerable,
            ms=search.ms,
            characters=len("".join(texts)),
            got=json.dumps([[hit.event_id, hit.score] for hit in answer.hits]),
        )
        return row, _record_shown(context, tx, search, row, before, now_ms) if has_more else duties

    # Not flushed to disk, so that no search waits for it: after a power cut, a session may count
    # its last searches again.
    write = partial(context.store.write, account_id=caller.account_id, flush=False)
    row, duties = write(count)
    if not has_more and (row.is_unsettled or row.step != before.step + 1):
        duties = write(lambda tx: _record_shown(context, tx, search, row, before, now_ms))
    if is_named and (reminder := user_reminder(row, user_id, query.session_id, now_ms)):
        duties = _reminding(duties, reminder)
    return row.step, duties


def _record_shown(
    context: Context,
    tx: Transaction,
    search: SearchToRecord,
    row: Row,
    before: SessionCounts,
    now_ms: int,
) -> DutyReport:
    """Record what a counted search shows, and return what was owed before it.

    `row` is that of `count_search`, `before` the state of the session in the search's snapshot.
    """
    query, answer = search.query, search.answer
    session, step, counts = row.session, row.step, before
    if step != counts.step + 1:  # another search of the session was counted meanwhile
        space = search_space(tx, search.user_id, query.session_id, counts=True)
        counts = replace(_session_counts(context, query, space), step=step - 1)
    duties = check_duties(counts)
    if counts is not before:
        tx.later(SEARCH_SQL.set_owed, session=session, step=step, owed=duties.words)
    if row.is_unsettled:
        settle(tx, session=session, before_step=step, message=query.query_text, now_ms=now_ms)
    if cubes := answer.shared_cubes:
        record_exposures(tx, session=session, step=step, cubes=cubes, now_ms=now_ms)
    if answer.facts:
        note_uses(tx, [fact.fact_id for fact in answer.facts], now_ms)
    if is_l2_due(counts.l1_count, counts.l1_mapped):
        duties = duties._replace(l2_source=_l2_source(tx, counts))
    if answer.open_tasks:
        duties = _reminding(duties, note_tasks(tx, session, answer.open_tasks))
    return duties


def _reminding(duties: DutyReport, reminder: str) -> DutyReport:
    return duties._replace(reminders=[*duties.reminders, reminder])


def _session_counts(context: Context, query: MemoryQuery, space: Row | None) -> SessionCounts:
    """Return the state of a session; `space` is the row of `search_space`."""
    request: dict[str, Any] = {
        "last_seal": query.last_seal,
        "seals": query.seals,
        "seal_name": context.settings.seal_name,
    }
    if space is None:
        return SessionCounts(step=0, **request)
    maps = {"space_id": space.id, "l1_count": space.l1_count, "l1_mapped": space.l1_mapped}
    if space.session is None:
        return SessionCounts(step=0, **maps, **request)
    return SessionCounts(
        step=space.step,
        remembered_step=space.remembered_step,
        turns=space.turns,
        turns_without_l1=turns_owing_l1(space),
        turns_without_cube=min(
            space.turns - (space.cube_turn or 0), space.turns_without_cube, TURNS_PER_CUBE_MIN
        ),
        is_look_due=bool(space.is_look_due),
        unrated=tuple(space.unrated.split(",")) if space.unrated else (),
        **maps,
        **request,
    )


def _l2_source(tx: Transaction, counts: SessionCounts) -> L2Source:
    """Return the map and the L1s that are not in it, as many as fit the limit."""
    rows = tx.all(SEARCH_SQL.unmapped, space_id=counts.space_id, mapped=counts.l1_mapped)
    totals = accumulate(len(row.text) for row in rows)
    summaries = [
        UnmappedL1(l1_id=row.l1_id, session_id=row.session_id, text=row.text)
        for row, total in zip(rows, totals, strict=True)
        if total <= L2_SOURCE_CHARACTERS_MAX
    ]
    return L2Source(
        map_text=rows[0].map_text if rows else None,
        summaries=summaries,
        left_out=len(rows) - len(summaries),
    )


def record_hits(tx: Transaction, *, session: int, step: int, answer: MemoryAnswer) -> None:
    """Record that a session was shown the events of an answer and may cite them.

    They are the hits, and the turns that facts and instructions came with. `session` is a row id.
    """
    event_ids = citable_events(answer)
    if event_ids:
        tx.later(SQL.note_hits, session=session, step=step, event_ids=json.dumps(event_ids))


def citable_events(answer: MemoryAnswer) -> list[str]:
    """Return the ids of the events that an answer shows or names as a source."""
    ids = [
        *(hit.event_id for hit in answer.hits),
        *(fact.event_id for fact in answer.facts),
        *(one.event_id for one in answer.instructions),
    ]
    return list(dict.fromkeys(event_id for event_id in ids if event_id))


def record_read(
    context: Context, caller: Caller, search: SearchToRecord, *, may_cite: bool
) -> None:
    """Record the user and the hits of a search that counts no step.

    The hits are recorded if the search `may_cite` them, for a session that exists, so that a second
    question within a turn may be cited. Raises StoreUnavailable.
    """
    space = search.space

    def record(tx: Transaction) -> None:
        query = search.query
        name_session_user(tx, caller, search.user_id, query.session_id, context.clock())
        if space is not None and space.session is not None and may_cite:
            record_hits(tx, session=space.session, step=space.step, answer=search.answer)

    context.store.write(record, account_id=caller.account_id, flush=False)
