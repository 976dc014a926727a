"""Saving turns in memory: at once, later, or queued until the service is available again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from ...protocol.cubes import CubeMade
from ...protocol.memory import Remembered, Turn
from ..errors import (
    ConflictError,
    InternalError,
    NotFoundError,
    TooManyRequestsError,
    UnavailableError,
    UnreachableError,
)
from .lines import remember_body
from .state import DraftAttempt, Progress, TurnState, call

UNSAVED_MAX = 100  # turns that wait until the service is available again
NOTE_NOT_SAVED = "This turn could not be remembered."
NOTE_SAVED_LATER = "This turn will be remembered when memory is available again."
# Errors that a later attempt may not meet.
TRANSIENT = (UnreachableError, UnavailableError, TooManyRequestsError, InternalError)

Continue: TypeAlias = Callable[[TurnState], Progress]  # what follows


def save_late(turn: TurnState, then: Continue) -> Progress:
    """Save the oldest turn that could not be saved earlier, if any."""
    if not turn.session.unsaved:
        return then(turn)
    body, key = turn.session.unsaved[0]
    return call(turn, "remember", body, partial(_after_late_save, then), key)


def _after_late_save(then: Continue, turn: TurnState, answer: Remembered | None) -> Progress:
    if answer is None:
        error = turn.failures.pop()
        if isinstance(error, TRANSIENT):
            return then(turn)
        # A conflict means that the first request did arrive under this key.
        if not isinstance(error, ConflictError):
            body, _ = turn.session.unsaved.pop(0)
            turn.remarks.append(f"A turn of {body.occurred_at} could not be remembered: {error}")
            return save_late(turn, then)
    turn.counts.turns_saved_late += 1
    del turn.session.unsaved[0]
    return save_late(turn, then)


@dataclass(frozen=True, slots=True)
class _Save:
    """One request to save a draft, and what follows it."""

    attempt: DraftAttempt
    body: Turn
    key: str
    parts_before: set[str]
    then: Continue


def remember(turn: TurnState, attempt: DraftAttempt, then: Continue) -> Progress:
    """Save a draft, in place of an earlier draft of this turn, then continue with `then`."""
    parts_before = set(turn.sent_parts)
    body = remember_body(turn, attempt.lines)
    save = _Save(attempt, body, turn.session.new_key(), parts_before, then)
    replacing = body.model_copy(update={"replaces": turn.event_id})
    return call(turn, "remember", replacing, partial(_after_remember, save), save.key)


def _after_remember(save: _Save, turn: TurnState, answer: Remembered | None) -> Progress:
    if answer is None and turn.event_id:
        error = turn.failures[-1]
        if isinstance(error, ConflictError | NotFoundError):  # another event was saved in between
            turn.failures.pop()
            save = replace(save, key=turn.session.new_key())
            return call(turn, "remember", save.body, partial(_end_save, save), save.key)
    return _end_save(save, turn, answer)


def _end_save(save: _Save, turn: TurnState, answer: Remembered | None) -> Progress:
    if answer is None:
        if not turn.is_saved:  # otherwise an earlier draft is saved
            _report_unsaved(turn, save)
        turn.sent_parts = save.parts_before
    else:
        _record_save(turn, save, answer)
    return save.then(turn)


def _record_save(turn: TurnState, save: _Save, answer: Remembered) -> None:
    session, counts, body = turn.session, turn.counts, save.body
    if not turn.is_saved:
        turn.is_saved = True
        counts.turns_saved += 1
        session.turns_saved += 1
        _forget_postponed(turn)
        turn.notes.clear()
    save.attempt.is_saved = True
    save.attempt.event_id = turn.event_id = answer.event_id
    session.l1_due, session.l2_due = answer.l1_due, answer.l2_due
    if body.l1_summary is not None:
        session.characters_since_l1 = 0
    counts.summaries_written += (body.l1_summary is not None) + (body.l2_map is not None)
    if not body.has_cube:
        return
    if isinstance(answer.cube, CubeMade):
        counts.cubes_made += 1
        session.last_cube_turn = session.turns_saved
    else:
        counts.cubes_refused += 1
        turn.report(f"The cube was not made: {answer.cube}")


def _report_unsaved(turn: TurnState, save: _Save) -> None:
    error = turn.failures[-1]
    turn.remarks.append(f"The turn was not remembered: {error}")
    if isinstance(error, TRANSIENT):
        turn.notes[:] = [NOTE_SAVED_LATER]
        postpone(turn, save.body, save.key)
    else:
        turn.notes[:] = [NOTE_NOT_SAVED]


def postpone(turn: TurnState, body: Turn, key: str) -> None:
    """Queue a turn until the service is available again. The oldest are dropped at the limit."""
    unsaved = turn.session.unsaved
    _forget_postponed(turn)
    turn.postponed_keys.add(key)
    unsaved.append((body.model_copy(update={"occurred_at": turn.session.now()}), key))
    while len(unsaved) > UNSAVED_MAX:
        dropped, _ = unsaved.pop(0)
        turn.remarks.append(
            f"More than {UNSAVED_MAX} turns wait for memory; that of {dropped.occurred_at} is "
            "given up."
        )


def _forget_postponed(turn: TurnState) -> None:
    """Remove earlier drafts of this turn from the queue."""
    unsaved = turn.session.unsaved
    unsaved[:] = [entry for entry in unsaved if entry[1] not in turn.postponed_keys]
