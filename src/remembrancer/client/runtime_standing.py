"""What a conversation is led by, and what is known of it from one turn to the next."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ..protocol import limits
from ..protocol.memory import MemoryQuery, Turn
from .runtime_counts import Counts
from .runtime_prompts import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How a conversation is led."""

    user_id: str
    session_id: str = "default"
    name: str = "REM"  # the service's short name, in seals
    instructions: str = ""  # the agent's own system text
    redrafts_max: int = 2  # specification, Limits: 'A failing draft is re-checked up to 2 times'
    full_protocol: bool = False  # DRAFT / SECOND LOOK / FINAL
    top_k: int = limits.TOP_K_DEFAULT
    memory_tokens_max: int | None = 2_000  # of the hits' text in a prompt
    history_turns: int = 20  # that the model sees again

    def query(self, message: str, last_seal: str | None) -> MemoryQuery:
        """The search of a turn. Raises ValueError for ids and numbers that the service would not take."""
        text = message[: limits.QUERY_CHARACTERS_MAX]
        return MemoryQuery(
            query_text=text,
            user_id=self.user_id,
            session_id=self.session_id,
            top_k=self.top_k,
            max_tokens=self.memory_tokens_max,
            last_seal=last_seal,
        )


@dataclass(slots=True)
class Standing:
    """Where one session of one agent stands."""

    habits: Habits
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    new_key: Callable[[], str] = lambda: secrets.token_hex(16)
    counts: Counts = field(default_factory=Counts)
    last_seal: str | None = None
    l1_due: bool = False
    l2_due: bool = False
    can_look: bool = True  # whether the service has a second look
    turns: int = 0  # remembered ones
    cube_turn: int | None = None  # at which of them the last cube was made
    raw_characters: int = 0  # said since the last L1
    history: list[Message] = field(default_factory=list)
    unsaved: list[tuple[Turn, str]] = field(default_factory=list)  # with their idempotency keys
    to_tell: list[str] = field(default_factory=list)  # to the agent, in its next turn

    def __post_init__(self) -> None:
        self.habits.query("?", None)  # so that what cannot be is said now
