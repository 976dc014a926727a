"""Messages of an import: records of other products' data, and of our own JSON lines."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field, model_validator

from . import limits
from .facts import FactText
from .filters import OfTurn
from .memory import TurnText
from .message import Body, Id, Message, Misfit, Saved
from .text import Moment

Origin: TypeAlias = Annotated[
    Id | None,
    Field(
        description="Identifier in its source. A record whose identifier is stored is not stored "
        "again. Default: derived from the content.",
    ),
]


class ImportTurn(TurnText):
    """A turn to import. Its `source` is `import` by default.

    Example: {"id": "chat-7/1", "query": "Tea?", "response": "Green."}
    """

    id: Origin = None
    is_unique: bool = False
    """True: only this turn has the id, also if it is sent with other words. Default: a turn with
    another session or text than the stored one is another turn."""
    user_id: Id | None = None
    """User whose memory to use. Default: the key's pin, else the account's name."""
    session_id: Id = "default"
    """Session of the turn."""

    @property
    def text_bytes(self) -> int:
        """The size of both sides in UTF-8."""
        return len(self.query.encode()) + len(self.response.encode())

    @model_validator(mode="after")
    def _within_bounds(self) -> ImportTurn:
        if self.text_bytes > limits.BODY_BYTES_MAX:
            raise ValueError(
                f"the turn has {self.text_bytes:,} bytes; at most {limits.BODY_BYTES_MAX:,} are "
                "stored"
            )
        return self


class ImportFact(Body):
    """A fact to import.

    Example: {"id": "7e1c", "text": "Prefers a window seat"}
    """

    text: FactText
    """The fact, as one statement."""
    id: Origin = None
    user_id: Id | None = None
    """User whose memory to use. Default: the key's pin, else the account's name."""
    valid_from: Moment | None = None
    """Since when it holds (RFC 3339). Default: now."""
    valid_to: Moment | None = None
    """Until when it holds (RFC 3339). Default: it still does."""
    metadata: OfTurn = None

    @model_validator(mode="after")
    def _begins_first(self) -> ImportFact:
        if self.valid_from and self.valid_to and self.valid_to <= self.valid_from:
            raise Misfit("valid_to", "it ends (valid_to) before it begins (valid_from)")
        return self


class RecordImport(Body):
    """Body of `POST /api/v7/memory/import`: up to 500 turns and facts.

    Example: {"turns": [{"id": "chat-7/1", "user_id": "ada", "session_id": "garden",
        "query": "How deep do I plant garlic?", "response": "About 5 cm, tip up.",
        "occurred_at": "2025-10-12T16:20:00Z"}],
        "facts": [{"id": "7e1c", "user_id": "ada", "text": "Prefers a window seat"}]}
    """

    turns: Annotated[list[ImportTurn], Field(max_length=limits.BATCH_TURNS_MAX)] = []  # noqa: RUF012 - pydantic copies it
    """Turns in the order in which they were said."""
    facts: Annotated[list[ImportFact], Field(max_length=limits.BATCH_TURNS_MAX)] = []  # noqa: RUF012 - pydantic copies it
    """Facts. They are stored after the turns."""

    @model_validator(mode="after")
    def _has_records(self) -> RecordImport:
        if not 1 <= self.size <= limits.BATCH_TURNS_MAX:
            raise ValueError(f"there must be 1 to {limits.BATCH_TURNS_MAX} turns and facts")
        if sum(turn.text_bytes for turn in self.turns) > limits.BODY_BYTES_MAX:
            raise Misfit("turns", f"they have more than {limits.BODY_BYTES_MAX:,} bytes together")
        return self

    @property
    def size(self) -> int:
        """The number of records."""
        return len(self.turns) + len(self.facts)


class RecordsImported(Message):
    """Answer of `POST /api/v7/memory/import`."""

    saved: Saved
    stored: int
    """Turns and facts that were stored."""
    facts: int
    """Facts of those."""
    present: int
    """Records that were not stored, because memory has them."""
