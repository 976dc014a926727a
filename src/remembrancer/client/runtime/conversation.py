"""A conversation of one agent: turns without I/O."""

from __future__ import annotations

from collections.abc import Callable, Generator
from datetime import datetime
from typing import Any

from ...protocol.memory import Turn
from ...protocol.pasted import pasted_keys
from ..message_text import readable
from .counts import Counts
from .session import RuntimeOptions, SessionState
from .state import TurnState
from .steps import Step, TurnReply
from .turn import advance, start

KEY_WARNING = (
    "Your message contains a key or password, so I did not read, forward or save it. Please revoke "
    "that key, create a new one, keep it in an environment variable, and send your message again "
    "without it."
)


class Conversation:
    """One session of one agent. Runs one turn at a time."""

    def __init__(
        self,
        options: RuntimeOptions,
        *,
        now: Callable[[], datetime] | None = None,
        new_key: Callable[[], str] | None = None,
    ) -> None:
        """Start with an empty history. Raises ValueError for options the service would reject.

        `now` and `new_key` replace the clock and the source of idempotency keys, for tests.
        """
        self.state = SessionState(options)
        self.state.now = now or self.state.now
        self.state.new_key = new_key or self.state.new_key

    @property
    def options(self) -> RuntimeOptions:
        """Options of the conversation."""
        return self.state.options

    @property
    def counts(self) -> Counts:
        """Protocol compliance of the agent and overhead of the protocol."""
        return self.state.counts

    @property
    def unsaved(self) -> list[tuple[Turn, str]]:
        """Turns that wait until the service is available, with their idempotency keys."""
        return self.state.unsaved

    def turn(self, message: str) -> Generator[Step, Any, TurnReply]:
        """Yield the steps of a turn, receive their answers, and return the reply.

        Answer a ServiceCall with its result or CallFailed, a DraftRequest with the model's text.
        Raises ValueError for an empty message.
        """
        if not message.strip():
            raise ValueError("the message is empty")
        if pasted_keys(message):
            self.counts.keys_caught += 1
            return TurnReply(answer=KEY_WARNING)
        turn = TurnState(self.state, readable(message))
        progress = start(turn)
        while not isinstance(progress, TurnReply):
            answer = yield progress.step
            progress = advance(turn, progress, answer)
        return progress
