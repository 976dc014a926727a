"""Asking models: one after another, each tried again where that may help, within the budget of the
request; every try counted.

All calls of the process share an event loop in a thread of its own: only there can a deadline end
anything, a slow name server and an endpoint that sends a byte a second included.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from ..protocol.usage import ModelTry, ModelUsage
from ..settings import Settings
from .openai_endpoint import EndpointError, EndpointOptions, call
from .port import (
    Budget,
    ModelAttempt,
    ModelFailed,
    ModelMessage,
    ModelOutput,
    ModelRequest,
    ModelResponse,
    OnText,
    Reason,
    Slot,
    tokens_of,
)
from .slots import SLOTS, ModelTarget, targets_of

if TYPE_CHECKING:
    import httpx2

TRIES = 2  # of one model
PAUSE_SECONDS = 0.25  # before the same model is tried again
RETRY_AFTER_MAX = 5.0  # seconds; who asks for more is passed over
CONNECTIONS_MAX = 64
_log = logging.getLogger(__name__)


class ConfiguredModels:
    """The models that the settings name. Safe to use from many threads."""

    def __init__(self, settings: Settings, mask: Callable[[str], str]) -> None:
        """`mask` takes the secrets out of a text. Raises SettingInvalid."""
        self._settings, self._mask = settings, mask
        self.targets: dict[Slot, tuple[ModelTarget, ...]] = {
            slot: targets_of(settings, slot) for slot in SLOTS
        }
        self._manners: dict[tuple[str, str], EndpointOptions] = {}
        self._watchers: list[Callable[[ModelAttempt], None]] = []
        self._lock = threading.Lock()
        self._loop: _Loop | None = None

    def has(self, slot: Slot, *, outside: bool = True) -> bool:
        """See Models."""
        return bool(self._open_to(slot, outside=outside))

    def watch(self, watcher: Callable[[ModelAttempt], None]) -> None:
        """See Models."""
        self._watchers.append(watcher)

    def close(self) -> None:
        """See Models."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()

    def ask(
        self, question: ModelRequest, budget: Budget, on_text: OnText | None = None
    ) -> ModelResponse:
        """See Models."""
        targets = self._open_to(question.slot, outside=question.outside)
        if not targets:
            raise ModelFailed("none")
        question = replace(
            question,
            messages=tuple(ModelMessage(m.role, self._mask(m.content)) for m in question.messages),
            tokens_max=question.tokens_max or self._settings.model_tokens_max,
            temperature=self._settings.model_temperature
            if question.temperature is None
            else question.temperature,
        )
        tries: list[ModelAttempt] = []
        for place, target in enumerate(targets):
            share = budget.seconds_left / (
                len(targets) - place
            )  # a model that hangs leaves time for the next
            reply = self._ask_one(
                target, question, Budget(seconds=share, calls=TRIES), budget, tries, on_text
            )
            if reply is not None:
                return reply
        spent: Reason = "budget" if budget.seconds_left else "timeout"
        raise ModelFailed(cast(Reason, tries[-1].outcome) if tries else spent, tuple(tries))

    def check(
        self,
        target: ModelTarget,
        question: ModelRequest,
        seconds: float,
        on_text: OnText | None = None,
    ) -> tuple[ModelOutput | None, ModelAttempt]:
        """Call one model once: its answer, if any, and how it went. For trying out."""
        asked = replace(
            question,
            messages=tuple(ModelMessage(m.role, self._mask(m.content)) for m in question.messages),
        )
        said, tried, _ = self._try(target, asked, seconds, on_text)
        return said, tried

    def _open_to(self, slot: Slot, *, outside: bool) -> tuple[ModelTarget, ...]:
        return tuple(target for target in self.targets[slot] if outside or not target.is_outside)

    def _ask_one(
        self,
        target: ModelTarget,
        question: ModelRequest,
        own: Budget,
        budget: Budget,
        tries: list[ModelAttempt],
        on_text: OnText | None,
    ) -> ModelResponse | None:
        """The answer of one model, tried again where that may help; None when it gives none.

        Adds to `tries`.
        """
        while own.calls_left and budget.calls_left and own.seconds_left:
            own.calls_left -= 1
            budget.calls_left -= 1
            said, tried, retry_s = self._try(target, question, own.seconds_left, on_text)
            tries.append(tried)
            if said is not None:
                return ModelResponse(
                    text=said.text, model=target.model, tries=tuple(tries), is_cut=said.is_cut
                )
            if on_text is not None:
                on_text(None)
            if tried.outcome == "stopped":
                raise ModelFailed("stopped", tuple(tries))
            if (
                retry_s is None
                or retry_s > RETRY_AFTER_MAX
                or not own.calls_left
                or not budget.calls_left
            ):
                break
            time.sleep(min(max(retry_s, PAUSE_SECONDS), own.seconds_left))
        return None

    def _try(
        self, target: ModelTarget, question: ModelRequest, seconds: float, on_text: OnText | None
    ) -> tuple[ModelOutput | None, ModelAttempt, float | None]:
        started = time.perf_counter()
        said, outcome, detail, retry_s = None, "ok", "", None
        manners = self._manners.setdefault((target.model, target.base_url), EndpointOptions())
        try:
            said = self._in_loop(
                lambda client, tell: _bounded(
                    seconds, call(client, target, question, manners, tell)
                ),
                on_text,
            )
        except EndpointError as fault:
            outcome, detail, retry_s = fault.reason, self._mask(fault.detail), fault.retry_s
        except CancelledError:
            outcome, detail = "stopped", "the service is stopping"
        spent = (
            {"prompt_tokens": said.prompt_tokens, "completion_tokens": said.completion_tokens}
            if said
            else {}
        )
        if said is None and outcome in (
            "empty",
            "cut_off",
            "too_large",
            "garbled",
        ):  # it was read all the same
            spent = {"prompt_tokens": sum(tokens_of(m.content) for m in question.messages)}
        ms = (time.perf_counter() - started) * 1000
        tried = ModelAttempt(
            slot=question.slot,
            model=target.model,
            outcome=outcome,
            ms=round(ms, 1),
            detail=detail,
            **spent,
        )
        if said is None:
            _log.warning(
                "model %s of slot %s gave no answer: %s (%s)",
                target.model,
                question.slot,
                outcome,
                detail,
            )
        for watcher in self._watchers:
            watcher(tried)
        return said, tried, retry_s

    def _in_loop(
        self,
        work: Callable[[Any, OnText | None], Coroutine[Any, Any, ModelOutput]],
        on_text: OnText | None,
    ) -> ModelOutput:
        """Do it in the loop, and tell the pieces here, in the caller's thread."""
        with self._lock:
            self._loop = self._loop or _Loop()
            loop = self._loop
        if on_text is None:
            return loop.start(lambda client: work(client, None)).result()
        pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        future = loop.start(lambda client: work(client, pieces.put))
        future.add_done_callback(lambda _: pieces.put(None))
        try:
            while (piece := pieces.get()) is not None:
                on_text(piece)
            return future.result()
        finally:
            future.cancel()


async def _bounded(seconds: float, work: Coroutine[Any, Any, ModelOutput]) -> ModelOutput:
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise EndpointError("timeout", f"no answer within {seconds:.1f} seconds") from None


class _Loop:
    """The event loop, its thread and the connections."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._client: httpx2.AsyncClient | None = None
        self._lock, self._closed = threading.Lock(), False
        self._thread = threading.Thread(target=self._run, name="models", daemon=True)
        self._thread.start()

    def start(
        self, work: Callable[[httpx2.AsyncClient], Coroutine[Any, Any, ModelOutput]]
    ) -> Future[ModelOutput]:
        async def run() -> ModelOutput:
            return await work(self._open())

        with self._lock:  # what is begun before the end is there to be cancelled
            if self._closed:
                raise CancelledError
            return asyncio.run_coroutine_threadsafe(run(), self._loop)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _open(self) -> httpx2.AsyncClient:
        import httpx2

        if self._client is None:
            limits = httpx2.Limits(max_connections=CONNECTIONS_MAX, max_keepalive_connections=8)
            # No proxies and passwords from the environment: what an address says is where the text
            # goes.
            self._client = httpx2.AsyncClient(
                timeout=None, limits=limits, trust_env=False, follow_redirects=False
            )
        return self._client

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.run_until_complete(self._end())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    async def _end(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()


def usage_of(tries: Sequence[ModelAttempt]) -> ModelUsage:
    """Return what these attempts took together."""
    return ModelUsage(
        calls=len(tries),
        prompt_tokens=sum(one.prompt_tokens for one in tries),
        completion_tokens=sum(one.completion_tokens for one in tries),
        ms=round(sum(one.ms for one in tries), 1),
        tries=[
            ModelTry(
                model=one.model,
                outcome=one.outcome,
                ms=one.ms,
                prompt_tokens=one.prompt_tokens,
                completion_tokens=one.completion_tokens,
            )
            for one in tries
        ],
    )
