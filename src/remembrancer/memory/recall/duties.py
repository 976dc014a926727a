"""Count a search as a turn of its session, and tell what the session owes (rules.py)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...context import Caller, Context
from ...cubes import record_exposure, unrated_cubes
from ...protocol.limits import OPEN_TASKS_MAX
from ...protocol.memory import Hit, MemoryAnswer, MemoryQuery, OpenTask
from ...protocol.text import rfc3339
from ...store import Transaction
from ..rules import DutyReport, SessionCounts, check_duties, duty_words
from ..spaces import SQL

TASK_CHARACTERS_MAX = 200  # of a task's message that is shown


def count_search(
    context: Context, caller: Caller, user_id: str, query: MemoryQuery, found: MemoryAnswer
) -> tuple[int, DutyReport]:
    """Count one more step of the query's session; gives it, and what was owed before it. `found` is
    what it will show.

    Raises StoreUnavailable.
    """

    def count(tx: Transaction) -> tuple[int, DutyReport]:
        now_ms = context.clock()
        space = tx.one(SQL.open_space, account_id=caller.account_id, user_id=user_id, now_ms=now_ms)
        session = tx.one(
            SQL.open_session, space_id=space.id, session_id=query.session_id, now_ms=now_ms
        )
        step = int(session.step) + 1
        standing = SessionCounts(
            step=session.step,
            remembered_step=session.remembered_step,
            turns=session.turns,
            turns_summarised=session.turns_summarised,
            l1_count=space.l1_count,
            l1_mapped=space.l1_mapped,
            unrated=tuple(
                unrated_cubes(
                    tx, account_id=caller.account_id, session=session.id, before_step=step
                )
            ),
            last_seal=query.last_seal,
            seal_name=context.settings.seal_name,
        )
        tx.run(SQL.next_step, session=session.id)
        shown = {"hits": len(found.hits), "cubes": len(found.shared_cubes), "key_id": caller.key_id}
        tx.run(
            SQL.note_step,
            session=session.id,
            step=step,
            asked_ms=now_ms,
            owed=",".join(duty_words(standing)),
            **shown,
        )
        record_exposure(tx, session=session.id, step=step, cubes=found.shared_cubes)
        record_hits(tx, session=session.id, step=step, hits=found.hits)
        return step, check_duties(standing)

    # Not flushed to disk: after a power cut a session may count a few searches again, and no search
    # waits for the disk.
    return context.store.write(count, account_id=caller.account_id, flush=False)


def record_hits(tx: Transaction, *, session: int, step: int, hits: Sequence[Hit]) -> None:
    """Remember that a session was shown these events, so that it may cite them.

    `session` is a row id.
    """
    if hits:
        tx.run(
            SQL.note_hits,
            session=session,
            step=step,
            event_ids=json.dumps([hit.event_id for hit in hits]),
        )


def record_read(
    context: Context, caller: Caller, user_id: str, query: MemoryQuery, found: MemoryAnswer
) -> None:
    """Note what a search that counts no step showed to a session that is there already: a second
    question of a turn may be cited.

    Raises StoreUnavailable.
    """

    def note(tx: Transaction) -> None:
        space = tx.one_or_none(SQL.space_of, account_id=caller.account_id, user_id=user_id)
        session = space and tx.one_or_none(
            SQL.session_of, space_id=space.id, session_id=query.session_id
        )
        if session:
            record_hits(tx, session=session.id, step=session.step, hits=found.hits)

    context.store.write(note, account_id=caller.account_id, flush=False)


def open_tasks(tx: Transaction, space_id: int, session_id: str) -> list[OpenTask]:
    """Other sessions of the space whose latest remembered turn did not say that its task is done,
    newest first.
    """
    return [
        OpenTask(
            session_id=row.session_id,
            topic=row.topic,
            query=row.query[:TASK_CHARACTERS_MAX],
            turns=row.turns,
            last_turn_at=rfc3339(row.last_turn_ms),
        )
        for row in tx.all(
            SQL.open_tasks, space_id=space_id, session_id=session_id, most=OPEN_TASKS_MAX
        )
    ]
