"""Drivers of the runtime: they carry out the steps of a turn, synchronously or with asyncio."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..api import AsyncClient, Client
from ..api_request import drive, drive_async
from ..errors import ClientError
from .session import (
    CallFailed,
    ChatMessage,
    Counts,
    Draft,
    DraftRequest,
    RuntimeOptions,
    ServiceCall,
    Step,
    TurnReply,
)
from .turn import Conversation


@contextmanager
def _timed(counts: Counts, step: Step) -> Iterator[None]:
    """Add the duration of a step to the counters."""
    start = time.perf_counter()
    try:
        yield
    finally:
        elapsed_ms = (time.perf_counter() - start) * 1000
        if isinstance(step, DraftRequest):
            counts.draft_ms += elapsed_ms
        else:
            counts.service_ms += elapsed_ms


class Runtime:
    """An agent that follows the protocol, around any function `draft(messages)`.

    A runtime holds one session and runs one turn at a time.
    """

    def __init__(
        self, client: Client, draft: Callable[[list[ChatMessage]], str | Draft], **options: Any
    ) -> None:
        """Take the fields of RuntimeOptions as `options`; `user_id` is required.

        `draft` returns the model's text, or a Draft if the model used tools.

        Raises ValueError for options the service would reject.
        """
        self.client, self.draft = client, draft
        self.conversation = Conversation(RuntimeOptions(**options))

    @property
    def counts(self) -> Counts:
        """Protocol compliance of the agent and overhead of the protocol."""
        return self.conversation.counts

    def turn(self, message: str) -> TurnReply:
        """Run one turn. Show the user the `text` of the reply.

        Raises ValueError for an empty message, and any exception of `draft`.
        """
        return run_turn(self.conversation, message, self._answer)

    def _answer(self, step: Step) -> Any:
        if isinstance(step, DraftRequest):
            return self.draft(step.messages)
        return send_call(self.client, step)


def run_turn(conversation: Conversation, message: str, answer: Callable[[Step], Any]) -> TurnReply:
    """Run one turn. `answer` carries out a step and returns its answer.

    Raises ValueError for an empty message, and any exception of `answer`.
    """

    def timed_answer(step: Step) -> Any:
        with _timed(conversation.counts, step):
            return answer(step)

    return drive(conversation.turn(message), timed_answer)


def send_call(client: Client, call: ServiceCall) -> Any:
    """Return the service's answer to a call, or CallFailed."""
    try:
        return client.send(call.request)
    except ClientError as error:
        return CallFailed(error)


class AsyncRuntime:
    """Like Runtime, for asyncio. `draft` may be a function or a coroutine function."""

    def __init__(
        self,
        client: AsyncClient,
        draft: Callable[[list[ChatMessage]], str | Draft | Awaitable[str | Draft]],
        **options: Any,
    ) -> None:
        """Take the same arguments as Runtime."""
        self.client, self.draft = client, draft
        self.conversation = Conversation(RuntimeOptions(**options))

    @property
    def counts(self) -> Counts:
        """Protocol compliance of the agent and overhead of the protocol."""
        return self.conversation.counts

    async def turn(self, message: str) -> TurnReply:
        """Run one turn like Runtime.turn."""
        return await drive_async(self.conversation.turn(message), self._answer)

    async def _answer(self, step: Step) -> Any:
        with _timed(self.counts, step):
            if isinstance(step, DraftRequest):
                draft = self.draft(step.messages)
                return await draft if inspect.isawaitable(draft) else draft
            try:
                return await self.client.send(step.request)
            except ClientError as error:
                return CallFailed(error)
