"""Remember a turn."""

from __future__ import annotations

from ..accounts.once import Once
from ..context import Caller, Context
from ..protocol.memory import Remembered, Turn
from .keep import Kept, Place, keep_once


def remember(context: Context, caller: Caller, turn: Turn, given: Once | None = None) -> Remembered:
    """Keep a turn. The answer says `saved` only after it is durable; the very next search finds it. Raises as `keep_once`."""

    def answer(kept: Kept) -> str:
        return Remembered(saved=True, event_id=kept.event_id, step=kept.step).model_dump_json()

    place = Place(user_id=turn.user_id, session_id=turn.session_id)
    return Remembered.model_validate_json(keep_once(context, caller, place, turn, given, answer))
