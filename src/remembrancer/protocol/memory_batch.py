"""Messages of a batch of turns."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from . import limits
from .memory import Expires, TurnText
from .message import ABSENT_IF_NONE, Body, Id, InTeam, Message, Saved, example
from .search import EventId


class BatchTurn(TurnText):
    """One turn of a batch."""

    model_config = example({"query": "Tea?", "response": "Green."})

    user_id: Annotated[
        Id | None, Field(description="User whose memory to use. Default: that of the batch.")
    ] = None
    session_id: Annotated[
        Id | None, Field(description="Session of the turn. Default: that of the batch.")
    ] = None
    expires_at: Expires = None


class TurnBatch(Body):
    """Body of `POST /api/v7/memory/batch`: turns to store together, the oldest first."""

    model_config = example(
        {
            "user_id": "ada",
            "session_id": "garden",
            "turns": [
                {
                    "query": "How deep do I plant garlic?",
                    "response": "About 5 cm, tip up.",
                    "occurred_at": "2025-10-12T16:20:00Z",
                },
                {"query": "And how far apart?", "response": "15 cm within the row."},
            ],
        }
    )

    turns: Annotated[
        list[BatchTurn],
        Field(
            min_length=1,
            max_length=limits.BATCH_TURNS_MAX,
            description="Turns in the order in which they were said.",
        ),
    ]
    user_id: Annotated[
        Id | None,
        Field(
            description="User of the turns that name none. Default: the key's pin, else the "
            "user_id that this key last named with the session, else the account's name."
        ),
    ] = None
    session_id: Annotated[Id, Field(description="Session of the turns that name none.")] = "default"
    team: InTeam = None

    def session_of(self, turn: BatchTurn) -> str:
        """Return the session of one of the turns."""
        return turn.session_id or self.session_id

    def named_session_of(self, turn: BatchTurn) -> str | None:
        """Return the session that the request names for one of the turns, or None."""
        return turn.session_id or self.named_session


class BatchReceipt(Message):
    """The outcome of one turn of a batch."""

    event_id: EventId
    user_id: Annotated[str, Field(description="User whose memory it was stored in.")]
    detail: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Notes on storing the turn, if any."),
    ] = None


class BatchWritten(Message):
    """Answer of `POST /api/v7/memory/batch`."""

    saved: Saved
    receipts: Annotated[
        list[BatchReceipt], Field(description="One receipt per turn, in the order of the request.")
    ]
