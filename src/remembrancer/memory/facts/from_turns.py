"""Store the standing instructions and preferences that a user states in a turn."""

from __future__ import annotations

from ...context import Context
from ...store import Transaction
from ..instructions import instructions_in
from ..layers import layer_entry
from .write import NewFact, store_fact

INSTRUCTIONS_MAX = 5  # of one message


def store_instructions(
    context: Context,
    tx: Transaction,
    *,
    space_id: int,
    session: int,
    event: int,
    message: str,
    occurred_ms: int,
) -> None:
    """Store the instructions in a user's message as facts with the turn as their source.

    `session` and `event` are row ids. They are embedded within the transaction, because few
    messages have any.
    """
    for instruction in instructions_in(message)[:INSTRUCTIONS_MAX]:
        fact = NewFact(
            text=instruction.text,
            entry=layer_entry(context, instruction.text),
            valid_from_ms=min(occurred_ms, context.clock()),
            session=session,
            event=event,
            instruction=instruction,
        )
        store_fact(context, tx, None, space_id, fact)
