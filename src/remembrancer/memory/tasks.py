"""Open tasks: those that a session is shown, and what opens and ends them.

A turn with `task_done: false` opens the task of its session and names it; its event id is the id of
the task. Later ones of that session continue it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from ..accounts import require_write, space_user_id
from ..context import Caller, Context
from ..cubes.fit import share_words
from ..protocol.errors import NotFound
from ..protocol.limits import OPEN_TASK_DAYS, OPEN_TASKS_MAX
from ..protocol.notices import without_notices
from ..protocol.search import Hit, MemoryQuery, OpenTask
from ..protocol.text import DAY_MS, rfc3339
from ..protocol.trust import RANKS, TextSource
from ..store import Row, Transaction
from .spaces import SQL

TASK_CHARACTERS_MAX = 200  # of an open task's message
TASKS_READ_MAX = 100  # latest open tasks of a space that are considered
MESSAGES_READ_MAX = 50  # latest messages of a session that finishes a task
SHOWN_MAX = 2  # times that a session is shown a task
BEARS_MIN = 0.25  # score of a hit of the task's session from which a query bears on the task
ENDS = (
    "When an open task of another session (open_tasks) is finished, send task_done: true with its "
    "task_id."
)


class TaskUnknown(NotFound):
    """No open task of this user has this task_id: it has ended, or never was."""


def shown_tasks(
    context: Context,
    tx: Transaction,
    space: Row,
    query: MemoryQuery,
    hits: Sequence[Hit],
    *,
    counts: bool,
) -> list[OpenTask]:
    """Return the open tasks of other sessions that a search shows, latest turn first.

    `space` is the row of `search_space`. At the first search of a session these are all; then those
    from whose session a hit is likely to answer the query.
    """
    shown = (space.tasks_shown or "").split(",")
    is_start = counts and not space.step
    near = {hit.session_id for hit in hits if hit.score >= BEARS_MIN}
    tasks = [
        task
        for task in _open_tasks(context, tx, space.id, query.session_id, query.min_trust or "other")
        if (is_start or task.session_id in near)
        and not (counts and shown.count(task.task_id) >= SHOWN_MAX)
    ]
    return tasks[:OPEN_TASKS_MAX]


def note_tasks(tx: Transaction, session: int, tasks: Iterable[OpenTask]) -> str:
    """Record that a session was shown tasks; return a reminder how to end them."""
    tx.later(SQL.note_tasks, session=session, shown="".join(f",{one.task_id}" for one in tasks))
    return ENDS


def open_task(tx: Transaction, session: int, event_id: str, message: str) -> None:
    """Let a turn open the task of its session, unless one is open or nobody spoke in the turn."""
    if without_notices(message).strip():
        tx.later(SQL.open_task, session=session, event_id=event_id)


def end_tasks(
    context: Context,
    tx: Transaction,
    *,
    space_id: int,
    session: int,
    session_id: str,
    task_id: str | None,
    message: str,
) -> list[str]:
    """End the task of a session, and one that is named or those that its messages are about.

    `message` is the latest one of the session. Returns the ids of the tasks of other sessions.
    Raises TaskUnknown.
    """
    tasks = _open_tasks(context, tx, space_id, session_id)
    if task_id is not None:
        tasks = [task for task in tasks if task.task_id == task_id]
        if not tasks:
            raise TaskUnknown
    elif tasks:
        rows = tx.all(SQL.messages_of_session, session=session, most=MESSAGES_READ_MAX)
        messages = {without_notices(one) for one in (message, *(row.query for row in rows))}
        tasks = [task for task in tasks if any(share_words(task.query, one) for one in messages)]
    ids = [task.task_id for task in tasks]
    tx.later(SQL.end_tasks, space_id=space_id, session=session, task_ids=json.dumps(ids))
    return ids


def end_task_of_session(context: Context, caller: Caller, user_id: str, session_id: str) -> None:
    """End the task of a session, if one is open. Raises Forbidden, StoreUnavailable."""
    require_write(caller)
    place = {"user_id": space_user_id(caller, user_id), "session_id": session_id}
    context.store.write(
        lambda tx: tx.run(SQL.end_task_of_session, **place), account_id=caller.account_id
    )


def _open_tasks(
    context: Context,
    tx: Transaction,
    space_id: int,
    session_id: str,
    min_trust: TextSource = "other",
) -> list[OpenTask]:
    """Return the tasks of other sessions that did not rest too long, latest turn first."""
    now_ms = context.clock()
    rows = tx.all(
        SQL.open_tasks,
        space_id=space_id,
        session_id=session_id,
        since_ms=now_ms - OPEN_TASK_DAYS * DAY_MS,
        now_ms=now_ms,
        rank=RANKS[min_trust],
        most=TASKS_READ_MAX,
    )
    return [
        OpenTask(
            task_id=row.event_id,
            session_id=row.session_id,
            query=without_notices(row.query)[:TASK_CHARACTERS_MAX],
            opened_at=rfc3339(row.created_ms),
        )
        for row in rows
    ]
