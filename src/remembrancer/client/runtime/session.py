"""Options and state of one session, carried from turn to turn."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from ...protocol import limits
from ...protocol.memory import Turn
from ...protocol.search import MemoryQuery
from .counts import Counts
from .prompts import ChatMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeOptions:
    """Options of a conversation."""

    user_id: str
    session_id: str = "default"
    name: str = "REM"  # the service's short name, used in seals
    instructions: str = ""  # the agent's own system prompt
    redrafts_max: int = 2  # docs/reference/specification.md#turn-recheck
    # "recalled": check answers that cite or repeat memory. "always": check all, every claim.
    second_look: Literal["recalled", "always"] = "recalled"
    full_protocol: bool = False  # require the sections DRAFT, SECOND LOOK and FINAL
    top_k: int = limits.TOP_K_DEFAULT
    memory_tokens_max: int | None = 2_000  # tokens of search results in a prompt; None: unlimited
    history_turns: int = 20  # earlier turns included in the prompt
    # "stop": a turn whose search fails ends with an error. "continue": the model answers without
    # memory, and the turn is saved later (docs/reference/specification.md#turn-search-failed).
    without_memory: Literal["stop", "continue"] = "stop"

    def query(self, message: str, last_seal: str | None) -> MemoryQuery:
        """Return the search of a turn. Raises ValueError for invalid ids and numbers."""
        return MemoryQuery(
            query_text=message[: limits.QUERY_CHARACTERS_MAX],
            user_id=self.user_id,
            session_id=self.session_id,
            top_k=self.top_k,
            min_answerable=limits.UNASKED_ANSWERABLE_MIN,
            max_tokens=self.memory_tokens_max,
            last_seal=last_seal,
        )


@dataclass(slots=True)
class SessionState:
    """State of one session of one agent between turns."""

    options: RuntimeOptions
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    new_key: Callable[[], str] = lambda: secrets.token_hex(16)  # idempotency keys
    counts: Counts = field(default_factory=Counts)
    last_seal: str | None = None
    l1_due: bool = False
    l2_due: bool = False
    start_facts: list[str] | None = None  # critical facts; None: not loaded yet
    has_second_look: bool = True  # False once the service has answered that it has none
    turns_saved: int = 0
    last_cube_turn: int | None = None  # value of `turns_saved` when the last cube was made
    characters_since_l1: int = 0
    history: list[ChatMessage] = field(default_factory=list)
    unsaved: list[tuple[Turn, str]] = field(default_factory=list)  # with their idempotency keys
    notices: list[str] = field(default_factory=list)  # for the agent's next prompt

    def __post_init__(self) -> None:
        """Validate the options. Raises ValueError."""
        if self.options.second_look not in ("recalled", "always"):
            raise ValueError('second_look must be "recalled" or "always"')
        if self.options.without_memory not in ("stop", "continue"):
            raise ValueError('without_memory must be "stop" or "continue"')
        self.options.query("?", None)
