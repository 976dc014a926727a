"""The agent runtime: leads a model through the protocol of each turn. `docs/guides/runtime.md` shows it.

The rules are in runtime_core.py and do nothing by themselves; here are the two that carry them out, one that waits and one for asyncio.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any

from .api import AsyncClient, Client
from .errors import ClientError
from .runtime_core import Conversation
from .runtime_counts import Counts
from .runtime_prompts import Message
from .runtime_standing import Habits
from .runtime_steps import Call, Draft, Failed, Reply, Step

__all__ = ["AsyncRuntime", "Conversation", "Counts", "Habits", "Message", "Reply", "Runtime"]


class _Timed:
    """Adds the milliseconds between its begin and its end to the counts."""

    def __init__(self, counts: Counts, step: Step) -> None:
        self.counts, self.is_draft, self.began = counts, isinstance(step, Draft), 0.0

    def __enter__(self) -> None:
        self.began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        spent_ms = (time.perf_counter() - self.began) * 1000
        if self.is_draft:
            self.counts.draft_ms += spent_ms
        else:
            self.counts.service_ms += spent_ms


class Runtime:
    """An agent that keeps to the protocol, around any `draft(messages) -> str`. One session; one turn at a time."""

    def __init__(self, client: Client, draft: Callable[[list[Message]], str], **habits: Any) -> None:
        """`habits` are the fields of Habits; `user_id` is needed. Raises ValueError for what the service would not take."""
        self.client, self.draft, self.conversation = client, draft, Conversation(Habits(**habits))

    @property
    def counts(self) -> Counts:
        """How well the agent kept to the protocol, and what that cost."""
        return self.conversation.counts

    def turn(self, message: str) -> Reply:
        """One turn; show the user the reply's `text`. Raises ValueError for an empty message, and what `draft` raises."""
        return led(self.conversation, message, self._take)

    def _take(self, step: Step) -> Any:
        return self.draft(step.messages) if isinstance(step, Draft) else sent(self.client, step)


def led(conversation: Conversation, message: str, take: Callable[[Step], Any]) -> Reply:
    """One turn, each of whose steps `take` carries out and gives what came of it. Raises as `Runtime.turn`, and what `take` raises."""
    steps = conversation.turn(message)
    got: Any = None
    while True:
        try:
            step = steps.send(got)
        except StopIteration as done:
            return _reply(done)
        with _Timed(conversation.counts, step):
            got = take(step)


def sent(client: Client, step: Call) -> Any:
    """The service's answer to a call, or how it failed."""
    try:
        return client.send(step.ask)
    except ClientError as error:
        return Failed(error)


class AsyncRuntime:
    """The same for asyncio. `draft` may be an ordinary function or one that is awaited."""

    def __init__(self, client: AsyncClient, draft: Callable[[list[Message]], str | Awaitable[str]], **habits: Any) -> None:
        """As `Runtime`."""
        self.client, self.draft, self.conversation = client, draft, Conversation(Habits(**habits))

    @property
    def counts(self) -> Counts:
        """As `Runtime.counts`."""
        return self.conversation.counts

    async def turn(self, message: str) -> Reply:
        """As `Runtime.turn`."""
        steps = self.conversation.turn(message)
        got: Any = None
        while True:
            try:
                step = steps.send(got)
            except StopIteration as done:
                return _reply(done)
            with _Timed(self.counts, step):
                got = await self._take(step)

    async def _take(self, step: Step) -> Any:
        if isinstance(step, Draft):
            drafted = self.draft(step.messages)
            return await drafted if inspect.isawaitable(drafted) else drafted
        try:
            return await self.client.send(step.ask)
        except ClientError as error:
            return Failed(error)


def _reply(done: StopIteration) -> Reply:
    reply = done.value
    assert isinstance(reply, Reply)
    return reply
